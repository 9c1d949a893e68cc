/** The program behind the command: its arguments and environment, its signals, its exit code. */
import { makeRunMain } from "@effect/platform/Runtime"
import { Effect } from "effect"
import process from "node:process"
import * as AmbientEnvironment from "../fibers/AmbientEnvironment.js"
import * as Signals from "../layers/node/Signals.js"
import { note } from "./commands/output.js"
import { hermes } from "./hermes.js"
import * as Stdout from "./stdout.js"

const main = Effect.flatMap(hermes(process.argv.slice(2)), ({ code, text }) => {
  if (code !== 0) process.exitCode = code
  return text === null ? Effect.void : note(text)
})

/** A signal ends the command, unless a part of it listens itself: the gateway drains, a chat stops its turn. */
const runMain = makeRunMain(({ fiber, teardown }) => {
  let phase: "runs" | "stopped" | "over" = "runs"
  const interrupt = (signal: NodeJS.Signals): void => {
    if (process.listenerCount(signal) > 1) return
    process.exitCode = 1
    if (phase === "over") process.exit()
    phase = "stopped"
    fiber.unsafeInterruptAsFork(fiber.id())
  }
  process.on("SIGINT", interrupt)
  process.on("SIGTERM", interrupt)
  fiber.addObserver((exit) =>
    teardown(exit, (code) => {
      if (phase === "stopped") process.exit(code)
      phase = "over"
      Stdout.leave(code)
    })
  )
})

Stdout.whole()

runMain(
  // `never` holds the event loop, which not everything that is waited for does.
  Effect.raceFirst(Effect.zipRight(Signals.noDebugger, main), Effect.never).pipe(
    // oxlint-disable-next-line fibers/no-process-env -- the one place where the command takes its environment
    Effect.provide(AmbientEnvironment.layer(process.env))
  ),
  {
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (_exit, onExit) => onExit(Number(process.exitCode ?? 0))
  }
)
