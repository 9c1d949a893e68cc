import { Clock, Effect, Layer } from "effect"
import { ClockWatch } from "../../services/operation/ClockWatch.js"
import * as SteadyTime from "../../services/operation/SteadyTime.js"

/** Less is drift and rounding. */
const leastMillis = 1_000

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

export const layer: Layer.Layer<ClockWatch> = Layer.effect(ClockWatch, make(SteadyTime.now))
