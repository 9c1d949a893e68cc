import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import { Effect } from "effect"
import { Story } from "../../services/delivery/Explain.js"
import { Desk } from "../../services/operation/Desk.js"
import { desk } from "./desk.js"
import { answer, moment, plain } from "./output.js"
import { named } from "./named.js"

const id = named("ID").pipe(Args.withDescription("Of a delivery, run, turn, approval or message."))

export const lines = (story: Story): ReadonlyArray<string> =>
  story.passages.flatMap((passage) => [
    `${passage.at === null ? "                " : moment(passage.at)}  ${plain(passage.text)}`,
    ...(passage.id === null ? [] : [`                  ${passage.id === story.id ? "→" : " "} ${passage.id}`])
  ])

export const command = Command.make("explain", { id }, ({ id }) =>
  Effect.gen(function* () {
    const { deliveries } = yield* Desk
    yield* answer(Story, yield* deliveries.explain(id), lines)
  })
).pipe(
  Command.withDescription("Why something was said or done, and what became of it: its whole story."),
  Command.provide(desk)
)
