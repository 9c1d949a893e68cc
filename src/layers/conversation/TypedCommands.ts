/** What a person types into a conversation that is no message for the agent: commands, and answers to its questions (gateway.md 3.2, 3.4). */
import { Effect, Scope } from "effect"
import * as Turn from "../../fibers/Turn.js"
import type { Clarifications } from "../../services/agent/Clarification.js"
import type { Approvals, NothingToAnswer } from "../../services/approval/Approval.js"
import type { BusyModes } from "../../services/conversation/BusyModes.js"
import * as CommandTier from "../../services/conversation/CommandTier.js"
import type { InboxEntry } from "../../services/conversation/Inbox.js"
import { InboundEvent, signatureOf } from "../../services/conversation/InboundEvent.js"
import * as SlashCommand from "../../services/conversation/SlashCommand.js"
import type { Delegation } from "../../services/delegation/Delegation.js"
import type { NoticeText } from "../../services/delivery/Notifier.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { Pause } from "../../services/operation/Pause.js"
import type { BusyMode, QuickCommand, SettingsShape } from "../../services/operation/Settings.js"
import type { Session } from "../../services/session/Session.js"
import type { SessionKey } from "../../services/session/SessionKey.js"
import type { SessionStore } from "../../services/session/SessionStore.js"
import type { StateError } from "../../services/state/StateError.js"
import { type Commands, elapsed } from "./Commands.js"
import * as EntrySession from "./EntrySession.js"
import type { QuickCommands } from "./QuickCommands.js"
import type { SessionCommands } from "./SessionCommands.js"

export interface Services {
  readonly settings: SettingsShape
  readonly scope: Scope.Scope
  readonly pause: typeof Pause.Service
  readonly sessions: typeof SessionStore.Service
  readonly busyModes: typeof BusyModes.Service
  readonly approvals: typeof Approvals.Service
  readonly clarifications: typeof Clarifications.Service
  readonly delegation: typeof Delegation.Service
  readonly commands: Commands
  readonly sessionCommands: SessionCommands
  readonly quickCommands: QuickCommands
}

/** What a command sees of its conversation, and may do to it. */
export interface Floor {
  readonly running: () => { readonly startedAt: number } | null
  /** How many messages wait. */
  readonly waiting: () => number
  /** Lets a message wait; answers how many do now. */
  readonly wait: (entry: InboxEntry) => number
  readonly message: (entry: InboxEntry, mode: BusyMode) => Effect.Effect<void>
  /** Takes it as if it had just come. */
  readonly again: (entry: InboxEntry, recovered: boolean) => Effect.Effect<void, StateError | NothingToAnswer>
  readonly stop: Effect.Effect<Stopped, StateError>
  /** Forgets what waits. */
  readonly drop: (entries: ReadonlyArray<InboxEntry>) => Effect.Effect<void, StateError>
  /** The conversation goes on in another session. */
  readonly moved: (session: Session) => Effect.Effect<void>
  /** Answers a command and gives its place in the queue back. */
  readonly freed: (entry: InboxEntry, text: string) => Effect.Effect<void, StateError>
  readonly tell: (entry: InboxEntry, notice: NoticeText) => Effect.Effect<void>
}

/** A quick command that runs. */
interface Execution {
  readonly entry: InboxEntry
  fiber: Turn.TurnFiber<void> | null
}

export interface Stopped {
  /** A turn, or helpers behind the conversation. */
  readonly work: boolean
  /** Commands that ran in the background. */
  readonly processes: number
}

/** What else came to its end; empty where nothing did. */
const alsoEnded = (processes: number): string => {
  if (processes === 0) return ""
  return processes === 1
    ? ", and a command in the background was ended"
    : `, and ${processes} commands in the background were ended`
}

const stopped = ({ processes, work }: Stopped): string =>
  work || processes > 0 ? `Stopped${alsoEnded(processes)}.` : "Nothing was running."

interface Own {
  readonly name: string
  readonly means: QuickCommand
}

