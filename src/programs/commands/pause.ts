import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import { Effect, Option } from "effect"
import { Desk } from "../../services/operation/Desk.js"
import { Paused } from "../../services/operation/Pause.js"
import { desk } from "./desk.js"
import { answer, moment, plain } from "./output.js"

const reason = Args.text({ name: "REASON" }).pipe(Args.optional)

export const command = Command.make("pause", { reason }, ({ reason }) =>
  Effect.gen(function* () {
    const { pause } = yield* Desk
    yield* answer(Paused, yield* pause.begin(Option.getOrNull(reason)), ({ at, by, reason }) => [
      `Paused by ${plain(by)} since ${moment(at)}${reason === null ? "" : `: ${plain(reason)}`}.`,
      "No turn and no job begins until `hermes unpause`; what runs goes on, and what comes in is kept."
    ])
  })
).pipe(Command.withDescription("Emergency stop: begins nothing new; what runs goes on."), Command.provide(desk))
