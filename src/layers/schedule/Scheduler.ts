/**
 * The tick (cron-delivery.md 2.2, 2.3): sleeps until something is all but due, claims all of it at once, and starts it as
 * places come free. What is written for a run is on the disk before its instant, so that at the instant it only begins.
 */
import { Clock, Deferred, Effect, Layer, Mailbox, Random, Scope } from "effect"
import * as Nursery from "../../fibers/Nursery.js"
import * as Turn from "../../fibers/Turn.js"
import { ClockWatch } from "../../services/operation/ClockWatch.js"
import { Drain } from "../../services/operation/Drain.js"
import { Pause } from "../../services/operation/Pause.js"
import { Readiness } from "../../services/operation/Readiness.js"
import { Settings } from "../../services/operation/Settings.js"
import * as SharedMinute from "../../services/operation/SharedMinute.js"
import { Bell } from "../../services/schedule/Bell.js"
import { aheadMillis, type Claimed, type FireClaim, FireClaims } from "../../services/schedule/FireClaim.js"
import { JobRunner, type RunInterrupt } from "../../services/schedule/JobRunner.js"
import { JobStore, type Righted } from "../../services/schedule/JobStore.js"
import { Occurrences, type OccurrenceId, runId } from "../../services/schedule/Occurrence.js"
import { Scheduler } from "../../services/schedule/Scheduler.js"

const beatMillis = 60_000
/** After a failure of the database. */
const againMillis = 5_000
const pruneMillis = 6 * 3_600_000
const stopBound = "4 seconds"

/** What is started is unknown if the process dies, though it has not begun: so it is started as late as it can be. */
const startMillis = (count: number): number => Math.min(aheadMillis, 10 + count / 12)

const untilStart = (claimed: ReadonlyArray<Claimed>, now: number): number =>
  Math.min(...claimed.map(({ scheduledAt }) => scheduledAt)) - now - startMillis(claimed.length)

interface Running {
  readonly claim: FireClaim
  fiber: Turn.TurnFiber<void> | null
  interrupt: RunInterrupt
}

