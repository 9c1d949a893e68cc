import { Effect } from "effect"
import process from "node:process"

export type StopSignal = "SIGINT" | "SIGTERM"

/** Waits for the first signal to stop. Until the scope of the wait ends a second one does nothing: the end is under way. */
export const stop: Effect.Effect<StopSignal> = Effect.async<StopSignal>((resume) => {
  const heard = (signal: StopSignal): void => resume(Effect.succeed(signal))
  process.on("SIGINT", heard)
  process.on("SIGTERM", heard)
  return Effect.sync(() => {
    process.off("SIGINT", heard)
    process.off("SIGTERM", heard)
  })
})
