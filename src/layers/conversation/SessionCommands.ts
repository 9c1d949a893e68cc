/** The typed commands that change the transcript of a conversation or move it (state-agent.md 2.5, 3.12). */
import { Clock, Effect } from "effect"
import type { Inbox, InboxEntry } from "../../services/conversation/Inbox.js"
import { Activity } from "../../services/operation/Activity.js"
import { Compaction, type CompactionOutcome } from "../../services/session/Compaction.js"
import type { Session } from "../../services/session/Session.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { NothingToRewind, SessionCompacting, Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"
import * as EntrySession from "./EntrySession.js"

export interface SessionCommands {
  /** Each answers with the text to say. */
  readonly compress: (entry: InboxEntry, args: string) => Effect.Effect<string>
  readonly undo: (entry: InboxEntry, args: string) => Effect.Effect<string>
  readonly branch: (entry: InboxEntry, args: string) => Effect.Effect<string>
  /** Why there is nothing to say again; null when there is. */
  readonly retry: (entry: InboxEntry) => Effect.Effect<string | null>
}

const nothingYet = "There is no conversation here yet."

const thousands = (tokens: number): string =>
  tokens < 1_000 ? `${tokens}` : `${Math.round(tokens / 100) / 10} thousand`

const told = (outcome: CompactionOutcome): string => {
  switch (outcome._tag) {
    case "Compacted":
      return `${outcome.rows} messages are a summary now${outcome.by === "outline" ? ", an outline made by rule" : ""}: about ${thousands(outcome.tokensBefore)} tokens before, ${thousands(outcome.tokensAfter)} after. You can still read and search all of them.`
    case "NothingToDo":
      return "There is too little here to summarise."
    case "Busy":
      return "A summary is being made already; try again in a moment."
    case "CoolingDown":
      return "The last summary failed a moment ago; try again in a few minutes."
    case "Ineffective":
      return "A summary would not be any shorter than what is here."
    case "Failed":
      return `No summary could be made, and nothing was changed: ${outcome.detail}`
  }
}

/** `here N`: so many messages stay as they are; anything else is what the summary keeps above all. */
const compressArguments = (args: string): { readonly keepLast?: number; readonly focus?: string } => {
  const here = /^here(?:\s+(\d{1,4}))?$/i.exec(args)
  if (here !== null) return { keepLast: Math.max(1, Number(here[1] ?? 1)) }
  return args === "" ? {} : { focus: args }
}

const shortened = (text: string): string => {
  const [line = ""] = text.split("\n")
  return [...line].length > 80 ? `${[...line].slice(0, 79).join("")}…` : line
}

export const make = (inbox: typeof Inbox.Service) =>
  Effect.gen(function* () {
    const sessions = yield* SessionStore
    const transcript = yield* Transcript
    const compaction = yield* Compaction
    const database = yield* Database
    const activity = yield* Activity

    const sessionOf = (entry: InboxEntry) => EntrySession.peek(sessions, entry)

    /** Whoever shows the conversation looks at it again. */
    const changed = (entry: InboxEntry, session: Session) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) =>
        activity.publish({ _tag: "session.changed", at, sessionKey: entry.key, sessionId: session.id })
      )

    const said = <E extends { readonly message: string }>(self: Effect.Effect<string, E>): Effect.Effect<string> =>
      Effect.catchAll(self, (error) => Effect.succeed(error.message))

    return {
      compress: (entry, args) =>
        said(
          Effect.gen(function* () {
            const session = yield* sessionOf(entry)
            if (session === null) return nothingYet
            return told(
              yield* compaction.run({
                sessionId: session.id,
                sessionKey: entry.key,
                trigger: "person",
                ...compressArguments(args)
              })
            )
          })
        ),
      undo: (entry, args) =>
        said(
          Effect.gen(function* () {
            const turns = args === "" ? 1 : Number(args)
            if (!Number.isInteger(turns) || turns < 1) return "Say how many of your messages: /undo 2."
            const session = yield* sessionOf(entry)
            if (session === null) return nothingYet
            // With its event, so that a restart in between does not take back another one.
            const { text, rows } = yield* database.write(
              "session.undo",
              Effect.zipLeft(transcript.rewind(session.id, turns), inbox.settle(entry.id, "answered", null)),
              "transcript"
            )
            yield* changed(entry, session)
            return `Taken back, with ${rows - 1} message${rows === 2 ? "" : "s"} after it: "${shortened(text)}". What I did for it is not undone.`
          })
        ),
      branch: (entry, args) =>
        said(
          Effect.gen(function* () {
            const session = yield* sessionOf(entry)
            if (session === null) return nothingYet
            const branch = yield* sessions.branch(entry.key, entry.event.source, args === "" ? null : args)
            yield* changed(entry, branch)
            return `This goes on in a copy, "${branch.title ?? branch.id}". The conversation as it was is "${session.title ?? session.id}": /resume brings it back.`
          })
        ),
      retry: (entry) =>
        Effect.gen(function* () {
          const session = yield* sessionOf(entry)
          if (session === null) return nothingYet
          if (yield* compaction.isRunning(session.id)) return new SessionCompacting({ sessionId: session.id }).message
          if (yield* transcript.canRewind(session.id)) return null
          return new NothingToRewind({ sessionId: session.id }).message
        }).pipe(Effect.catchAll((error) => Effect.succeed(error.message)))
    } satisfies SessionCommands
  })
