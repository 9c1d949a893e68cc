import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Option, Schema } from "effect"
import * as NodeStream from "@effect/platform-node/NodeStream"
import process from "node:process"
import { TargetView } from "../../services/api/Deliveries.js"
import { isBlank } from "../../services/delivery/Visible.js"
import { offeredChats } from "../../services/delivery/TargetResolver.js"
import { Desk } from "../../services/operation/Desk.js"
import { desk } from "./desk.js"
import { failed, usage } from "./failure.js"
import { answer, table } from "./output.js"
import { outcome } from "./sent.js"

/** As much as the API takes. */
const longest = 10_000_000

const stdin = NodeStream.toString(() => process.stdin, {
  onFailure: (error) => failed(`stdin cannot be read: ${error instanceof Error ? error.message : String(error)}`),
  maxBytes: longest
}).pipe(Effect.map((text) => text.replace(/\n$/, "")))

const list = Effect.gen(function* () {
  const { deliveries } = yield* Desk
  yield* answer(Schema.Array(TargetView), yield* deliveries.targets, (rows) => [
    ...table(
      ["target", "name", ""],
      rows.map((row) => [row.target, row.name, row.home ? "home" : ""]),
      "No chats are known yet: say /sethome in one, or set a home channel."
    ),
    ...(rows.length < offeredChats
      ? []
      : [`At most the newest ${offeredChats} chats are shown; an older one is found by its id or its name.`])
  ])
})

/** One argument for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const send = (target: string, text: string) =>
  Effect.flatMap(Desk, ({ deliveries }) => Effect.flatMap(deliveries.send(target, text), outcome))

export const command = Command.make(
  "send",
  {
    to: Options.text("to").pipe(
      Options.withPseudoName("TARGET"),
      Options.withDescription("`platform` (its home channel) or `platform:chat[:thread]`."),
      Options.optional
    ),
    list: Options.boolean("list").pipe(Options.withDescription("Shows the targets there are.")),
    words: Args.text({ name: "TEXT" }).pipe(Args.withDescription("The message; - reads it from stdin."), Args.repeated)
  },
  (options) =>
    Effect.gen(function* () {
      if (options.list) return yield* Effect.provide(list, desk)
      const [said, ...more] = options.words
      if (Option.isNone(options.to) || isBlank(options.to.value))
        return yield* usage(
          said === undefined || more.length === 0
            ? "say where to: hermes send --to TARGET TEXT"
            : `say where to with --to: hermes send --to ${said} ${quoted(more.join(" "))}`
        )
      if (said === undefined) return yield* usage("say what: hermes send --to TARGET TEXT (- reads stdin)")
      if (more.length > 0) return yield* usage(`put the message in quotes: ${quoted(options.words.join(" "))}`)
      const text = said === "-" ? yield* stdin : said
      if (isBlank(text)) return yield* failed("there is nothing in the message to send")
      yield* Effect.provide(send(options.to.value, text), desk)
    })
).pipe(Command.withDescription("Sends one message out."))
