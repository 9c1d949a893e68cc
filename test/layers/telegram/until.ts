import { Effect } from "effect"

/** Of the machine's time: what is waited for comes over a socket. */
const patienceMillis = 10_000

/** Waits for `self` to fit, turn by turn of the event loop and without a sleep; dies when it never does. */
export const until = <A, E, R>(
  what: string,
  self: Effect.Effect<A, E, R>,
  fits: (value: A) => boolean
): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const begun = performance.now()
    while (performance.now() - begun < patienceMillis) {
      const value = yield* self
      if (fits(value)) return value
      yield* Effect.promise(() => new Promise(setImmediate))
    }
    return yield* Effect.dieMessage(`it never became true: ${what}`)
  })

/** Lets everything that is on its way over loopback arrive. */
export const settle: Effect.Effect<void> = Effect.promise(async () => {
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate)
})