const make = Effect.gen(function* () {
  const claims = yield* FireClaims
  const runner = yield* JobRunner
  const store = yield* JobStore
  const occurrences = yield* Occurrences
  const bell = yield* Bell
  const drain = yield* Drain
  const pause = yield* Pause
  const readiness = yield* Readiness
  const settings = yield* Settings
  const clockWatch = yield* ClockWatch
  const scope = yield* Effect.scope

  const running = new Map<OccurrenceId, Running>()
  let queue: Array<Claimed> = []
  let stopped = false
  /** Found at boot, told when people can be reached. */
  let untold: ReadonlyArray<readonly [Claimed, "missed" | "unknown"]> = []
  const places = yield* Effect.acquireRelease(
    Mailbox.make<void>({ capacity: 1, strategy: "dropping" }),
    (mailbox) => mailbox.shutdown
  )
  const offered = Effect.asVoid(places.offer(undefined))
  const nursery = yield* Nursery.make

  const worker = <A, E>(self: Effect.Effect<A, E>) =>
    Effect.provideService(Turn.forkWorker<A, E, never>(self), Scope.Scope, scope)

  const tell = (list: ReadonlyArray<readonly [Claimed, "missed" | "unknown"]>) =>
    list.length === 0
      ? Effect.void
      : Effect.asVoid(worker(Effect.forEach(list, ([claimed, what]) => runner.tell(claimed, what), { discard: true })))

  const delay = settings.cron.jitterSeconds * 1_000
  const jitter =
    delay === 0 ? Effect.void : Effect.flatMap(Random.nextIntBetween(0, delay), (millis) => Effect.sleep(millis))

  /** A timer may ring a little early, and the clock may be set meanwhile: looked at again, and never waited for much longer. */
  const waitFor = (instant: number, looks = 3): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now >= instant || looks === 0
        ? Effect.void
        : Effect.zipRight(
            Effect.sleep(Math.min(aheadMillis, instant - now)),
            Effect.suspend(() => waitFor(instant, looks - 1))
          )
    )

  /** Until each instant of the batch, by one timer for all that wait for it. */
  const instants = Effect.fnUntraced(function* (batch: ReadonlyArray<FireClaim>) {
    const now = yield* Clock.currentTimeMillis
    const gates = new Map<number, Effect.Effect<void>>()
    for (const { startedAt } of batch) {
      if (startedAt <= now || gates.has(startedAt)) continue
      const gate = yield* Deferred.make<void>()
      yield* worker(Effect.zipRight(waitFor(startedAt), Deferred.succeed(gate, undefined)))
      gates.set(startedAt, Deferred.await(gate))
    }
    return gates
  })

  const launch = (claim: FireClaim, instant: Effect.Effect<void> | undefined, close: Effect.Effect<void>) =>
    Effect.suspend(() => {
      const entry: Running = { claim, fiber: null, interrupt: "shutdown" }
      running.set(claim.occurrence, entry)
      const ended = Effect.suspend(() => {
        running.delete(claim.occurrence)
        return Effect.zipRight(close, offered)
      })
      const run = runner.run(claim, { interrupt: Effect.sync(() => entry.interrupt) })
      // Once claimed it is run, if only to be recorded as interrupted.
      const waited = instant === undefined ? jitter : Effect.zipRight(instant, jitter)
      const certain =
        instant === undefined && delay === 0 ? run : Effect.zipRight(Effect.exit(Effect.interruptible(waited)), run)
      return Effect.map(Turn.forkCertain(nursery)(Effect.ensuring(certain, ended)), (fiber) => {
        entry.fiber = fiber
      })
    })

  /** Starts as many as there are places, all in one transaction; counted as work before anything of them happens. */
  const start = Effect.gen(function* () {
    const free = settings.cron.maxParallelJobs - running.size
    if (stopped || free <= 0 || queue.length === 0 || (yield* pause.current) !== null) return
    const next = queue.slice(0, free)
    const counted = new Map<OccurrenceId, Effect.Effect<void>>()
    for (const one of next) {
      const close = yield* Effect.either(drain.open("cron", runId(one.occurrence)))
      if (close._tag === "Left") break
      counted.set(one.occurrence, close.right)
    }
    const batch = next.filter((one) => counted.has(one.occurrence))
    if (batch.length === 0) return
    const started = yield* claims
      .start(batch)
      .pipe(Effect.onError(() => Effect.forEach(counted.values(), (close) => close, { discard: true })))
    queue = queue.slice(batch.length)
    const gates = yield* instants(started)
    yield* Effect.forEach(
      started,
      (claim) => {
        const close = counted.get(claim.occurrence) ?? Effect.void
        counted.delete(claim.occurrence)
        return launch(claim, gates.get(claim.startedAt), close)
      },
      { discard: true }
    )
    yield* Effect.forEach(counted.values(), (close) => close, { discard: true })
    if (queue.length > 0) yield* offered
  }).pipe(
    Effect.uninterruptible,
    Effect.catchAll((error) =>
      Effect.zipRight(
        Effect.logError("jobs that are due could not be started", error),
        Effect.zipRight(Effect.sleep(againMillis), offered)
      )
    )
  )

  const dispatcher = Effect.forever(
    Effect.zipRight(
      Effect.catchAll(places.take, () => Effect.never),
      start
    )
  )

  /** The wall clock went back, and the jobs do not know it yet. */
  let wentBack = false
  let righted: ReadonlyArray<Righted> = []
  const rightClock = Effect.gen(function* () {
    const moved = yield* store.rightClock(settings.timezone)
    wentBack = false
    if (moved.length === 0) return
    yield* Effect.logWarning(
      "the clock was ahead and has been put right: jobs that it had put off are due at their next time again"
    ).pipe(Effect.annotateLogs({ jobs: moved.length }))
    righted = righted.concat(moved)
  })
  const tellRighted = Effect.suspend(() => {
    const moved = righted
    righted = []
    return moved.length === 0 ? Effect.void : Effect.asVoid(worker(runner.tellRighted(moved)))
  })

  let beatAt = 0
  /** Rides on the tick, and is written only while something is held. */
  const beat = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (now - beatAt < beatMillis || (running.size === 0 && queue.length === 0)) return
    const lost = yield* claims.beat([...running.values()].map(({ claim }) => claim))
    beatAt = now
    for (const occurrence of lost) {
      const entry = running.get(occurrence)
      if (entry === undefined || entry.fiber === null) continue
      entry.interrupt = "lost"
      yield* Turn.interruptSoon(entry.fiber)
    }
  })

  let prunedAt = 0
  const prune = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    if (now - prunedAt < pruneMillis) return
    prunedAt = now
    yield* worker(
      occurrences.prune.pipe(Effect.catchAll((error) => Effect.logWarning("old runs could not be forgotten", error)))
    )
  })

  /** One tick; answers how long nothing is due, at most until what another process may have changed is looked for. */
  const tick = Effect.gen(function* () {
    const jump = yield* clockWatch.jumped
    if (jump !== 0)
      yield* Effect.logWarning("the clock jumped; what is due is judged by the new time").pipe(
        Effect.annotateLogs({ millis: jump })
      )
    if (jump < 0) {
      wentBack = true
      beatAt = 0
      prunedAt = 0
    }
    if (wentBack) {
      yield* rightClock
      yield* tellRighted
    }
    yield* beat
    if (stopped || (yield* drain.draining) !== null || (yield* pause.current) !== null) return yield* SharedMinute.wait
    const startsNow = settings.cron.maxParallelJobs > running.size + queue.length
    const { claimed, missed, ours } = yield* claims.claimDue(startsNow ? "soft" : "now")
    if (claimed.length > 0) {
      queue = queue.concat(claimed)
      const wait = untilStart(claimed, yield* Clock.currentTimeMillis)
      if (wait <= 0) yield* offered
      else yield* worker(Effect.zipRight(Effect.sleep(wait), offered))
    }
    yield* tell(missed.map((one) => [one, "missed"] as const))
    yield* prune
    const next = yield* claims.nextDue
    const now = yield* Clock.currentTimeMillis
    const longest = SharedMinute.untilNext(now)
    if (next === null) return longest
    const rest = next - aheadMillis - now
    if (rest > 0) return Math.min(longest, rest)
    if (claimed.length > 0 || missed.length > 0) return 0
    // Its run before goes on: that is judged at the instant, which may have come by now. No spinning on what is another's.
    return ours ? Math.max(0, next - now) : 1_000
  }).pipe(
    Effect.catchAll((error) =>
      Effect.as(Effect.logError("the scheduler could not look what is due", error), againMillis)
    ),
    Effect.catchAllDefect((defect) =>
      Effect.as(Effect.logError("the scheduler broke and goes on", defect), againMillis)
    )
  )

  const ticker = Effect.forever(
    Effect.flatMap(tick, (millis) => (millis <= 0 ? Effect.yieldNow() : bell.heardWithin(millis)))
  )

  yield* worker(
    Effect.zipRight(
      readiness.await,
      Effect.zipRight(
        Effect.suspend(() => Effect.zipRight(tell(untold), tellRighted)),
        Effect.zipRight(offered, ticker)
      )
    )
  )
  yield* worker(Effect.zipRight(readiness.await, dispatcher))
  yield* pause.whenLifted(Effect.zipRight(bell.ring, offered))

  return Scheduler.of({
    recover: Effect.gen(function* () {
      yield* store.rezone(settings.timezone)
      yield* rightClock
      const found = yield* claims.recover
      queue = queue.concat(found.claimed)
      untold = [
        ...found.missed.map((one) => [one, "missed"] as const),
        ...found.unknown.map((one) => [one, "unknown"] as const)
      ]
      return { resumed: found.claimed.length, unknown: found.unknown.length, missed: found.missed.length }
    }),
    running: Effect.sync(() => [...running.values()].map(({ claim }) => claim)),
    waiting: Effect.sync(() => queue.length),
    stop: Effect.gen(function* () {
      stopped = true
      const entries = [...running.values()]
      for (const { fiber } of entries) if (fiber !== null) yield* Turn.interruptSoon(fiber)
      yield* Effect.forEach(entries, ({ fiber }) => (fiber === null ? Effect.void : Turn.exit(fiber)), {
        concurrency: "unbounded",
        discard: true
      }).pipe(Effect.timeoutOption(stopBound))
      const left = queue
      queue = []
      yield* claims
        .release(left)
        .pipe(Effect.catchAll((error) => Effect.logWarning("claims could not be given back", error)))
    })
  })
})

/** In this process. Needs the home's lock held by whoever builds it: `recover` ends the leases of the gateway before. */
export const layer = Layer.scoped(Scheduler, make)
