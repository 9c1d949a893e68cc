import { Effect } from "effect"

/** Waits until everything that has arrived at this process by now has been handed to its fibers. */
export const turn: Effect.Effect<void> = Effect.async((resume) => {
  // oxlint-disable-next-line fibers/no-ambient-time -- the end of an event loop's turn is no time: no clock moves it
  setImmediate(() => resume(Effect.void))
})

/** Calls back once everything that has arrived at this process by now has been handed to its fibers. */
export const afterTurn = (run: () => void): void => {
  // oxlint-disable-next-line fibers/no-ambient-time -- as above
  setImmediate(run)
}
