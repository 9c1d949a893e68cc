import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Option, Schema } from "effect"
import { MessageView, SessionView } from "../../services/api/Sessions.js"
import { SearchHitView } from "../../services/api/SessionSearch.js"
import { Desk } from "../../services/operation/Desk.js"
import { roles } from "../../services/session/Search.js"
import { desk } from "./desk.js"
import * as Listed from "./listed.js"
import { limit } from "./options.js"
import { exporting, importing } from "./sessionFiles.js"
import { find, reference } from "./sessionReference.js"
import { answer, brief, moment, plain, table } from "./output.js"

const archived = Options.boolean("archived").pipe(Options.withDescription("Those that are put away."))

const list = Command.make("list", { limit: limit(50, 500), archived }, (options) =>
  Effect.gen(function* () {
    const { sessions } = yield* Desk
    yield* answer(
      Schema.Array(SessionView.pipe(Schema.pick(...Listed.session))),
      yield* sessions.list(options),
      (rows) =>
        table(
          ["id", "title", "where", "messages", "last activity"],
          rows.map((session) => [
            session.id,
            brief(`${session.pinned ? "★ " : ""}${session.title ?? "untitled"}`, 40),
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
  const meanwhile = (message.told ?? []).flatMap(({ at, text }) => ["", `${moment(at)} user:`, plain(text)])
  return [
    "",
    `${moment(message.at)} ${who}:`,
    ...(message.text === "" ? [] : [plain(message.text)]),
    ...calls,
    ...meanwhile
  ]
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

const Hits = Schema.Array(SearchHitView)

const search = Command.make(
  "search",
  {
    words: Args.text({ name: "WORDS" }).pipe(
      Args.withDescription('Words, "phrases", beginnings*, OR, NOT.'),
      Args.atLeast(1)
    ),
    limit: limit(20, 100),
    session: Options.text("session").pipe(Options.withDescription("Only in this one."), Options.optional),
    source: Options.text("source").pipe(Options.withDescription("telegram, web, cli, cron …"), Options.optional),
    role: Options.choice("role", roles).pipe(
      Options.withDescription("Who said it; results of tools are found only with `tool`."),
      Options.optional
    ),
    best: Options.boolean("best").pipe(Options.withDescription("What fits best first, and not the newest."))
  },
  ({ best, limit, role, session, source, words }) =>
    Effect.gen(function* () {
      const { sessions } = yield* Desk
      const within = Option.isNone(session) ? undefined : (yield* find(session.value)).id
      const hits = yield* sessions.search({
        q: words.join(" "),
        limit,
        sort: best ? "relevance" : "newest",
        ...(within === undefined ? {} : { session: within }),
        ...(Option.isNone(source) ? {} : { source: source.value }),
        ...(Option.isNone(role) ? {} : { role: role.value })
      })
      yield* answer(Hits, hits, (found) =>
        found.length === 0
          ? ["Nothing found."]
          : found.flatMap((hit) => [
              `${moment(hit.at)}  ${brief(hit.title ?? "untitled", 40)} (${hit.sessionId}), ${hit.role}`,
              `    ${plain(hit.snippet)}`
            ])
      )
    })
).pipe(Command.withDescription("Finds what was said, in any conversation."), Command.provide(desk))

/** Four small commands that put a session somewhere. */
const putting = (
  name: string,
  change: { readonly archived?: boolean; readonly pinned?: boolean },
  done: string,
  description: string
) =>
  Command.make(name, { reference }, ({ reference }) =>
    Effect.gen(function* () {
      const { sessions } = yield* Desk
      const { id } = yield* find(reference)
      yield* answer(SessionView, yield* sessions.update(id, change), () => [`${id} ${done}.`])
    })
  ).pipe(Command.withDescription(description), Command.provide(desk))

const Pruned = Schema.Struct({ ids: Schema.Array(Schema.String), deleted: Schema.Boolean })

const prune = Command.make(
  "prune",
  {
    days: Options.float("older-than").pipe(
      Options.withPseudoName("DAYS"),
      Options.withDescription("Days without activity (default 90)."),
      Options.withSchema(Schema.Number.pipe(Schema.nonNegative({ message: () => "--older-than is a number of days" }))),
      Options.withDefault(90)
    ),
    dryRun: Options.boolean("dry-run").pipe(Options.withDescription("Only says which."))
  },
  ({ days, dryRun }) =>
    Effect.gen(function* () {
      const { sessions } = yield* Desk
      const ids = yield* sessions.prune({ olderThanDays: days, dryRun })
      yield* answer(Pruned, { ids, deleted: !dryRun }, () => [
        ...(dryRun ? ids : []),
        `${ids.length} ended conversation${ids.length === 1 ? "" : "s"} ${dryRun ? "would be" : ids.length === 1 ? "was" : "were"} deleted. Pinned ones stay.`
      ])
    })
).pipe(Command.withDescription("Deletes conversations that have ended and are old, for good."), Command.provide(desk))

export const command = Command.make("sessions").pipe(
  Command.withDescription("The conversations of this home."),
  Command.withSubcommands([
    list,
    show,
    search,
    exporting,
    importing,
    rename,
    putting("archive", { archived: true }, "is put away; a new message brings it back", "Puts a conversation away."),
    putting("unarchive", { archived: false }, "is back in the list", "Brings a conversation back into the list."),
    putting("pin", { pinned: true }, "stays on top and is never pruned", "Keeps a conversation on top of the list."),
    putting("unpin", { pinned: false }, "is no longer pinned", "Lets a conversation take its turn again."),
    prune,
    remove
  ])
)
