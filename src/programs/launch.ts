/**
 * How a gateway starts: the front door first, so that it can be asked after a part of the time, then the house behind
 * it. The house is loaded while the door is open, a piece at a time.
 */
import { Context, Effect, Layer, Logger } from "effect"
import { homedir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import * as EventLoop from "../layers/node/EventLoop.js"
import * as Signals from "../layers/node/Signals.js"
import { ApiServer } from "../services/api/ApiServer.js"
import { Config } from "../services/operation/Config.js"
import { Drain } from "../services/operation/Drain.js"
import { GatewayLease } from "../services/operation/GatewayLease.js"
import { Home } from "../services/operation/Home.js"
import { Restart } from "../services/operation/Restart.js"
import { Settings } from "../services/operation/Settings.js"
import * as Ending from "./ending.js"
import { frontDoor, type Options } from "./frontDoor.js"

/** What is loaded without a turn of the event loop in between holds `/health` up for as long as it takes. */
const pieces: ReadonlyArray<() => Promise<unknown>> = [
  () => import("../services/schedule/Jobs.js"),
  () => import("../services/api/Api.js"),
  () => import("./stores.js"),
  () => import("./tools.js"),
  () => import("./agency.js")
]

const house = (options: Options) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      for (const piece of pieces) {
        yield* EventLoop.turn
        yield* Effect.promise(piece)
      }
      yield* EventLoop.turn
      const gateway = yield* Effect.promise(() => import("./gateway.js"))
      return gateway.house(options)
    })
  )

/** The whole program as a layer: built, it runs; its scope closed, it has drained and ended. */
export const program = (options: Options) =>
  house(options).pipe(
    Layer.provideMerge(frontDoor(options)),
    // Nobody reads spans here; their names stay in what a failure says.
    Layer.provide(Layer.setTracerEnabled(false))
  )

/** 0: all work ended; 1: some was cut; 75: start me again (contract §2). */
export type ExitCode = 0 | 1 | 75

/** The home is another gateway's (decision 2). */
const inUse = 78

/** A gateway that answers. */
export interface Started {
  readonly url: string
  readonly home: typeof Home.Service
  readonly settings: typeof Settings.Service
  /** What of the configuration is not used, where no log is shown. */
  readonly complaints: ReadonlyArray<string>
}

/**
 * Ends the process as a `kill -9` would once the home is another gateway's: what ended in order would be written over
 * what that one has taken up since.
 */
const dispossessed = Effect.gen(function* () {
  const lease = yield* GatewayLease
  const { directory } = yield* Home
  yield* lease.lost
  yield* Effect.logError(`another gateway has taken ${directory}, as of a gateway that was dead; this one ends at once`)
  yield* EventLoop.turn
  yield* Effect.sync(() => process.exit(inUse))
})

/** Runs the program as `run` does; `late` when something of it was still ending when its time was up. */
const life = <E, R>(options: Options, ready: (started: Started) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    yield* Signals.noDebugger
    const { late, value: drain } = yield* Ending.scoped(
      Effect.gen(function* () {
        const context = yield* Effect.raceFirst(Layer.build(program(options)), Effect.as(Signals.stop, null))
        if (context === null) return null
        yield* ready({
          url: Context.get(context, ApiServer).url,
          home: Context.get(context, Home),
          settings: Context.get(context, Settings),
          complaints: options.terminal ? [] : Context.get(context, Config).issues.map((issue) => issue.text)
        })
        yield* Effect.raceFirst(
          Effect.raceFirst(Signals.stop, Context.get(context, Restart).due),
          Effect.provide(dispossessed, context)
        )
        return Context.get(context, Drain)
      })
    )
    const { restart, cut } = drain === null ? { restart: false, cut: false } : yield* drain.outcome
    const code: ExitCode = late ? 1 : restart ? 75 : cut ? 1 : 0
    return { code, late }
  })

/**
 * Runs the program until a signal, drains, and answers with the exit code: 34 seconds after the signal at the latest,
 * with 1 when something was still ending then. A signal that comes while it starts ends the start: nothing was taken in,
 * so nothing is cut.
 */
export const run = <E, R>(options: Options, ready: (started: Started) => Effect.Effect<void, E, R>) =>
  Effect.map(life(options, ready), ({ code }) => code)

/** Says on the streams of this process that the gateway is ready. */
export const greet = (started: Started, environment: Options["environment"]) =>
  Effect.flatMap(
    Effect.promise(() => import("./greeting.js")),
    (Greeting) => Greeting.say(Greeting.of(started, { environment, terminal: process.stdout.isTTY === true }))
  )

/** The built page: beside the built programs, or in `dist` when they run from their sources. */
const builtPage = fileURLToPath(
  new URL(import.meta.url.includes("/src/programs/") ? "../../dist/page" : "../page", import.meta.url)
)

/** The composed program with everything at its default: `NodeRuntime.runMain(Programs.gateway)`. */
export const gateway = Effect.suspend(() => {
  // oxlint-disable-next-line fibers/no-process-env -- the composed program takes the environment it was started in, once
  const environment = process.env
  return life(
    {
      home: environment["HERMES_HOME"] || join(homedir(), ".hermes-effect"),
      environment,
      terminal: process.stderr.isTTY === true,
      pageDirectory: builtPage
    },
    (started) => greet(started, environment)
  )
}).pipe(
  Effect.flatMap(({ code, late }) =>
    Effect.sync(() => {
      process.exitCode = code
      if (late) process.exit()
    })
  ),
  // What runs a program puts a logger of its own beside the program's, and that one does not know what is secret.
  Effect.provide(Logger.remove(Logger.prettyLoggerDefault))
)
