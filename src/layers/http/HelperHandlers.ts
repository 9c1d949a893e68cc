import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { Api } from "../../services/api/Api.js"
import { ApiError } from "../../services/api/ApiError.js"
import { ownerOnly } from "../../services/api/Caller.js"
import { helperView, pastHelperView } from "../../services/api/Helpers.js"
import { Delegation } from "../../services/delegation/Delegation.js"
import { DelegationStore } from "../../services/delegation/DelegationStore.js"
import { answered } from "./Failures.js"

export const layer = HttpApiBuilder.group(Api, "helpers", (handlers) =>
  Effect.zipWith(Delegation, DelegationStore, (delegation, store) =>
    handlers
      .handle("list", () => Effect.map(delegation.running, (helpers) => helpers.map(helperView)))
      .handle("ofSession", ({ path, urlParams }) =>
        answered(Effect.map(store.ofSession(path.id, urlParams.limit), (helpers) => helpers.map(pastHelperView)))
      )
      .handle("stop", ({ path }) =>
        Effect.gen(function* () {
          yield* ownerOnly("the end of a helper")
          return helperView(yield* delegation.stop(null, path.id))
        }).pipe(
          Effect.catchTag(
            "DelegationRefused",
            (error) => new ApiError({ status: 404, code: "helper_not_found", message: error.message })
          ),
          answered
        )
      )
  )
)
