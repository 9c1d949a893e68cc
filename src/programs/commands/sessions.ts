import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import { Effect, Schema } from "effect"
import { MessageView, SessionView } from "../../services/api/Sessions.js"
import { Desk } from "../../services/operation/Desk.js"
import { desk } from "./desk.js"
import * as Listed from "./listed.js"
import { failed } from "./failure.js"
import { limit } from "./options.js"
import { answer, brief, moment, plain, table } from "./output.js"

const reference = Args.text({ name: "SESSION" }).pipe(
  Args.withDescription("Its id, the beginning of its id, or its title.")
)

/** How many sessions are looked through for a title or the beginning of an id. */
const searched = 500

/** The one session that is meant; nobody guesses. */
const find = (wanted: string) =>
  Effect.gen(function* () {
    const { sessions } = yield* Desk
    const exact = yield* sessions.get(wanted).pipe(
      Effect.catchIf(
        (error) => error._tag === "Refused",
        () => Effect.succeed(null)
      )
    )
    if (exact !== null) return exact
    const all = yield* sessions.list({ limit: searched })
    const fitting = all.filter((session) => session.title === wanted || session.id.startsWith(wanted))
    const [only, another] = fitting
    if (only === undefined) return yield* failed(`there is no session "${wanted}"; \`hermes sessions list\` shows them`)
    if (another !== undefined)
      return yield* failed(`"${wanted}" fits several sessions: ${fitting.map((session) => session.id).join(", ")}`)
    return only
  })

const list = Command.make("list", { limit: limit(50, 500) }, ({ limit }) =>
  Effect.gen(function* () {
    const { sessions } = yield* Desk
    yield* answer(Schema.Array(Listed.Session), yield* sessions.list({ limit }), (rows) =>
      table(
        ["id", "title", "where", "messages", "last activity"],
        rows.map((session) => [
          session.id,
          brief(session.title ?? "untitled", 40),
          session.source,
          String(session.messages),
          moment(session.lastActivityAt)
        ]),
        "No sessions yet."
      )
    )
  })
).pipe(Command.withDescription("The conversations, newest activity first."), Command.provide(desk))

const Shown = Schema.Struct({ session: SessionView, messages: Schema.Array(MessageView) })

const told = (message: MessageView): ReadonlyArray<string> => {
  const who = message.role === "tool" ? `tool ${message.tool ?? ""}` : message.role
  const calls = message.toolCalls.map((call) => `→ ${call.name} ${brief(call.arguments, 100)}`)
  return ["", `${moment(message.at)} ${who}:`, ...(message.text === "" ? [] : [plain(message.text)]), ...calls]
}

const show = Command.make("show", { reference, limit: limit(100, 1_000) }, ({ reference, limit }) =>
  Effect.gen(function* () {
    const { sessions } = yield* Desk
    const session = yield* find(reference)
    const messages = yield* sessions.messages(session.id, { limit })
    yield* answer(Shown, { session, messages }, () => [
      `${session.title ?? "untitled"} (${session.id}), ${session.source}, ${session.messages} messages`,
      ...messages.flatMap(told)
    ])
  })
).pipe(Command.withDescription("One conversation with its last messages, oldest first."), Command.provide(desk))

const rename = Command.make("rename", { reference, title: Args.text({ name: "TITLE" }) }, ({ reference, title }) =>
  Effect.gen(function* () {
    const { sessions } = yield* Desk
    const { id } = yield* find(reference)
    yield* answer(SessionView, yield* sessions.rename(id, title), (session) => [
      `${session.id} is now called "${session.title}".`
    ])
  })
).pipe(Command.withDescription("Gives a conversation another title."), Command.provide(desk))

const Deleted = Schema.Struct({ id: Schema.String, deleted: Schema.Boolean })

const remove = Command.make("delete", { reference }, ({ reference }) =>
  Effect.gen(function* () {
    const { sessions } = yield* Desk
    const { id } = yield* find(reference)
    yield* sessions.remove(id)
    yield* answer(Deleted, { id, deleted: true }, () => [`Deleted ${id} with its transcript.`])
  })
).pipe(Command.withDescription("Deletes a conversation with its transcript, for good."), Command.provide(desk))

export const command = Command.make("sessions").pipe(
  Command.withDescription("The conversations of this home."),
  Command.withSubcommands([list, show, rename, remove])
)
