/** Ends a run that makes no progress: it is silence that counts, not how long it takes (cron-delivery.md 3.10). */
import { Clock, Duration, Effect, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import { Activity, type ActivityEvent } from "../../services/operation/Activity.js"

/** The agent did nothing for too long. */
export class Inactive extends Schema.TaggedError<Inactive>()("Inactive", {
  idleSeconds: Schema.Number,
  limitSeconds: Schema.Number,
  last: Schema.String
}) {
  override get message(): string {
    return `nothing happened for ${this.idleSeconds} s (limit ${this.limitSeconds} s, cron.inactivity_timeout); last: ${this.last}`
  }
}

export interface Watched {
  /** Did a model answer at all, in however few words? */
  readonly reached: () => boolean
}

const isProgress = (event: ActivityEvent): boolean =>
  event._tag === "text.delta" ||
  event._tag === "text.segment" ||
  event._tag === "tool.started" ||
  event._tag === "tool.settled" ||
  event._tag === "delegate.started" ||
  event._tag === "delegate.ended"

/** Runs `self`, whose turn is `turnId`, and ends it when neither it nor a delegate of it does anything for `limitSeconds`; 0 never does. */
export const guard =
  (activity: typeof Activity.Service, turnId: string, limitSeconds: number) =>
  <A, E>(self: (watched: Watched) => Effect.Effect<A, E, CurrentTurn>): Effect.Effect<A, E | Inactive, CurrentTurn> =>
    Effect.scoped(
      Effect.gen(function* () {
        const turns = new Set([turnId])
        let last = yield* Clock.currentTimeMillis
        let what = "it began"
        let reached = false
        // Told by whoever publishes, so a delegate is known before it does anything.
        const feed = yield* activity.watch((event) => {
          if (!("turnId" in event) || event.turnId === undefined || !turns.has(event.turnId) || !isProgress(event))
            return false
          if (event._tag === "delegate.started") turns.add(event.childTurnId)
          reached = true
          return true
        })
        const note = Effect.forever(
          Effect.flatMap(feed.take, (events) =>
            Effect.sync(() => {
              const event = events.at(-1)
              if (event === undefined) return
              last = Math.max(last, event.at)
              what = event._tag
            })
          )
        )
        const wait: Effect.Effect<never, Inactive> = Effect.gen(function* () {
          for (;;) {
            const idle = (yield* Clock.currentTimeMillis) - last
            const left = limitSeconds * 1_000 - idle
            if (left <= 0)
              return yield* new Inactive({ idleSeconds: Math.round(idle / 1_000), limitSeconds, last: what })
            yield* Effect.sleep(Duration.millis(left))
          }
        })
        const running = self({ reached: () => reached })
        return yield* limitSeconds === 0 ? running : Effect.raceFirst(running, Effect.raceFirst(note, wait))
      })
    )
