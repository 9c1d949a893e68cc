/**
 * The clock of a world. Two times: the steady one, by which sleepers wait and which only passes, and the wall's, which
 * somebody may set. It stands still until it is told to go on.
 */
import { Clock, Duration, Effect } from "effect"

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

export class SimulatedClock implements Clock.Clock {
  readonly [Clock.ClockTypeId]: Clock.ClockTypeId = Clock.ClockTypeId
  private steady = 0
  private wall: number
  private readonly sleepers = new Set<Sleeper>()

  constructor(wall: number) {
    this.wall = wall
  }

  unsafeCurrentTimeMillis(): number {
    return this.wall
  }

  unsafeCurrentTimeNanos(): bigint {
    return BigInt(Math.round(this.steady)) * 1_000_000n
  }

  readonly currentTimeMillis = Effect.sync(() => this.unsafeCurrentTimeMillis())
  readonly currentTimeNanos = Effect.sync(() => this.unsafeCurrentTimeNanos())

  sleep(duration: Duration.Duration): Effect.Effect<void> {
    return Effect.async<void>((resume) => {
      const millis = Duration.toMillis(duration)
      if (millis <= 0) return resume(Effect.void)
      const sleeper = { at: this.steady + millis, wake: () => resume(Effect.void) }
      this.sleepers.add(sleeper)
      return Effect.sync(() => void this.sleepers.delete(sleeper))
    })
  }

  /** Milliseconds until the next sleeper wakes; null when nobody sleeps. */
  get next(): number | null {
    let least = Number.POSITIVE_INFINITY
    for (const { at } of this.sleepers) if (at < least) least = at
    return least === Number.POSITIVE_INFINITY ? null : Math.max(0, least - this.steady)
  }

  get sleeping(): number {
    return this.sleepers.size
  }

  /** Time passes; whoever has slept long enough wakes, in the order of their hours. */
  pass(millis: number): void {
    this.steady += millis
    this.wall += millis
    const due = [...this.sleepers].filter(({ at }) => at <= this.steady).sort((one, other) => one.at - other.at)
    for (const sleeper of due) {
      this.sleepers.delete(sleeper)
      sleeper.wake()
    }
  }

  /** Somebody sets the wall's clock. */
  set(byMillis: number): void {
    this.wall += byMillis
  }
}