export const make = (key: SessionKey, services: Services, actor: Floor) => {
  const { sessions, settings } = services
  const executions = new Set<Execution>()

  const status = (entry: InboxEntry) =>
    Effect.gen(function* () {
      const run = actor.running()
      const waiting = actor.waiting()
      const session = yield* EntrySession.peek(sessions, entry)
      const delegates = (yield* services.delegation.running).filter(({ sessionKey }) => sessionKey === key)
      const paused = yield* services.pause.current
      return [
        run === null ? "Idle." : `Working for ${yield* elapsed(run.startedAt)}.`,
        ...(paused === null ? [] : [Notice.pauseHolds(paused).text]),
        waiting === 0 ? "Nothing waits." : `${waiting} message${waiting === 1 ? "" : "s"} waiting.`,
        ...(delegates.length === 0 ? [] : [`${delegates.length} helper${delegates.length === 1 ? "" : "s"} at work.`]),
        `While I work, a message does: ${yield* services.busyModes.of(key)}.`,
        ...(yield* services.commands.statusLines(session))
      ].join("\n")
    })

  const setBusy = Effect.fnUntraced(function* (args: string) {
    if (args === "") return `A message that comes while I work does: ${yield* services.busyModes.of(key)}.`
    const mode = (["interrupt", "queue", "steer"] as const).find((known) => known === args.toLowerCase())
    if (mode === undefined) return "Say /busy interrupt, /busy queue or /busy steer."
    yield* services.busyModes.choose(key, mode)
    return `From now on a message that comes while I work does: ${mode}.`
  })

  /** A summary takes its time: the conversation goes on meanwhile. */
  const compress = (entry: InboxEntry, args: string) =>
    Turn.forkWorker(
      services.sessionCommands.compress(entry, args).pipe(
        Effect.flatMap((text) => actor.freed(entry, text)),
        Effect.catchAll((error) => Effect.logError("an answer to /compress could not be stored", error))
      )
    ).pipe(Effect.provideService(Scope.Scope, services.scope), Effect.asVoid)

  const retry = (entry: InboxEntry) =>
    Effect.flatMap(services.sessionCommands.retry(entry), (problem) =>
      problem === null ? actor.message({ ...entry, again: true }, "queue") : actor.freed(entry, problem)
    )

  const resume = (entry: InboxEntry, args: string) =>
    Effect.gen(function* () {
      const before = yield* sessions.peek(key)
      const text = yield* services.commands.run("resume", args, entry)
      const now = yield* sessions.peek(key)
      if (now !== null && now.id !== before?.id) yield* actor.moved(now)
      return text
    })

  const fresh = (entry: InboxEntry, title: string) =>
    Effect.gen(function* () {
      const { processes } = yield* actor.stop
      const { previous, fresh: session } = yield* sessions.reset(key, entry.event.source)
      if (title !== "") yield* sessions.setTitle(session.id, title, "user")
      yield* actor.moved(session)
      const begun = `A new conversation${alsoEnded(processes)}.`
      return previous === null || previous.messageCount === 0
        ? begun
        : `${begun} The last one is "${previous.title ?? previous.id}": /resume brings it back.`
    }).pipe(Effect.catchTags({ TitleTaken: said, SessionNotFound: said }))

  const said = (error: { readonly message: string }) => Effect.succeed(error.message)

  const withText = (entry: InboxEntry, text: string): InboxEntry => ({
    ...entry,
    event: new InboundEvent({ ...entry.event, text })
  })

  const mayType = (entry: InboxEntry, name: string): boolean => {
    const { source } = entry.event
    const tiers = source.platform === "telegram" ? settings.telegram.commandTiers : CommandTier.open
    return CommandTier.permits(tiers, source, name, actor.running() !== null)
  }

  /** A command of the owner's own; its whole name wins over the beginning of one of ours. */
  const own = (parsed: SlashCommand.Parsed): Own | null => {
    if (parsed._tag === "NotACommand" || SlashCommand.isTaken(parsed.typed)) return null
    const name = SlashCommand.normal(parsed.typed)
    const means = settings.quickCommands.get(name)
    return means === undefined ? null : { name, means }
  }

  const runOwn = (entry: InboxEntry, { means, name }: Own, recovered: boolean) =>
    Effect.gen(function* () {
      if (!mayType(entry, name)) return yield* actor.freed(entry, Notice.commandRefused({ command: name }).text)
      const args = entry.event.text.trim().replace(/^\S+\s*/, "")
      if (means.type === "alias") {
        const meant = withText(entry, args === "" ? means.target : `${means.target} ${args}`)
        const again = SlashCommand.parse(meant.event.text)
        // One that stands for another, or for itself, would never end.
        return again._tag === "Unknown" || own(again) !== null
          ? yield* actor.freed(entry, Notice.commandUnknown({ typed: name, closest: [] }).text)
          : yield* actor.again(meant, recovered)
      }
      if (args !== "") return yield* actor.freed(entry, `/${name} takes nothing behind it.`)
      if (actor.running() !== null) return yield* actor.freed(entry, Notice.busyCommand({ command: name }).text)
      return yield* execute(entry, name, means.command)
    })

  /** The conversation goes on meanwhile. */
  const execute = (entry: InboxEntry, name: string, command: string) =>
    Effect.gen(function* () {
      const execution: Execution = { entry, fiber: null }
      executions.add(execution)
      execution.fiber = yield* Turn.forkWorker(
        services.quickCommands.run(name, command, entry).pipe(
          Effect.flatMap((text) => (executions.delete(execution) ? actor.freed(entry, text) : Effect.void)),
          Effect.catchAll((error) => Effect.logError("the output of a quick command could not be stored", error)),
          Effect.ensuring(Effect.sync(() => executions.delete(execution)))
        )
      ).pipe(Effect.provideService(Scope.Scope, services.scope))
    })

  const endAll = Effect.suspend(() => {
    const ended = [...executions]
    executions.clear()
    return Effect.as(
      Effect.forEach(
        ended,
        ({ entry, fiber }) =>
          Effect.zipRight(fiber === null ? Effect.void : Turn.interruptSoon(fiber), actor.drop([entry])),
        { discard: true }
      ),
      ended.length
    )
  })

  const run = (entry: InboxEntry, parsed: Extract<SlashCommand.Parsed, { readonly _tag: "Command" }>) =>
    Effect.gen(function* () {
      const { name, args, spec } = parsed
      const run = actor.running()
      if (!mayType(entry, name)) return yield* actor.freed(entry, Notice.commandRefused({ command: name }).text)
      if (name === "queue" || name === "steer") {
        if (args === "") return yield* actor.freed(entry, `Say what: ${spec.usage}.`)
        if (SlashCommand.parse(args)._tag !== "NotACommand")
          return yield* actor.freed(entry, `A command does not wait: send ${args.split(/\s/, 1)[0]} by itself.`)
        if (name === "queue" && run !== null) {
          const position = actor.wait(withText(entry, args))
          return yield* actor.tell(entry, Notice.queueOk({ position }))
        }
        return yield* actor.message(withText(entry, args), name)
      }
      if (run !== null && spec.busy === "reject")
        return yield* actor.freed(entry, Notice.busyCommand({ command: name }).text)
      switch (name) {
        case "stop":
          return yield* actor.freed(entry, stopped(yield* actor.stop))
        case "new":
          return yield* actor.freed(entry, yield* fresh(entry, args))
        case "resume":
          return yield* actor.freed(entry, yield* resume(entry, args))
        case "undo":
          return yield* actor.freed(entry, yield* services.sessionCommands.undo(entry, args))
        case "branch":
          return yield* actor.freed(entry, yield* services.sessionCommands.branch(entry, args))
        case "retry":
          return yield* retry(entry)
        case "compress":
          return yield* compress(entry, args)
        case "busy":
          return yield* actor.freed(entry, yield* setBusy(args))
        case "status":
          return yield* actor.freed(entry, yield* status(entry))
        default:
          return yield* actor.freed(entry, yield* services.commands.run(name, args, entry))
      }
    })

  /** A plain yes or no answers an open question of this conversation, and is no message (gateway.md 3.4). */
  const answersQuestion = (entry: InboxEntry): Effect.Effect<boolean, StateError> =>
    Effect.gen(function* () {
      const word = SlashCommand.approvalWord(entry.event.text)
      if (word === null || (yield* services.approvals.open(key)).length === 0) return false
      const text = yield* services.commands.run(word, "", entry)
      yield* actor.freed(entry, text)
      return true
    })

  /** What the agent asked in the middle of its work is answered with any words. */
  const clarifies = (entry: InboxEntry): Effect.Effect<boolean, StateError> =>
    Effect.gen(function* () {
      const { source, text } = entry.event
      if (text.trim() === "" || entry.event.media.length > 0) return false
      if (!(yield* services.clarifications.answer(key, text, signatureOf(source)))) return false
      yield* actor.freed(entry, "")
      return true
    })

  return {
    run,
    own,
    runOwn,
    answersQuestion,
    clarifies,
    endAll,
    areAtWork: () => executions.size > 0
  }
}
