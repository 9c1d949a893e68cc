/** What the typed commands of a conversation do (gateway.md 3.3, 9.2). Those that move its turn or queue are the actor's own. */
import { Clock, Effect } from "effect"
import { addressOf } from "../../services/conversation/Admission.js"
import { signatureOf } from "../../services/conversation/InboundEvent.js"
import { InternalEvents } from "../../services/conversation/InternalEvents.js"
import type { InboxEntry } from "../../services/conversation/Inbox.js"
import type { SessionCommands } from "./SessionCommands.js"
import type { CommandName } from "../../services/conversation/SlashCommand.js"
import * as SlashCommand from "../../services/conversation/SlashCommand.js"
import { Approvals, type Scope } from "../../services/approval/Approval.js"
import { HomeChannels } from "../../services/delivery/HomeChannels.js"
import { Skills } from "../../services/agent/Skills.js"
import * as TodoList from "../../services/agent/TodoList.js"
import { TodoStore } from "../../services/agent/TodoStore.js"
import { McpServers } from "../../services/mcp/McpServers.js"
import { ModelRoute } from "../../services/agent/ModelRoute.js"
import type { Session } from "../../services/session/Session.js"
import type { StateError } from "../../services/state/StateError.js"
import { type Owner, SessionStore } from "../../services/session/SessionStore.js"
import * as Notice from "../../services/delivery/Notice.js"
import { Pause } from "../../services/operation/Pause.js"
import * as AgentCommands from "./AgentCommands.js"
import { Settings } from "../../services/operation/Settings.js"
import { Restart } from "../../services/operation/Restart.js"
import * as JobCommands from "./JobCommands.js"
import * as ModelCommands from "./ModelCommands.js"

/** Handled here; the rest needs the actor's state, or changes the transcript. */
export type PlainCommand = Exclude<
  CommandName,
  "stop" | "new" | "queue" | "steer" | "busy" | "status" | keyof SessionCommands
>

export interface Commands {
  /** The text to answer with; empty says nothing. */
  readonly run: (name: PlainCommand, args: string, entry: InboxEntry) => Effect.Effect<string>
  readonly statusLines: (session: Session | null) => Effect.Effect<ReadonlyArray<string>, StateError>
}

/** Whose sessions an event may see: its chat's, and only its sender's own in a direct message (gateway.md 2.6). */
export const ownerOf = (entry: InboxEntry): Owner => {
  const { source } = entry.event
  return {
    platform: source.platform || source.surface || "local",
    chatId: source.chatId,
    userId: source.userIdAlt ?? source.userId
  }
}

const day = (millis: number): string => new Date(millis).toISOString().slice(0, 10)

const listed = (session: Session): string =>
  `${session.title ?? "untitled"} — ${session.messageCount} messages, ${day(session.lastActivityAt)} (${session.id})`

/** Questions of all conversations among which the last one of this one is looked for. */
const lookedBack = 100

const approvedFor = {
  once: "Approved",
  session: "Approved for this conversation",
  always: "Approved from now on"
} as const

