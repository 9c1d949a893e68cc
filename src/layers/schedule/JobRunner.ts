/** The one firing path (cron-delivery.md 3.1): run, save, deliver, record, let go, in this order and each step fenced. */
import { FileSystem } from "@effect/platform"
import { Cause, Clock, Effect, Exit, Layer, Schedule as Pace } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import * as Presence from "../../fibers/Presence.js"
import * as SessionIdentity from "../../fibers/SessionIdentity.js"
import * as Turn from "../../fibers/Turn.js"
import { TurnStore } from "../../services/conversation/TurnStore.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import type { Route } from "../../services/delivery/TargetResolver.js"
import { Activity } from "../../services/operation/Activity.js"
import { Ids } from "../../services/operation/Ids.js"
import { Milestone } from "../../services/operation/Milestone.js"
import { Settings } from "../../services/operation/Settings.js"
import * as FailureText from "../../services/schedule/FailureText.js"
import {
  type Claimed,
  ClaimLost,
  type FireClaim,
  FireClaims,
  type RunEnding
} from "../../services/schedule/FireClaim.js"
import { Incidents } from "../../services/schedule/Incident.js"
import type { Job } from "../../services/schedule/Job.js"
import { JobRunner, type RunControl } from "../../services/schedule/JobRunner.js"
import { JobStore, type Righted, type StoredJob } from "../../services/schedule/JobStore.js"
import { runId } from "../../services/schedule/Occurrence.js"
import { Responses } from "../../services/schedule/Response.js"
import { localTime } from "../../services/schedule/LocalTime.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Transcript } from "../../services/session/Transcript.js"
import { Database, type Step } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import * as RightedNotice from "./RightedNotice.js"
import * as RunDelivery from "./RunDelivery.js"
import * as RunDocument from "./RunDocument.js"
import * as RunRetry from "./RunRetry.js"
import * as RunVerdict from "./RunVerdict.js"
import * as RunWork from "./RunWork.js"

/** How long a notice may take when the gateway is about to end. */
const lastWordsBound = "3 seconds"

/** An end that cannot be written down is tried again for a minute, whatever happens, and for an hour unless the gateway stops. */
const recordSoon = Pace.intersect(Pace.exponential("1 second"), Pace.recurs(6))
const recordLater = Pace.upTo(Pace.spaced("30 seconds"), "1 hour")

