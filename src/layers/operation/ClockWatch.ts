import { Clock, Effect, Layer } from "effect"
import { ClockWatch } from "../../services/operation/ClockWatch.js"

/** Less is drift and rounding. */
const leastMillis = 1_000

/** Nanoseconds of the machine's own time, which is never set. */
const monotonic: Effect.Effect<number> = Effect.map(Clock.currentTimeNanos, (nanos) => Number(nanos / 1_000_000n))

/** Compares the wall clock with one that only goes forward. */
export const make = (steady: Effect.Effect<number>) =>
  Effect.gen(function* () {
    let wall = yield* Clock.currentTimeMillis
    let time = yield* steady
    return ClockWatch.of({
      jumped: Effect.gen(function* () {
        const nowWall = yield* Clock.currentTimeMillis
        const nowTime = yield* steady
        const jump = nowWall - wall - (nowTime - time)
        wall = nowWall
        time = nowTime
        return Math.abs(jump) < leastMillis ? 0 : Math.round(jump)
      })
    })
  })

export const layer: Layer.Layer<ClockWatch> = Layer.effect(ClockWatch, make(monotonic))

/** For clocks that only ever go as they are told. */
export const layerSteady: Layer.Layer<ClockWatch> = Layer.succeed(ClockWatch, { jumped: Effect.succeed(0) })
