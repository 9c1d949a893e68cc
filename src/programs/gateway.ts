/**
 * The gateway: one agent on a person's chats. `layer` is what it is, its edges open; `edges` is what it touches;
 * `gateway` is the two together (contract §6).
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer } from "effect"
import { homedir } from "node:os"
import { join } from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import * as AmbientEnvironment from "../fibers/AmbientEnvironment.js"
import * as Titles from "../layers/agent/Titles.js"
import * as BotChat from "../layers/botChat/Adapter.js"
import * as Redactor from "../layers/delivery/Redactor.js"
import * as HttpServer from "../layers/http/Server.js"
import * as Route from "../layers/models/Route.js"
import * as ConfigFile from "../layers/node/ConfigFile.js"
import * as HomeDirectory from "../layers/node/Home.js"
import * as Ids from "../layers/node/Ids.js"
import * as LogFile from "../layers/node/LogFile.js"
import * as Signals from "../layers/node/Signals.js"
import * as Figures from "../layers/operation/Figures.js"
import * as Health from "../layers/operation/Health.js"
import * as Lifecycle from "../layers/operation/Lifecycle.js"
import * as Readiness from "../layers/operation/Readiness.js"
import * as TurnLog from "../layers/operation/TurnLog.js"
import * as GatewayLock from "../layers/sqlite/GatewayLock.js"
import * as MediaRetention from "../layers/sqlite/MediaRetention.js"
import * as Retention from "../layers/sqlite/Retention.js"
import * as Search from "../layers/sqlite/Search.js"
import * as SearchIndex from "../layers/sqlite/SearchIndex.js"
import * as TelegramAdapter from "../layers/telegram/TelegramAdapter.js"
import * as WebAdapter from "../layers/web/Adapter.js"
import { ModelRoute } from "../services/agent/ModelRoute.js"
import { ApiServer } from "../services/api/ApiServer.js"
import { Config } from "../services/operation/Config.js"
import { Drain } from "../services/operation/Drain.js"
import { Home } from "../services/operation/Home.js"
import { Pause } from "../services/operation/Pause.js"
import { Restart } from "../services/operation/Restart.js"
import { Jobs } from "../services/schedule/Jobs.js"
import { Settings } from "../services/operation/Settings.js"
import { version } from "../services/operation/Version.js"
import { Database } from "../services/state/Database.js"
import { agency } from "./agency.js"
import * as Greeting from "./greeting.js"
import * as state from "./state.js"
import { scheduling } from "./scheduling.js"
import { stores } from "./stores.js"

/** What the gateway is: the agent, its conversations and its state. Needs what `edges.foundation` gives; surfaces go on top. */
export const layer = Layer.mergeAll(
  scheduling,
  Search.feeding,
  Titles.layer,
  Retention.layer,
  MediaRetention.layer
).pipe(
  Layer.provideMerge(agency),
  Layer.provideMerge(Search.layer),
  Layer.provideMerge(stores),
  Layer.provideMerge(Layer.mergeAll(Readiness.layer, Ids.layer))
)

const health = Layer.unwrapEffect(
  Effect.map(Effect.all([Jobs, ModelRoute, Database, Pause, Settings]), ([jobs, route, database, pause, settings]) =>
    Health.layer({
      version,
      timezone: settings.timezone,
      workingDirectory: settings.terminal.workingDirectory,
      database: Effect.map(database.wrong, (error) => error?.message ?? null),
      model: Health.modelOf(route),
      jobs: Effect.catchAll(jobs.summary, (error) =>
        Effect.as(Effect.logWarning("the jobs could not be counted", error), { scheduled: 0, next: null })
      ),
      paused: Effect.map(pause.current, (paused) => paused !== null)
    })
  )
)

/** What the gateway touches. A test exchanges `foundation` for a database in memory and a scripted model, and `surfaces` for one in memory. */
export const edges = {
  foundation: Layer.mergeAll(
    Layer.merge(Route.layer, Route.routes).pipe(Layer.provide(Ids.layer)),
    state.shared,
    Layer.unwrapEffect(Effect.map(Home, (home) => SearchIndex.layer({ file: home.searchIndex })))
  ),
  surfaces: (options: { readonly pageDirectory: string }) =>
    HttpServer.layer(options).pipe(
      Layer.provideMerge(health),
      Layer.provideMerge(Layer.mergeAll(TelegramAdapter.layer, WebAdapter.layer, BotChat.layer))
    )
}