export const make = Effect.gen(function* () {
  const approvals = yield* Approvals
  const homes = yield* HomeChannels
  const sessions = yield* SessionStore
  const route = yield* ModelRoute
  const pause = yield* Pause
  const restart = yield* Restart
  const jobs = yield* JobCommands.make
  const models = yield* ModelCommands.make
  const todos = yield* TodoStore
  const skills = yield* Skills
  const mcp = yield* McpServers
  const agents = yield* AgentCommands.make
  const internal = yield* InternalEvents
  const ownCommands = [...(yield* Settings).quickCommands].map(([name, means]) => ({
    usage: `/${name}`,
    help: means.type === "alias" ? `the same as: ${means.target}` : `runs: ${means.command}`
  }))

  /** Whoever answers means the last question: they hear what became of it where that is over. */
  const nothingOpen = (entry: InboxEntry) =>
    Effect.map(approvals.list(lookedBack), (rows) => {
      const last = rows.find(({ sessionKey }) => sessionKey === entry.key)
      const fate =
        last?.state === "cancelled"
          ? Notice.approvalInterrupted(last)
          : last?.state === "expired"
            ? Notice.approvalExpired(last)
            : null
      return ["There is no open question in this conversation.", ...(fate === null ? [] : [fate.text])].join("\n")
    })

  const answerApproval = (entry: InboxEntry, approve: boolean, reason: string, scope: Scope = "once") =>
    approvals
      .answer({
        sessionKey: entry.key,
        id: null,
        approve,
        scope,
        reason: reason === "" ? null : reason,
        by: signatureOf(entry.event.source)
      })
      .pipe(
        Effect.map((row) => (approve ? `${approvedFor[scope]}: ${row.subject}` : Notice.approvalDenied(row).text)),
        Effect.catchTag("NothingToAnswer", () => nothingOpen(entry))
      )

  /** Those that are open now: what is asked later is asked. */
  const approveAll = (entry: InboxEntry) =>
    Effect.gen(function* () {
      const open = yield* approvals.open(entry.key)
      if (open.length === 0) return yield* nothingOpen(entry)
      const by = signatureOf(entry.event.source)
      const answered = yield* Effect.forEach(open, (row) =>
        approvals.answer({ sessionKey: entry.key, id: row.id, approve: true, reason: null, by }).pipe(
          Effect.map((one) => [one.subject]),
          Effect.catchTag("NothingToAnswer", () => Effect.succeed([]))
        )
      )
      return ["Approved:", ...answered.flat()].join("\n")
    })

  const title = (entry: InboxEntry, args: string) =>
    Effect.gen(function* () {
      const session = yield* sessions.peek(entry.key)
      if (session === null) return "There is no conversation to name yet."
      if (args === "")
        return session.title === null ? "This conversation has no title yet." : `This is "${session.title}".`
      const named = yield* sessions.setTitle(session.id, args, "user")
      return `This conversation is now called "${named.title ?? args}".`
    })

  const setHome = (entry: InboxEntry) =>
    Effect.gen(function* () {
      const address = addressOf(entry.event.source, null)
      if (address === null) return "There is no chat here that I could send to."
      yield* homes.set(address)
      return `This is now the home channel for ${address.platform}: what nobody asked for goes here.`
    })

  const whoAmI = (entry: InboxEntry): string => {
    const { source } = entry.event
    return [
      `You are ${source.userName ?? "somebody"}${source.userId === null ? "" : ` (id ${source.userId})`}.`,
      `This is ${source.platform || source.surface || "a terminal"}, ${source.chatType}${source.chatId === null ? "" : ` ${source.chatId}`}${source.threadId === null ? "" : `, thread ${source.threadId}`}.`
    ].join("\n")
  }

  const run = (name: PlainCommand, args: string, entry: InboxEntry) =>
    Effect.gen(function* () {
      switch (name) {
        case "help":
          return SlashCommand.helpText(ownCommands)
        case "start":
          return ""
        case "approve":
          if (args === "all") return yield* approveAll(entry)
          return args === "" || args === "once" || args === "session" || args === "always"
            ? yield* answerApproval(entry, true, "", args === "" ? "once" : args)
            : "Say /approve, /approve session, /approve always or /approve all."
        case "deny":
          return yield* answerApproval(entry, false, args)
        case "agents":
          return yield* agents(args, entry.key)
        case "sessions": {
          const found = yield* sessions.list({ owner: ownerOf(entry), limit: 15 })
          return found.length === 0 ? "No conversations here yet." : found.map(listed).join("\n")
        }
        case "resume": {
          if (args === "") return "Say which one: /resume NAME. /sessions lists them."
          const session = yield* sessions.resume(entry.key, args, ownerOf(entry))
          // A report may have waited for it.
          yield* internal.announce
          return `Back in "${session.title ?? session.id}" (${session.messageCount} messages).`
        }
        case "title":
          return yield* title(entry, args)
        case "cron":
          return yield* jobs(args, entry)
        case "sethome":
          return yield* setHome(entry)
        case "skills": {
          const known = yield* skills.list
          return known.length === 0
            ? "There are no skills yet. I write one down when I have learned how something is done, or you put a folder with a SKILL.md into the home's skills."
            : known.map(({ description, name }) => `${name} — ${description.slice(0, 200)}`).join("\n")
        }
        case "whoami":
          return whoAmI(entry)
        case "restart":
          yield* restart.ask({
            at: yield* Clock.currentTimeMillis,
            by: signatureOf(entry.event.source),
            sessionKey: entry.key,
            address: addressOf(entry.event.source, null)
          })
          return Notice.restartGoing({ restart: true }).text
        case "model":
          return yield* models.model(entry, args)
        case "context":
          return yield* models.context(entry)
        case "reload-mcp": {
          const lines = yield* mcp.reload
          return lines.length === 0
            ? "There are no MCP servers: mcp_servers in config.yaml names them."
            : [...lines, "A conversation keeps the tools that it began with; /new begins one with these."].join("\n")
        }
        case "usage":
          return yield* models.usage(entry)
        case "pause": {
          const paused = yield* pause.begin({ by: signatureOf(entry.event.source), reason: args === "" ? null : args })
          return Notice.pauseHolds(paused).text
        }
        case "unpause":
          return (yield* pause.lift) ? "I go on, first with what waited." : "I was not paused."
      }
    }).pipe(Effect.catchAll((error) => Effect.succeed(error.message)))

  return {
    run,
    statusLines: (session) =>
      Effect.map(session === null ? Effect.succeed(TodoList.empty) : todos.get(session.id), (list) => {
        const todo = TodoList.line(list)
        return [
          session === null
            ? "Conversation: a new one"
            : `Conversation: ${session.title ?? "untitled"}, ${session.messageCount} messages`,
          ...(todo === null ? [] : [todo]),
          `Model: ${route.primary.provider}/${route.primary.model}`
        ]
      })
  } satisfies Commands
})

/** How long ago, in words. */
export const elapsed = (since: number): Effect.Effect<string> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const seconds = Math.max(0, Math.round((now - since) / 1000))
    return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  })
