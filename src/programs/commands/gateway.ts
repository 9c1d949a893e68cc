import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Clock, Effect, Option, Schema } from "effect"
import process from "node:process"
import { fileURLToPath } from "node:url"
import * as StderrLog from "../../layers/terminal/StderrLog.js"
import { Instant } from "../../services/operation/Instant.js"
import * as ServiceManager from "../../layers/node/service/Manager.js"
import * as StartBrake from "../../layers/node/service/StartBrake.js"
import { Ended, failed } from "./failure.js"
import { Invocation } from "./invocation.js"
import { answer, moment } from "./output.js"
import { running } from "./owner.js"
import * as service from "./service.js"

/** The built page lies beside the folder of the built command. */
const pageDirectory = fileURLToPath(new URL("../page", import.meta.url))

const port = Options.integer("port").pipe(
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
    const [gateway, Greeting] = yield* Effect.promise(() =>
      Promise.all([import("../gateway.js"), import("../greeting.js")])
    )
    yield* StartBrake.hold(home)
    const once = gateway.run(
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
      (started) => Greeting.say(Greeting.of(started, { environment, terminal: process.stdout.isTTY === true }))
    )
    const code = yield* Effect.repeat(once, { while: (ended) => options.keep && ended === 75 })
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

const State = Schema.Struct({
  running: Schema.Boolean,
  state: Schema.NullOr(Schema.Literal("ok", "draining")),
  pid: Schema.NullOr(Schema.Int),
  url: Schema.NullOr(Schema.String),
  version: Schema.NullOr(Schema.String),
  startedAt: Schema.NullOr(Instant)
})

const status = Command.make("status", {}, () =>
  Effect.gen(function* () {
    const gateway = yield* running
    const { pid, url, startedAt } = gateway?.address ?? { pid: null, url: null, startedAt: null }
    yield* answer(
      State,
      {
        running: gateway !== null,
        state: gateway?.health.status ?? null,
        pid,
        url,
        version: gateway?.health.version ?? null,
        startedAt
      },
      (state) =>
        state.running
          ? [
              `The gateway ${state.state === "draining" ? "is shutting down" : "runs"} at ${state.url} (version ${state.version}, process ${state.pid}, since ${moment(state.startedAt)}).`
            ]
          : ["No gateway runs on this home."]
    )
    if (gateway === null) return yield* new Ended({ code: 1, text: null })
  })
).pipe(Command.withDescription("Does a gateway run on this home? Exit code 1 when none does."))

/** A drain ends within 35 s. */
const stopPatienceMillis = 40_000

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

const Stopped = Schema.Struct({ stopped: Schema.Boolean, pid: Schema.NullOr(Schema.Int) })

const stop = Command.make("stop", {}, () =>
  Effect.gen(function* () {
    const gateway = yield* running
    if (gateway === null)
      return yield* answer(Stopped, { stopped: false, pid: null }, () => ["No gateway runs on this home."])
    const { pid } = gateway.address
    const asked = (yield* gateway.status).gateway.pid
    if (asked !== pid)
      return yield* failed(`the gateway at ${gateway.address.url} is process ${asked}, not ${pid} as its home says`)
    const { environment, home } = yield* Invocation
    const looksAfterIt = yield* ServiceManager.looksAfter(environment, home)
    yield* looksAfterIt
      ? Effect.mapError(ServiceManager.stop(environment), (error) => failed(error.message))
      : Effect.try({
          try: () => process.kill(pid, "SIGTERM"),
          catch: (error) =>
            failed(`process ${pid} cannot be stopped: ${error instanceof Error ? error.message : String(error)}`)
        })
    const deadline = (yield* Clock.currentTimeMillis) + stopPatienceMillis
    while (isAlive(pid)) {
      if ((yield* Clock.currentTimeMillis) > deadline)
        return yield* failed(`process ${pid} is still there after ${stopPatienceMillis / 1_000} s`)
      yield* Effect.sleep(50)
    }
    yield* answer(Stopped, { stopped: true, pid }, () => [`The gateway (process ${pid}) has ended.`])
  })
).pipe(Command.withDescription("Ends the gateway of this home and waits until it is gone (40 s at most)."))

export const command = gateway.pipe(
  Command.withDescription("The gateway itself; `hermes gateway` alone runs it."),
  Command.withSubcommands([runCommand, status, stop, service.restart, service.install, service.uninstall])
)
