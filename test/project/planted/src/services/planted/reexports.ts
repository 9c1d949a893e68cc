// A banned thing under another roof would pass unseen by whoever imports it from here.
import { Effect, Stream } from "effect"
import { join as wait } from "effect/Fiber" // expect: no-raw-fiber

export { fork } from "effect/Effect" // expect: no-raw-fiber
export { cached as keep, map } from "effect/Effect" // expect: no-raw-sharing
export { Effect as E } from "effect" // expect: no-raw-fiber
export * from "effect/Effect" // expect: no-raw-fiber
export * as Fibers from "effect/Fiber" // expect: no-raw-fiber
export { Stream } // expect: no-raw-fiber
export const Renamed = Effect // expect: no-raw-fiber
export { wait }
export default Effect // expect: no-raw-fiber