/** Only one gateway a home: held before the database is opened, freed by the kernel however the process ends. */
const lock = Layer.unwrapEffect(
  Effect.map(Settings, (settings) =>
    GatewayLock.layer({ home: settings.home, lockDirectory: settings.gateway.lockDirectory })
  )
)

/** The machine: its environment, its files, its network. */
const machine = (options: Options) =>
  ConfigFile.complaints.pipe(
    Layer.provideMerge(LogFile.layer({ stderr: options.terminal ? "everything" : "failures" })),
    Layer.provideMerge(Redactor.layer),
    Layer.provideMerge(ConfigFile.layer),
    Layer.provideMerge(HomeDirectory.layer(options.home)),
    Layer.provideMerge(AmbientEnvironment.layer(options.environment)),
    Layer.provideMerge(Layer.mergeAll(NodeHttpServer.layerContext, FetchHttpClient.layer))
  )

export interface Options {
  readonly home: string
  /** The process environment, as found at start. */
  readonly environment: { readonly [name: string]: string | undefined }
  /** Is there a terminal to log to? */
  readonly terminal: boolean
  /** Where the built page lies. */
  readonly pageDirectory: string
}

/** The whole program as a layer: built, it runs; its scope closed, it has drained and ended. */
export const program = (options: Options) =>
  Lifecycle.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(TurnLog.layer, Figures.layer)),
    Layer.provideMerge(edges.surfaces(options)),
    Layer.provideMerge(layer),
    Layer.provideMerge(edges.foundation),
    Layer.provideMerge(lock),
    Layer.provideMerge(machine(options)),
    // Nobody reads spans here; their names stay in what a failure says.
    Layer.provide(Layer.setTracerEnabled(false))
  )

/** 0: all work ended; 1: some was cut; 75: start me again (contract §2). */
export type ExitCode = 0 | 1 | 75

/** A gateway that answers. */
export interface Started {
  readonly url: string
  readonly home: typeof Home.Service
  readonly settings: typeof Settings.Service
  /** What of the configuration is not used, where no log is shown. */
  readonly complaints: ReadonlyArray<string>
}

/** Runs the program until a signal, drains, and answers with the exit code. `ready` is told where it listens. */
export const run = <E, R>(options: Options, ready: (started: Started) => Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const drain = yield* Effect.scoped(
      Effect.gen(function* () {
        const context = yield* Layer.build(program(options))
        yield* ready({
          url: Context.get(context, ApiServer).url,
          home: Context.get(context, Home),
          settings: Context.get(context, Settings),
          complaints: options.terminal ? [] : Context.get(context, Config).issues.map((issue) => issue.text)
        })
        yield* Effect.raceFirst(Signals.stop, Context.get(context, Restart).due)
        return Context.get(context, Drain)
      })
    )
    const { restart, cut } = yield* drain.outcome
    return restart ? 75 : cut ? 1 : (0 satisfies ExitCode)
  })

/** The built page: beside the built programs, or in `dist` when they run from their sources. */
const builtPage = fileURLToPath(
  new URL(import.meta.url.includes("/src/programs/") ? "../../dist/page" : "../page", import.meta.url)
)

/** The composed program with everything at its default: `NodeRuntime.runMain(Programs.gateway)`. */
export const gateway = Effect.suspend(() => {
  // oxlint-disable-next-line fibers/no-process-env -- the composed program takes the environment it was started in, once
  const environment = process.env
  return run(
    {
      home: environment["HERMES_HOME"] || join(homedir(), ".hermes-effect"),
      environment,
      terminal: process.stderr.isTTY === true,
      pageDirectory: builtPage
    },
    (started) => Greeting.say(Greeting.of(started, { environment, terminal: process.stdout.isTTY === true }))
  )
}).pipe(
  Effect.tap((code) =>
    Effect.sync(() => {
      process.exitCode = code
    })
  ),
  Effect.asVoid
)
