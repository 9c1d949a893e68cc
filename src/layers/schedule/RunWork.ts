/** The work of one run, gate after gate, up to what it has to say (cron-delivery.md 3.2). */
import { Effect, Either } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import * as Turn from "../../fibers/Turn.js"
import { Agent, type AgentAnswer } from "../../services/agent/Agent.js"
import * as ModelProblem from "../../services/agent/ModelProblem.js"
import type { ModelError } from "../../services/agent/ModelRoute.js"
import { Spending } from "../../services/agent/Spending.js"
import { Skills } from "../../services/agent/Skills.js"
import * as Toolset from "../../services/agent/Toolset.js"
import { TurnStore } from "../../services/conversation/TurnStore.js"
import * as Notice from "../../services/delivery/Notice.js"
import { isBlank } from "../../services/delivery/Visible.js"
import { Activity } from "../../services/operation/Activity.js"
import { Milestone } from "../../services/operation/Milestone.js"
import { Settings } from "../../services/operation/Settings.js"
import type { Failure, FailureKind } from "../../services/schedule/FailureText.js"
import { type ClaimLost, type FireClaim, FireClaims } from "../../services/schedule/FireClaim.js"
import { type Job, JobId } from "../../services/schedule/Job.js"
import type { StoredJob } from "../../services/schedule/JobStore.js"
import { LifecycleGuard } from "../../services/schedule/LifecycleGuard.js"
import { type MonitorState, Monitors } from "../../services/schedule/Monitor.js"
import { Notepad } from "../../services/schedule/Notepad.js"
import { Responses } from "../../services/schedule/Response.js"
import * as RunPrompt from "../../services/schedule/RunPrompt.js"
import { type ScriptFailed, ScriptRefused, Scripts } from "../../services/schedule/Script.js"
import { localTime } from "../../services/schedule/LocalTime.js"
import * as Silence from "../../services/schedule/Silence.js"
import { SessionId } from "../../services/session/Session.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Transcript } from "../../services/session/Transcript.js"
import type { StateError } from "../../services/state/StateError.js"
import * as RunModel from "./RunModel.js"
import * as Watchdog from "./Watchdog.js"

/** What a run has come to, before anybody is told. */
export type Work =
  | {
      readonly _tag: "Said"
      readonly text: string
      readonly silent: boolean
      /** From a script alone: delivered as it stands. */
      readonly verbatim: boolean
      /** Where the files lie that it names by a relative path; null is the agent's directory. */
      readonly directory: string | null
      readonly warning: string | null
      readonly answer: AgentAnswer | null
    }
  | { readonly _tag: "Quiet"; readonly reason: string }
  | {
      readonly _tag: "Failed"
      readonly failure: Failure
      /** A model spoke, or something acted: trying again by itself could do it twice. */
      readonly reached: boolean
      readonly retryAfterMillis: number | null
      /** Nothing is said: there was simply no answer. */
      readonly mute: boolean
    }
  | { readonly _tag: "Blocked"; readonly reason: string }
  /** It has nothing to do any more. */
  | { readonly _tag: "Empty" }

/** What a run has begun, for whoever has to end it. */
export interface Trace {
  sessionId: SessionId | null
  prompt: string | null
  monitor: MonitorState | null
  /** Its end is recorded, or is somebody else's to record. */
  settled: boolean
  /** Records its end from its messages as they stand; null until they are written down. */
  close: Effect.Effect<void, ClaimLost | StateError> | null
}

const longestTitle = 60

const mute = { update: () => Effect.void, segment: Effect.void }

const failed = (
  kind: FailureKind,
  detail: string,
  more: {
    readonly reached?: boolean
    readonly retryAfterMillis?: number | null
    readonly mute?: boolean
    readonly remedy?: string | null
  } = {}
): Work => ({
  _tag: "Failed",
  failure: { kind, detail, remedy: more.remedy ?? null },
  reached: more.reached ?? true,
  retryAfterMillis: more.retryAfterMillis ?? null,
  mute: more.mute ?? false
})

const scriptFailed = (error: ScriptFailed | ScriptRefused): Work =>
  error._tag === "ScriptRefused"
    ? failed("script", error.message)
    : failed(
        error.reason === "timeout" ? "script_timeout" : "script",
        [error.detail, [error.stderr, error.stdout].filter((text) => text.trim() !== "").join("\n")]
          .filter((text) => text !== "")
          .join(": ")
      )

const modelKind: { readonly [reason in ModelError["reason"]]?: FailureKind } = {
  auth: "auth",
  auth_permanent: "auth",
  billing: "limit",
  rate_limit: "limit",
  timeout: "timeout",
  transport: "unreachable"
}

