import { Effect } from "effect"
import process from "node:process"

const nothing = (): void => undefined

/**
 * Keeps the signal from Node that opens a running process for a debugger: any program of the same user may send it,
 * and whoever is let in there answers for the owner.
 */
export const noDebugger: Effect.Effect<void> = Effect.sync(() => {
  if (!process.listeners("SIGUSR1").includes(nothing)) process.on("SIGUSR1", nothing)
})

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
