/** Every piece of care, done in this process: the child's side of it. */
import { Effect, Schema } from "effect"
import { CareFailed, type CareRequest, CareRequest as Request } from "../../../services/state/Care.js"
import * as Repair from "../repair/Repair.js"
import * as Copies from "./Copies.js"
import * as Examination from "./Examination.js"
import * as Mending from "./Mending.js"

const failing =
  <E extends { readonly message: string }>(work: string) =>
  (error: E) =>
    new CareFailed({ work, detail: error.message })

/** Does what a request asks, and answers with its outcome as it travels back. */
const answer = (request: CareRequest) => {
  switch (request._tag) {
    case "Examine":
      return reply(request, Examination.examine(request.file, request.index))
    case "Repair":
      return reply(request, Repair.repair(request.file, request.kept))
    case "Mend":
      return reply(request, Mending.mend(request.file, request.index))
    case "Backup":
      return reply(request, Copies.backup(request.file, request.to))
    case "Restore":
      return reply(request, Copies.restore(request.file, request.from, request.kept))
    case "Vacuum":
      return reply(request, Copies.vacuum(request.file))
  }
}

const reply = <A, I>(
  request: Schema.WithResult<A, I, CareFailed, typeof CareFailed.Encoded, never>,
  work: Effect.Effect<A, CareFailed>
) =>
  Effect.flatMap(Effect.exit(work), (exit) =>
    Effect.map(Schema.serializeExit(request, exit), (outcome) => JSON.stringify(outcome))
  )

/** From the text of a request to the text of its outcome. */
export const handle = (text: string): Effect.Effect<string, CareFailed> =>
  Schema.decode(Schema.parseJson(Request))(text).pipe(
    Effect.flatMap(answer),
    Effect.mapError(failing("reading what to do"))
  )
