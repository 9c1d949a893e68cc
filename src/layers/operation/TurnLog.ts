/** A line of the log for each turn's beginning and end: whose, how it ended and how long it took, and nothing that was said. */
import { Effect, Layer } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { Activity, type ActivityEvent } from "../../services/operation/Activity.js"

type Told = Extract<ActivityEvent, { readonly _tag: "turn.started" | "turn.ended" }>

const isTold = (event: ActivityEvent): event is Told => event._tag === "turn.started" || event._tag === "turn.ended"

/** Turns whose beginning is remembered; one that breaks off without an end is forgotten with the oldest. */
const remembered = 1_024

const make = Effect.gen(function* () {
  const feed = yield* (yield* Activity).watch(isTold)
  const startedAt = new Map<string, number>()

  const begun = (event: Extract<Told, { readonly _tag: "turn.started" }>) => {
    startedAt.set(event.turnId, event.at)
    const [oldest] = startedAt.keys()
    if (startedAt.size > remembered && oldest !== undefined) startedAt.delete(oldest)
    return Effect.logInfo("a turn begins").pipe(
      Effect.annotateLogs({
        turn: event.turnId,
        session: event.sessionId,
        ...(event.platform === "" ? {} : { platform: event.platform }),
        ...(event.parentTurnId === null ? {} : { parent: event.parentTurnId })
      })
    )
  }

  const ended = (event: Extract<Told, { readonly _tag: "turn.ended" }>) => {
    const began = startedAt.get(event.turnId)
    startedAt.delete(event.turnId)
    const facts = {
      session: event.sessionId,
      outcome: event.outcome,
      ...(event.notice === undefined ? {} : { notice: event.notice })
    }
    return began === undefined
      ? Effect.logInfo("a message needed no turn").pipe(Effect.annotateLogs({ event: event.turnId, ...facts }))
      : Effect.logInfo("a turn ended").pipe(
          Effect.annotateLogs({ turn: event.turnId, ...facts, millis: event.at - began })
        )
  }

  const tell = Effect.flatMap(feed.take, (events) =>
    Effect.forEach(events.filter(isTold), (event) => (event._tag === "turn.started" ? begun(event) : ended(event)), {
      discard: true
    })
  )
  yield* Turn.forkWorker(Effect.forever(tell))
  // The worker was woken before this yields, so the last turn's end is told too.
  yield* Effect.addFinalizer(() => Effect.yieldNow())
})

/** Logs at level info, beside the turns and never in their way; where nobody reads that, nothing is woken for it. */
export const layer: Layer.Layer<never, never, Activity> = Layer.scopedDiscard(Effect.whenLogLevel(make, "Info"))
