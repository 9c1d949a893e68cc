import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Option, Schema } from "effect"
import process from "node:process"
import { fileURLToPath } from "node:url"
import * as Turn from "../../fibers/Turn.js"
import * as StderrLog from "../../layers/terminal/StderrLog.js"
import * as StartBrake from "../../layers/node/service/StartBrake.js"
import { Ended } from "./failure.js"
import { Invocation } from "./invocation.js"

/** The built page lies beside the folder of the built command. */
const pageDirectory = fileURLToPath(new URL("../page", import.meta.url))

const port = Options.integer("port").pipe(
  Options.withSchema(
    Schema.Int.pipe(Schema.between(0, 65_535, { message: () => "--port is a number from 0 to 65535" }))
  ),
  Options.withDescription("The port of the page and the API (API_SERVER_PORT; default 8642); 0 takes a free one."),
  Options.optional
)
const host = Options.text("host").pipe(
  Options.withDescription("The address to listen on (API_SERVER_HOST); other than loopback needs allowed_hosts."),
  Options.optional
)

/** What the options say wins over the environment, and the environment over the file. */
const overrides = (options: { readonly [name: string]: Option.Option<string | number> }) =>
  Object.fromEntries(
    Object.entries(options).flatMap(([name, value]) => (Option.isSome(value) ? [[name, String(value.value)]] : []))
  )

const keep = Options.boolean("keep").pipe(
  Options.withDescription("Begins again by itself after a restart on request, instead of ending with code 75.")
)

interface RunOptions {
  readonly port: Option.Option<number>
  readonly host: Option.Option<string>
  readonly keep: boolean
}

const run = (options: RunOptions) =>
  Effect.gen(function* () {
    const { home, environment, logLevel } = yield* Invocation
    const launch = yield* Effect.promise(() => import("../launch.js"))
    yield* StartBrake.hold(home)
    const once = launch.run(
      {
        home,
        environment: {
          ...environment,
          ...overrides({
            API_SERVER_PORT: options.port,
            API_SERVER_HOST: options.host,
            HERMES_LOG_LEVEL: Option.map(Option.fromNullable(logLevel), (level) => level._tag.toLowerCase())
          })
        },
        terminal: process.stderr.isTTY === true,
        pageDirectory
      },
      (started) => launch.greet(started, environment)
    )
    // Each life in a fiber of its own: what one sets there, as its log, ends with it.
    const life = Effect.scoped(Effect.flatMap(Turn.forkWorker(once), Turn.result))
    const code = yield* Effect.repeat(life, { while: (ended) => options.keep && ended === 75 })
    if (code !== 0) return yield* new Ended({ code, text: null })
  }).pipe(Effect.provide(StderrLog.removed))

/** `hermes gateway` alone runs it, too; what stands before `run` counts unless it is said again. */
const gateway = Command.make("gateway", { port, host, keep }, run)

const runCommand = Command.make("run", { port, host, keep }, (own) =>
  Effect.flatMap(gateway, (outer) =>
    run({
      port: Option.orElse(own.port, () => outer.port),
      host: Option.orElse(own.host, () => outer.host),
      keep: own.keep || outer.keep
    })
  )
).pipe(Command.withDescription("Runs the gateway until SIGINT or SIGTERM, then lets its work end (35 s at most)."))

/** What is said to a gateway from outside is in chunks of its own, so that its start does not load it. */
const status = Command.make("status", {}, () =>
  Effect.flatten(Effect.promise(async () => (await import("./gateway/outside.js")).status))
).pipe(Command.withDescription("Does a gateway run on this home? Exit code 1 when none does."))

const stop = Command.make("stop", {}, () =>
  Effect.flatten(Effect.promise(async () => (await import("./gateway/outside.js")).stop))
).pipe(Command.withDescription("Ends the gateway of this home and waits until it is gone (40 s at most)."))

const restart = Command.make("restart", {}, () =>
  Effect.flatten(Effect.promise(async () => (await import("./gateway/service.js")).restart))
).pipe(Command.withDescription("Starts the gateway again when what runs has ended, and waits until it is back."))

const install = Command.make("install", {}, () =>
  Effect.flatten(Effect.promise(async () => (await import("./gateway/service.js")).install))
).pipe(Command.withDescription("Has systemd (launchd on macOS) run the gateway of this home, now and from now on."))

const uninstall = Command.make("uninstall", {}, () =>
  Effect.flatten(Effect.promise(async () => (await import("./gateway/service.js")).uninstall))
).pipe(Command.withDescription("Ends the service and takes it away; the home stays."))

export const command = gateway.pipe(
  Command.withDescription("The gateway itself; `hermes gateway` alone runs it."),
  Command.withSubcommands([runCommand, status, stop, restart, install, uninstall])
)