const isNobodyElses = ({ _tag }: ClaimLost | StateError): boolean => _tag !== "ClaimLost"

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const store = yield* JobStore
  const claims = yield* FireClaims
  const incidents = yield* Incidents
  const responses = yield* Responses
  const sessions = yield* SessionStore
  const transcript = yield* Transcript
  const turns = yield* TurnStore
  const database = yield* Database
  const activity = yield* Activity
  const redactor = yield* Redactor
  const milestone = yield* Milestone
  const ids = yield* Ids
  const fs = yield* FileSystem.FileSystem
  const work = yield* RunWork.make
  const post = yield* RunDelivery.make
  const rightedNotices = yield* RightedNotice.make(post)
  const documents = yield* RunDocument.make
  const retry = yield* RunRetry.make

  /** Nobody in person, a scheduled run by its marker; what it says goes to the job's targets. */
  const turnOf = (job: Job, run: string | null, route: Route, workingDirectory: string | null) =>
    Effect.map(
      ids.next("turn"),
      (id) =>
        new Turn.Turn(
          {
            id: Turn.TurnId.make(id),
            parent: null,
            depth: 0,
            identity: SessionIdentity.cleared,
            marker: CronMarker.cron({ job: job.id, run, createdBy: job.createdBy }),
            origin: DeliveryOrigin.targets(route.targets.map(({ address }) => address)),
            presence: Presence.nobody("cron"),
            asyncDelivery: false,
            workingDirectory
          },
          { disableValidation: true }
        )
    )

  const directoryOf = (job: Job) =>
    job.workdir === null
      ? Effect.succeed(null)
      : Effect.flatMap(
          Effect.orElseSucceed(fs.exists(job.workdir), () => false),
          (exists) =>
            exists
              ? Effect.succeed(job.workdir)
              : Effect.as(
                  Effect.logWarning("a job's directory is not there; it runs without").pipe(
                    Effect.annotateLogs({ job: job.id, workdir: job.workdir })
                  ),
                  null
                )
        )

  /** Whoever lost the occurrence does nothing more. */
  const gone = (error: ClaimLost, trace: RunWork.Trace) =>
    Effect.zipRight(
      Effect.sync(() => {
        trace.settled = true
      }),
      Effect.logWarning(error.message)
    )

  const recorded = (claim: FireClaim, ending: RunEnding, trace: RunWork.Trace, along?: Step<void>) =>
    Effect.tap(claims.record(claim, ending, along), () =>
      Effect.sync(() => {
        trace.settled = true
      })
    )

  const lastingly = (end: Effect.Effect<void, ClaimLost | StateError>): Effect.Effect<void, ClaimLost | StateError> =>
    Effect.retry(end, { schedule: recordSoon, while: isNobodyElses }).pipe(
      Effect.catchIf(isNobodyElses, () =>
        Effect.interruptible(Effect.retry(end, { schedule: recordLater, while: isNobodyElses }))
      )
    )

  /** A run whose end was not written would keep its job from running for ever. */
  const lastResort = (claim: FireClaim, trace: RunWork.Trace) =>
    Effect.suspend(() =>
      trace.settled
        ? Effect.void
        : lastingly(
            trace.close ??
              claims.record(claim, {
                status: "error",
                reason: "its end could not be recorded; see the log",
                error: "its end could not be recorded; see the log",
                deliveryError: null,
                streak: "failure",
                sessionId: trace.sessionId,
                output: null
              })
          ).pipe(
            Effect.catchTag("ClaimLost", (error) => gone(error, trace)),
            Effect.catchAll((error) => Effect.logError("a run stays open until the next start", error))
          )
    )

  /** The document of a run that said something or failed; it is there before anything else tells of it. */
  const saveDocument = (claim: FireClaim, stored: StoredJob, done: RunWork.Work, trace: RunWork.Trace) =>
    Effect.gen(function* () {
      if (done._tag === "Quiet") return null
      yield* milestone.reach("output.before")
      yield* claims.fenced(claim, "run.output", Effect.void)
      const text =
        done._tag === "Said"
          ? done.text
          : done._tag === "Failed"
            ? done.failure.detail
            : done._tag === "Blocked"
              ? done.reason
              : "it has nothing to do"
      const path = yield* documents
        .save({
          job: stored.job,
          runId: runId(claim.occurrence),
          startedAt: claim.startedAt,
          failed: done._tag !== "Said",
          prompt: trace.prompt,
          text
        })
        .pipe(
          Effect.catchAll((error) =>
            Effect.as(Effect.logWarning("the document of a run could not be written", error), null)
          )
        )
      yield* milestone.reach("output.saved")
      if ((yield* store.ofRun(stored.number))?.removed !== true) return path
      yield* Effect.catchAll(documents.discard(stored.job), (error) =>
        Effect.logWarning("the documents of a removed job could not be deleted", error)
      )
      return null
    })

  /** The steps that make a run's words durable: its answer, its use of the model, and the rows of its messages. */
  const speak = (
    claim: FireClaim,
    done: RunWork.Work,
    verdict: RunVerdict.Verdict,
    trace: RunWork.Trace,
    turn: Turn.Turn,
    letters: RunDelivery.Letters
  ) =>
    claims.fenced(
      claim,
      "run.answer",
      Effect.gen(function* () {
        if (done._tag === "Said") {
          if (!done.silent) yield* responses.save(claim, done.text)
          if (done.answer !== null && trace.sessionId !== null) {
            yield* done.answer.bookkeeping
            yield* transcript.append(trace.sessionId, turn.id, [
              { _tag: "assistant", text: done.text, reasoning: null, toolCalls: [], finishReason: "stop" }
            ])
            yield* turns.answering(turn.id)
          }
        }
        if (verdict.status !== "error" || verdict.error === null) return { rows: yield* letters.rows, incident: null }
        const incident = yield* incidents.note(claim.job, {
          kind: done._tag === "Failed" ? done.failure.kind : "other",
          error: verdict.error
        })
        return incident.acknowledged
          ? { rows: [], incident: null }
          : { rows: yield* letters.rows, incident: incident.id }
      })
    )

  const alongside = (
    stored: StoredJob,
    done: RunWork.Work,
    trace: RunWork.Trace,
    turn: Turn.Turn,
    plan: RunRetry.Plan,
    told: { readonly incident: string | null; readonly sent: boolean; readonly isOut: boolean }
  ): Step<void> =>
    Effect.gen(function* () {
      const { number } = stored
      const well = done._tag === "Said" || done._tag === "Quiet"
      if (trace.sessionId !== null) {
        yield* turns.end(turn.id, well ? "answered" : "failed")
        yield* sessions.end(trace.sessionId, well ? "complete" : "failed")
      }
      if (well) {
        yield* incidents.resolve(number)
        yield* store.dropRetries(number)
        if (done._tag === "Said" && stored.holdUntil !== null) yield* store.hold(number, null)
        if (stored.preflightAlerted) yield* store.setPreflightAlerted(number, false)
      }
      // A change is used up once its answer is out: until then the next run sees it again.
      if (trace.monitor !== null && done._tag === "Said" && told.isOut) yield* store.setMonitor(number, trace.monitor)
      if (done._tag === "Blocked" && !stored.preflightAlerted) yield* store.setPreflightAlerted(number, true)
      if (done._tag === "Empty") yield* store.setPaused(number, { reason: "it has nothing to do any more" })
      if (told.incident !== null && told.sent) yield* incidents.alerted(told.incident)
      yield* plan.step
    })

  const published = (job: Job, claim: FireClaim, status: string | null) =>
    Effect.flatMap(Clock.currentTimeMillis, (at) => {
      const run = { at, jobId: job.id, runId: runId(claim.occurrence), name: job.name }
      return activity.publish(
        status === null ? { _tag: "cron.started", ...run } : { _tag: "cron.ended", ...run, status }
      )
    })

  /** From what the work came to until it is recorded. What the run holds is held until this is over (decision 22). */
  const finish = (claim: FireClaim, stored: StoredJob, done: RunWork.Work, trace: RunWork.Trace, route: Route) =>
    Effect.gen(function* () {
      const { job } = stored
      const turn = yield* Turn.current
      const verdict = RunVerdict.of(done, redactor.text)
      const output = yield* saveDocument(claim, stored, done, trace)
      const plan = yield* retry(claim, stored, done)
      const words = RunVerdict.words(settings, stored, done, verdict, plan)
      const lane = words === null ? null : words.lane === "result" ? route : yield* post.failureRoute(job)
      const letters =
        words === null || lane === null
          ? RunDelivery.nothing
          : yield* post.write(
              runId(claim.occurrence),
              lane,
              words.text,
              words.lane === "result" ? { job, text: words.clean, directory: words.directory } : null
            )
      // What is written down is sent: an interruption comes before that, or the run ends as its messages stand.
      yield* Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const spoken = yield* speak(claim, done, verdict, trace, turn, letters)
          const problems = lane === null ? [] : RunDelivery.problemsOf(lane)
          const close = (sent: RunDelivery.Outcome) =>
            Effect.gen(function* () {
              const status = verdict.status === "ok" ? sent.status : verdict.status
              const reason = verdict.reason ?? sent.problem ?? sent.note
              yield* recorded(
                claim,
                {
                  ...verdict,
                  status,
                  reason,
                  deliveryError: sent.problem,
                  sessionId: trace.sessionId,
                  output
                },
                trace,
                alongside(stored, done, trace, turn, plan, {
                  incident: spoken.incident,
                  sent: spoken.rows.length > 0 && sent.status !== "delivery_failed",
                  isOut: sent.isOut
                })
              )
              yield* milestone.reach("record.after")
              yield* published(job, claim, status)
              if (status !== "ok" && status !== "delivery_queued")
                yield* Effect.logWarning(
                  `a run did not go well: ${status}${reason === null ? "" : `, ${reason}`}`
                ).pipe(Effect.annotateLogs({ job: job.id, name: job.name, run: runId(claim.occurrence) }))
            })
          const standing = post.standing(spoken.rows, problems)
          trace.close = Effect.flatMap(standing, close)
          const sent = yield* restore(post.send(spoken.rows, problems, letters.arrived)).pipe(
            Effect.catchAllCause((cause) =>
              Cause.isInterruptedOnly(cause)
                ? standing
                : Effect.zipRight(
                    Effect.logError("what became of a run's messages could not be written down", cause),
                    standing
                  )
            )
          )
          yield* close(sent)
        })
      )
    })

  /** What could not be worked out by itself: a bug, or a database that failed. It is recorded and told as a failure. */
  const broke = (
    claim: FireClaim,
    stored: StoredJob,
    cause: Cause.Cause<ClaimLost | StateError>,
    trace: RunWork.Trace,
    route: Route
  ) => {
    const error = Cause.squash(cause)
    if (error instanceof ClaimLost) return gone(error, trace)
    const logged = Effect.logError("a run broke", cause).pipe(Effect.annotateLogs({ job: stored.job.id }))
    // Its words are out: its end is all that is missing, and is written when it can be.
    if (trace.close !== null) return logged
    return Effect.zipRight(
      logged,
      finish(
        claim,
        stored,
        {
          _tag: "Failed",
          failure: { kind: "other", detail: error instanceof Error ? error.message : String(error) },
          reached: true,
          retryAfterMillis: null,
          mute: false
        },
        trace,
        route
      )
    )
  }

  /** A shutdown is recorded once, and told while there is time; whoever lost the occurrence does nothing more. */
  const interrupted = (claim: FireClaim, stored: StoredJob, trace: RunWork.Trace, control: RunControl) =>
    Effect.gen(function* () {
      const { job } = stored
      if (trace.settled) return
      if ((yield* control.interrupt) === "lost")
        return yield* gone(new ClaimLost({ occurrence: claim.occurrence }), trace)
      const turn = yield* Turn.current
      const reason = "the gateway was stopped while it ran"
      const text = FailureText.summary(job.name, { kind: "interrupted", detail: "it is not run again" }, true)
      const told = Effect.gen(function* () {
        const lane = yield* post.failureRoute(job)
        const letters = yield* post.write(`${runId(claim.occurrence)}:notice`, lane, text)
        return yield* post.send(
          yield* claims.fenced(claim, "run.interrupted", letters.rows),
          RunDelivery.problemsOf(lane)
        )
      }).pipe(Effect.disconnect, Effect.timeoutOption(lastWordsBound), Effect.option)
      yield* told
      yield* recorded(
        claim,
        {
          status: "interrupted",
          reason,
          error: reason,
          deliveryError: null,
          streak: "same",
          sessionId: trace.sessionId,
          output: null
        },
        trace,
        trace.sessionId === null
          ? Effect.void
          : Effect.zipRight(turns.end(turn.id, "interrupted"), sessions.end(trace.sessionId, "interrupted"))
      )
      yield* published(job, claim, "interrupted")
    }).pipe(
      Effect.catchTag("ClaimLost", (error) => gone(error, trace)),
      Effect.catchAll((error) => Effect.logError("an interrupted run could not be recorded", error))
    )

  const inTurn = (claim: FireClaim, stored: StoredJob, route: Route, control: RunControl, trace: RunWork.Trace) =>
    Effect.uninterruptible(
      Effect.gen(function* () {
        const blocked = route.targets.length === 0 && route.problems.length > 0 && settings.cron.preflight
        const body = Effect.gen(function* () {
          yield* published(stored.job, claim, null)
          yield* milestone.reach("run.started")
          const done: RunWork.Work = blocked
            ? { _tag: "Blocked", reason: `its result could go nowhere: ${RunDelivery.problemsOf(route).join("; ")}` }
            : yield* work(claim, stored, trace)
          yield* finish(claim, stored, done, trace, route)
        })
        const exit = yield* Effect.exit(Effect.interruptible(body))
        if (Exit.isSuccess(exit)) return
        if (Cause.isInterrupted(exit.cause)) return yield* interrupted(claim, stored, trace, control)
        const again = yield* Effect.exit(Effect.interruptible(broke(claim, stored, exit.cause, trace, route)))
        if (Exit.isFailure(again))
          yield* Cause.isInterrupted(again.cause)
            ? interrupted(claim, stored, trace, control)
            : Effect.logError("the end of a run could not be recorded", again.cause)
      })
    )

  const run = (claim: FireClaim, control: RunControl): Effect.Effect<void> => {
    const trace: RunWork.Trace = { sessionId: null, prompt: null, monitor: null, settled: false, close: null }
    return Effect.gen(function* () {
      const stored = yield* store.ofRun(claim.job)
      if (stored === null) return
      if (!stored.open) {
        // An edit of its schedule has ended it while it waited for its instant.
        trace.settled = true
        return
      }
      const unwanted = RunVerdict.unwanted(claim, stored)
      if (unwanted !== null) return yield* recorded(claim, unwanted, trace)
      const route = yield* post.route(stored.job)
      const turn = yield* turnOf(stored.job, runId(claim.occurrence), route, yield* directoryOf(stored.job))
      yield* Turn.cleared(Turn.enter(turn)(Effect.scoped(inTurn(claim, stored, route, control, trace))))
    }).pipe(
      Effect.catchTag("ClaimLost", (error) => gone(error, trace)),
      Effect.catchAll((error) => Effect.logError("a run could not be begun", error)),
      Effect.ensuring(lastResort(claim, trace))
    )
  }

  const notice = (job: Job, run: string | null, cause: string, lane: Route, text: string) =>
    Effect.flatMap(turnOf(job, run, lane, null), (turn) =>
      Turn.cleared(
        Turn.enter(turn)(
          Effect.gen(function* () {
            const letters = yield* post.write(cause, lane, text)
            yield* post.send(yield* database.write("run.notice", letters.rows), [])
          })
        )
      )
    )

  const tell = (claimed: Claimed, what: "missed" | "unknown"): Effect.Effect<void> =>
    Effect.gen(function* () {
      const stored = yield* store.ofRun(claimed.job)
      if (stored === null) return
      const { job } = stored
      const when = localTime(claimed.scheduledAt, stored.schedule?.timezone ?? settings.timezone)
      const text =
        what === "missed"
          ? `⚠ Job "${job.name}" did not run at ${when}: nobody could run it in time. It stays in the list; \`hermes cron resume ${job.id} --at …\` gives it another time.`
          : `⚠ Job "${job.name}" was running at ${when} when the gateway ended. Whether it acted is not known; it is not run again.`
      const lane = yield* post.failureRoute(job)
      const run = runId(claimed.occurrence)
      yield* notice(job, run, `${run}:notice`, lane, text)
    }).pipe(Effect.catchAll((error) => Effect.logError("the owner of a job could not be told", error)))

  const tellRighted = (righted: ReadonlyArray<Righted>): Effect.Effect<void> =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      for (const { job, lane, text } of yield* rightedNotices(righted))
        yield* notice(job, null, `clock:${job.id}:${now}`, lane, text)
    }).pipe(Effect.catchAll((error) => Effect.logError("the owner of jobs could not be told of the clock", error)))

  return JobRunner.of({ run, tell, tellRighted })
})

/** The firing path. It enters each run's own turn and leaves nothing of it behind. */
export const layer = Layer.effect(JobRunner, make)
