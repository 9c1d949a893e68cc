/**
 * Commands of the owner's own that run a line in the shell, without a model (gateway.md 3.3). The owner wrote the line and an
 * admitted person typed its name: it is not asked about. What nobody may allow is not run here either, and where nobody
 * is present it is held to what a job is.
 */
import { Effect, Schema } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import { Approvals } from "../../services/approval/Approval.js"
import { CommandJudge } from "../../services/approval/CommandJudge.js"
import { Inbox, type InboxEntry } from "../../services/conversation/Inbox.js"
import * as Markup from "../../services/delivery/Markup.js"
import * as Notice from "../../services/delivery/Notice.js"
import { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import { Pause } from "../../services/operation/Pause.js"
import { Settings } from "../../services/operation/Settings.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Shell, type ShellOutcome } from "../../services/shell/Shell.js"
import { Database } from "../../services/state/Database.js"
import * as Turn from "../../fibers/Turn.js"
import * as AdmissionTurn from "./AdmissionTurn.js"

export interface QuickCommands {
  /** Runs `command`, which `/name` stands for, and answers with the text to say. */
  readonly run: (name: string, command: string, entry: InboxEntry) => Effect.Effect<string>
}

const limitSeconds = 30
/** In all conversations together; more wait for a place. */
const atOnce = 4
/** What a chat shows in one message. */
const longestOutput = 3_200

class NotRun extends Schema.TaggedError<NotRun>()("NotRun", { text: Schema.String }) {}

const shortened = (output: string): string =>
  output.length <= longestOutput
    ? output
    : `${output.slice(0, longestOutput / 2).trimEnd()}\n[… ${output.length - longestOutput} characters left out …]\n${output.slice(-longestOutput / 2).trimStart()}`

const told = (name: string, outcome: ShellOutcome): string => {
  const output = shortened(outcome.output.trimEnd())
  const end = outcome.timedOut
    ? `/${name} was not finished after ${limitSeconds} seconds, so it was ended.`
    : outcome.exitCode === 0
      ? output === ""
        ? `/${name} is done; it printed nothing.`
        : null
      : `/${name} ended with ${outcome.exitCode === null ? (outcome.signal ?? "a signal") : `exit code ${outcome.exitCode}`}${output === "" ? " and printed nothing" : ""}.`
  // In a fence nothing of it is taken for markup, nor for a file to send.
  return [output === "" ? null : Markup.fenced(output), outcome.note, end].filter((part) => part !== null).join("\n")
}

export const make = Effect.gen(function* () {
  const approvals = yield* Approvals
  const database = yield* Database
  const drain = yield* Drain
  const ids = yield* Ids
  const inbox = yield* Inbox
  const judge = yield* CommandJudge
  const pause = yield* Pause
  const sessions = yield* SessionStore
  const settings = yield* Settings
  const shell = yield* Shell
  const places = yield* Effect.makeSemaphore(atOnce)

  const run = (name: string, command: string, entry: InboxEntry): Effect.Effect<string> =>
    Effect.gen(function* () {
      if (entry.turnId !== null)
        return yield* new NotRun({
          text: `The gateway ended while /${name} ran. How far it came is not known, and it was not run again: look before you type it again.`
        })
      const paused = yield* pause.current
      if (paused !== null) return yield* new NotRun({ text: Notice.pauseHolds(paused).text })
      const id = Turn.TurnId.make(yield* ids.next("turn"))
      const { arrival, event, key } = entry
      const session = yield* sessions.peek(key)
      const turn = AdmissionTurn.of({
        id,
        event,
        arrival,
        sessionId: session?.id ?? null,
        sessionKey: key,
        anchor: event.messageId
      })
      const workingDirectory = arrival.workingDirectory ?? settings.terminal.workingDirectory ?? settings.home
      const verdict = yield* judge.judge(command, {
        workingDirectory,
        cron: CronMarker.isCron(turn.marker),
        unattended: turn.presence._tag === "Nobody"
      })
      const reasons = verdict.reasons.map(({ text }) => text)
      if (verdict.verdict === "never")
        return yield* new NotRun({
          text: `/${name} was not run: this is for you alone, outside of the gateway (${reasons.join("; ")}).`
        })
      if (verdict.verdict === "ask" && turn.presence._tag === "Nobody")
        return yield* new NotRun({
          text: `/${name} was not run: nobody is there to answer for it (${reasons.join("; ")}).`
        })
      // Before the act: a start that finds it so does not run it again.
      yield* database.write("inbox.settle", inbox.settle(entry.id, "accepted", id))
      const act = shell.run({ command, workingDirectory, timeoutMillis: limitSeconds * 1_000 })
      const question = { tool: "quick_command", callId: id, subject: command, reasons }
      return told(name, yield* Turn.cleared(AdmissionTurn.enter(turn)(approvals.unasked(question)(act))))
    }).pipe(
      places.withPermits(1),
      drain.work("process", `/${name}`),
      Effect.catchAll((error) => Effect.succeed(error._tag === "NotRun" ? error.text : error.message))
    )

  const commands: QuickCommands = { run }
  return commands
})
