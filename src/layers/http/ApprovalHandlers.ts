import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { Api } from "../../services/api/Api.js"
import { approvalView } from "../../services/api/Approvals.js"
import { ownerOnly } from "../../services/api/Caller.js"
import { Approvals } from "../../services/approval/Approval.js"
import { answered } from "./Failures.js"
import { ownerId } from "./Surfaces.js"

export const layer = HttpApiBuilder.group(Api, "approvals", (handlers) =>
  Effect.map(Approvals, (approvals) =>
    handlers
      .handle("list", ({ urlParams: { state, limit } }) =>
        answered(
          Effect.map(state === "open" ? approvals.open(null) : approvals.list(limit), (rows) =>
            rows.slice(0, limit).map(approvalView)
          )
        )
      )
      .handle("answer", ({ path, payload }) =>
        Effect.gen(function* () {
          yield* ownerOnly("an answer to a question of the agent")
          const row = yield* approvals.answer({
            sessionKey: null,
            id: path.id,
            approve: payload.approve,
            scope: payload.scope ?? "once",
            reason: payload.reason,
            by: ownerId
          })
          return approvalView(row)
        }).pipe(answered)
      )
      .handle("grants", () => answered(Effect.map(approvals.grants, (rows) => rows.map(approvalView))))
      .handle("revoke", ({ path }) =>
        Effect.gen(function* () {
          yield* ownerOnly("a grant of the owner")
          return approvalView(yield* approvals.revoke(path.id))
        }).pipe(answered)
      )
  )
)