/** `cron_<job>_<time>`; a second one in the same second bears its run's number. */
const sessionIdOf = (job: Job, claim: FireClaim): string => {
  const time = new Date(claim.startedAt).toISOString().replace(/[-:]/g, "").replace("T", "_").slice(0, 15)
  return `cron_${job.id}_${time}`
}

export const make = Effect.gen(function* () {
  const settings = yield* Settings
  const scripts = yield* Scripts
  const monitors = yield* Monitors
  const guard = yield* LifecycleGuard
  const notepad = yield* Notepad
  const responses = yield* Responses
  const agent = yield* Agent
  const skills = yield* Skills
  const sessions = yield* SessionStore
  const transcript = yield* Transcript
  const turns = yield* TurnStore
  const claims = yield* FireClaims
  const activity = yield* Activity
  const milestone = yield* Milestone
  const modelOf = yield* RunModel.make
  const spending = yield* Spending

  /** A script may have been written after its job was made: it is looked at again before it runs. */
  const permitted = (path: string) =>
    Effect.mapError(
      guard.check({ prompt: "", script: path, monitorScript: null }),
      ({ detail }) => new ScriptRefused({ path, detail })
    )

  const script = (job: Job, path: string) =>
    Effect.either(Effect.zipRight(permitted(path), scripts.run({ path, workdir: job.workdir })))

  const scriptAlone = (job: Job): Effect.Effect<Work, never, CurrentTurn> =>
    job.script === null
      ? Effect.succeed({ _tag: "Empty" })
      : Effect.map(
          script(job, job.script),
          Either.match({
            onLeft: scriptFailed,
            onRight: (output): Work =>
              !output.wakeAgent || isBlank(output.stdout)
                ? { _tag: "Quiet", reason: "the script had nothing to say" }
                : {
                    _tag: "Said",
                    text: output.stdout,
                    silent: Silence.isSilent(output.stdout),
                    verbatim: true,
                    directory: job.workdir ?? scripts.folder,
                    warning: null,
                    answer: null
                  }
          })
        )

  const chained = (job: Job) =>
    Effect.map(
      Effect.forEach(job.contextFrom, (reference) =>
        responses.latest(reference === "self" ? job.id : JobId.make(reference, { disableValidation: true }))
      ),
      (found) => found.filter((one) => one !== null)
    )

  const attached = (name: string): Effect.Effect<RunPrompt.AttachedSkill> =>
    skills.view(name).pipe(
      Effect.map(({ summary, text }) => ({ name: summary.name, text: text.trimEnd() })),
      Effect.catchAll(({ message }) => Effect.succeed({ name, problem: message }))
    )

  const begin = (claim: FireClaim, job: Job, prompt: string, trace: Trace) =>
    Effect.gen(function* () {
      const turn = yield* Turn.current
      const wanted = sessionIdOf(job, claim)
      const taken = yield* sessions.get(wanted)
      const id = SessionId.make(taken === null ? wanted : `${wanted}_${claim.occurrence}`)
      trace.sessionId = id
      const session = yield* claims.fenced(
        claim,
        "run.begin",
        Effect.gen(function* () {
          const session = yield* sessions.create({
            id,
            key: null,
            source: "cron",
            origin: null,
            parentId: null,
            hidden: false,
            model: null
          })
          yield* turns.begin(turn, null)
          yield* claims.noteSession(claim, id)
          yield* transcript.append(id, turn.id, [{ _tag: "user", text: prompt, platformMessageId: null }])
          return session
        }).pipe(Effect.catchTag("TurnRefused", (error) => Effect.die(error)))
      )
      const title = `${[...job.name].slice(0, longestTitle).join("")} · ${localTime(claim.startedAt, settings.timezone)}`
      return yield* Effect.catchAll(sessions.setTitle(id, title, "derived"), (error) =>
        Effect.as(Effect.logWarning("the session of a run could not be titled", error), session)
      )
    })

  const said = (answer: AgentAnswer): Work => {
    if (answer.exit === "empty" || isBlank(answer.text))
      return failed("other", "the agent gave no answer", { mute: true })
    const ended =
      answer.exit === "budget"
        ? "It used all its steps; this is what it has so far."
        : answer.exit === "truncated"
          ? "The answer was cut off by the model's limit."
          : null
    const notes = [
      ...(ended === null ? [] : [ended]),
      ...(answer.spokenBy === null ? [] : [Notice.spokenByFallback({ backend: answer.spokenBy }).text])
    ]
    return {
      _tag: "Said",
      text: answer.text,
      silent: Silence.isSilent(answer.text),
      verbatim: false,
      directory: null,
      warning: notes.length === 0 ? null : notes.join("\n\n"),
      answer
    }
  }

  const ask = (claim: FireClaim, job: Job, parts: RunPrompt.RunPromptParts, trace: Trace) =>
    Effect.gen(function* () {
      const model = yield* modelOf(job)
      if (model._tag === "Blocked" && settings.cron.preflight)
        return { _tag: "Blocked", reason: model.reason } satisfies Work
      const limit = yield* spending.reached(job.id, [])
      if (limit !== null)
        return failed("limit", spending.words(limit), { retryAfterMillis: limit.liftsAt - claim.startedAt })
      const prompt = RunPrompt.assemble(parts)
      trace.prompt = prompt
      const session = yield* begin(claim, job, prompt, trace)
      yield* milestone.reach("agent.before")
      const turn = yield* Turn.current
      let reached = (): boolean => false
      return yield* Watchdog.guard(
        activity,
        turn.id,
        settings.cron.inactivitySeconds
      )((watched) => {
        reached = watched.reached
        return agent.run({
          session,
          sessionKey: "",
          takeSteer: Effect.succeed(null),
          speech: mute,
          maxTurns: settings.agent.maxTurns,
          instructions: null,
          ...(job.reasoningEffort === null ? {} : { effort: job.reasoningEffort }),
          ...(model._tag === "Route" && model.route !== null ? { route: model.route } : {})
        })
      }).pipe(
        Effect.provideService(Toolset.Granted, job.enabledToolsets),
        Effect.map(said),
        Effect.catchTags({
          ModelError: (error) => {
            const { cause, remedy } = ModelProblem.describe(error, 0)
            return Effect.succeed(
              failed(modelKind[error.reason] ?? "other", cause, {
                reached: reached(),
                retryAfterMillis: error.retryAfterMillis,
                remedy
              })
            )
          },
          Inactive: (error) => Effect.succeed(failed("inactivity", error.message)),
          HistoryUnreadable: (error) => Effect.succeed(failed("other", error.message)),
          PersistenceFailed: (error) => Effect.succeed(failed("other", error.message))
        })
      )
    })

  const wake = (
    claim: FireClaim,
    stored: StoredJob,
    trace: Trace
  ): Effect.Effect<Work, ClaimLost | StateError, CurrentTurn> =>
    Effect.gen(function* () {
      const { job } = stored
      if (job.prompt === "" && job.skills.length === 0 && job.script === null) return { _tag: "Empty" }
      let block: string | null = null
      if (job.monitor !== null) {
        const looked = monitors.look(job.monitor, stored.monitor, { workdir: job.workdir })
        const sight = yield* Effect.either(
          job.monitor.kind === "script" ? Effect.zipRight(permitted(job.monitor.target), looked) : looked
        )
        if (Either.isLeft(sight))
          return failed(sight.left._tag === "MonitorFailed" ? "monitor" : "script", sight.left.message)
        if (sight.right._tag === "NoChange") return { _tag: "Quiet", reason: "the monitor saw no change" }
        block = sight.right.block
        trace.monitor = sight.right.state
      }
      let printed: { readonly ok: boolean; readonly text: string } | null = null
      if (job.script !== null) {
        const output = yield* script(job, job.script)
        if (Either.isRight(output)) {
          if (!output.right.wakeAgent) return { _tag: "Quiet", reason: "the script did not wake the agent" }
          if (output.right.stdout === "") return { _tag: "Quiet", reason: "the script had nothing to say" }
          printed = { ok: true, text: output.right.stdout }
        } else {
          const failure = scriptFailed(output.left)
          printed = { ok: false, text: failure._tag === "Failed" ? failure.failure.detail : "" }
        }
      }
      const parts: RunPrompt.RunPromptParts = {
        prompt: job.prompt,
        context: claim.context,
        script: printed,
        monitor: block,
        chained: yield* chained(job),
        notepad: yield* notepad.list(stored.number),
        skills: yield* Effect.forEach(job.skills, attached)
      }
      const finding = RunPrompt.finding(parts)
      if (finding !== null) return failed("injection", finding)
      return yield* ask(claim, job, parts, trace)
    })

  return (
    claim: FireClaim,
    stored: StoredJob,
    trace: Trace
  ): Effect.Effect<Work, ClaimLost | StateError, CurrentTurn> =>
    stored.job.noAgent ? scriptAlone(stored.job) : wake(claim, stored, trace)
})

export type RunWork = Effect.Effect.Success<typeof make>
