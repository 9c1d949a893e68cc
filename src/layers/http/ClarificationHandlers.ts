import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { Clarifications } from "../../services/agent/Clarification.js"
import { Api } from "../../services/api/Api.js"
import { ownerOnly } from "../../services/api/Caller.js"
import { clarificationView } from "../../services/api/Clarifications.js"
import { answered } from "./Failures.js"
import { ownerId } from "./Surfaces.js"

export const layer = HttpApiBuilder.group(Api, "clarifications", (handlers) =>
  Effect.map(Clarifications, (clarifications) =>
    handlers
      .handle("list", () => Effect.map(clarifications.open, (rows) => rows.map(clarificationView)))
      .handle("reply", ({ path, payload }) =>
        Effect.gen(function* () {
          yield* ownerOnly("an answer to a question of the agent")
          return clarificationView(yield* clarifications.reply(path.id, payload.answer, ownerId))
        }).pipe(answered)
      )
  )
)
