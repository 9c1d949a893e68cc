import * as Command from "@effect/cli/Command"
import { Effect, Schema } from "effect"
import { Desk } from "../../services/operation/Desk.js"
import { desk } from "./desk.js"
import { answer } from "./output.js"
import { ownerOnly } from "./ownerOnly.js"

const Lifted = Schema.Struct({ lifted: Schema.Boolean })

export const command = Command.make("unpause", {}, () =>
  Effect.gen(function* () {
    yield* ownerOnly("the end of a pause")
    const lifted = yield* Effect.provide(
      Effect.flatMap(Desk, ({ pause }) => pause.lift),
      desk
    )
    yield* answer(Lifted, { lifted }, () => [lifted ? "It goes on, first with what waited." : "It was not paused."])
  })
).pipe(Command.withDescription("Lets turns and jobs begin again after `hermes pause`."))
