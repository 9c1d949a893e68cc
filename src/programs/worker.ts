/**
 * A child process that does one piece of care for a database: a request on stdin, its outcome on stdout. A signal that is
 * meant for its parent's terminal does not cut it off in the middle; its parent kills it when nobody waits any more.
 */
import { makeRunMain } from "@effect/platform/Runtime"
import { Console, Effect } from "effect"
import process from "node:process"
import { text } from "node:stream/consumers"
import { handle } from "../layers/sqlite/care/Care.js"
import { leave } from "./stdout.js"

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => undefined)

const runMain = makeRunMain(({ fiber, teardown }) => fiber.addObserver((exit) => teardown(exit, leave)))

runMain(
  Effect.promise(() => text(process.stdin)).pipe(
    Effect.flatMap(handle),
    Effect.flatMap((outcome) => Console.log(outcome)),
    // It holds the event loop, which not everything that is waited for does.
    Effect.raceFirst(Effect.never)
  )
)
