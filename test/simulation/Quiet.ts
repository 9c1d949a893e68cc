/** Waiting without spinning: real I/O and everything that follows from it gets its time before the clock goes on. */
import { Effect } from "effect"
import process from "node:process"
import type { SimulatedClock } from "./SimulatedClock.js"

/** One turn of the event loop. */
const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Real time, for threads: the fiber that waits may have a world's clock, which nobody moves meanwhile. */
export const breath: Effect.Effect<void> = Effect.async<void>((resume) => {
  setTimeout(() => resume(Effect.void), 50)
})

/** Code that is being compiled: Node names no resource for it, and the parser of commands is loaded when it is first needed. */
let compiling = 0
const watched =
  <Arguments extends ReadonlyArray<never>, A>(compile: (...all: Arguments) => Promise<A>) =>
  (...all: Arguments): Promise<A> => {
    compiling += 1
    return compile(...all).finally(() => {
      compiling -= 1
    })
  }
Object.assign(WebAssembly, {
  compile: watched(WebAssembly.compile),
  instantiate: watched(WebAssembly.instantiate)
})

const works = new Set(["FSReqCallback", "FSReqPromise", "CloseReq", "ProcessWrap", "Immediate", "GetAddrInfoReqWrap"])

const isBusy = (): boolean => compiling > 0 || process.getActiveResourcesInfo().some((name) => works.has(name))

/** As many turns of the event loop in a row must bring nothing new. */
const still = 3
/** Turns made for what is under way; what takes longer, such as a process, is waited for by the millisecond. */
const keen = 100
/** Real time, for what no turn of the event loop tells of. */
export const moment: Effect.Effect<void> = Effect.async<void>((resume) => {
  setTimeout(() => resume(Effect.void), 1)
})
/** Seconds, when something hangs. */
const most = 4_000

/** Until nothing happens any more at this instant. `passed` counts what does. */
export const settle = (passed: () => number): Effect.Effect<void> =>
  Effect.gen(function* () {
    let seen = passed()
    let quiet = 0
    let busily = 0
    for (let count = 0; quiet < still && count < most; count++) {
      yield* busily < keen ? turn : moment
      const now = passed()
      const busy = isBusy()
      busily = busy ? busily + 1 : 0
      quiet = now === seen && !busy ? quiet + 1 : 0
      seen = now
    }
  })

/** Steps of a long time. */
const steps = 40

/** Lets `millis` pass, from one sleeper's hour to the next; over a long time several are woken at once. */
export const pass = (
  clock: SimulatedClock,
  millis: number,
  passed: () => number,
  isOver: () => boolean = () => false
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const grain = Math.max(250, millis / steps)
    for (let left = millis; ;) {
      yield* settle(passed)
      if (isOver() || left <= 0) return
      const ahead = Math.min(left, Math.max(clock.next ?? left, grain))
      clock.pass(ahead)
      left -= ahead
    }
  })
