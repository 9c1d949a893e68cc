import { Clock, Effect, Schema } from "effect"

/** Nothing of the kind was recorded in time; `seen` is the end of what was. */
export class NotRecorded extends Schema.TaggedError<NotRecorded>()("NotRecorded", {
  waitedFor: Schema.String,
  seen: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const seen = this.seen.length === 0 ? "nothing" : `\n${this.seen.join("\n")}`
    return `waited in vain for ${this.waitedFor}; last recorded: ${seen}`
  }
}

/** What happened, in order, to look at and to wait for. The oldest entries leave beyond its capacity. */
export interface Recording<A> {
  readonly add: (entry: A) => void
  readonly all: Effect.Effect<ReadonlyArray<A>>
  /** Entries that were recorded at all, the ones that left included. */
  readonly count: Effect.Effect<number>
  readonly clear: Effect.Effect<void>
  /**
   * The first entry that fits (with `count`, the count-th), recorded or to come. Waits at most `seconds` (10) of the machine's time, not of a test
   * clock's: what is waited for may come over a socket.
   */
  readonly waitFor: (
    what: string,
    fits: (entry: A) => boolean,
    options?: { readonly seconds?: number; readonly count?: number }
  ) => Effect.Effect<A, NotRecorded>
}

interface Waiter<A> {
  readonly check: (entry: A) => boolean
}

export const make = <A>(show: (entry: A) => string, capacity = 20_000): Effect.Effect<Recording<A>> =>
  Effect.sync(() => {
    let entries: Array<A> = []
    let count = 0
    const waiters = new Set<Waiter<A>>()
    const found = (fits: (entry: A) => boolean, wanted: number): Effect.Effect<A> =>
      Effect.async((resume) => {
        let left = wanted
        const waiter: Waiter<A> = {
          check: (entry) => {
            if (!fits(entry)) return false
            left -= 1
            if (left > 0) return false
            waiters.delete(waiter)
            resume(Effect.succeed(entry))
            return true
          }
        }
        if (entries.some(waiter.check)) return
        waiters.add(waiter)
        return Effect.sync(() => waiters.delete(waiter))
      })
    return {
      add: (entry) => {
        count += 1
        entries.push(entry)
        if (entries.length >= 2 * capacity) entries = entries.slice(-capacity)
        for (const waiter of waiters) waiter.check(entry)
      },
      all: Effect.sync(() => entries.slice(-capacity)),
      count: Effect.sync(() => count),
      clear: Effect.sync(() => {
        entries = []
      }),
      waitFor: (what, fits, options) =>
        found(fits, options?.count ?? 1).pipe(
          Effect.timeoutFail({
            duration: `${options?.seconds ?? 10} seconds`,
            onTimeout: () => new NotRecorded({ waitedFor: what, seen: entries.slice(-10).map(show) })
          }),
          Effect.withClock(Clock.make())
        )
    }
  })
