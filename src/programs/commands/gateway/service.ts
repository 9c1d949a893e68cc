/** The gateway as a service of this machine's user: `gateway install`, `uninstall` and `restart`. */
import { Clock, Effect, Schema } from "effect"
import process from "node:process"
import { fileURLToPath } from "node:url"
import * as Client from "../../../layers/http/Client.js"
import * as LocalHttp from "../../../layers/node/LocalHttp.js"
import * as ServiceManager from "../../../layers/node/service/Manager.js"
import { Config } from "../../../services/operation/Config.js"
import { Ended, failed } from "../failure.js"
import { workWords } from "../work.js"
import { Invocation } from "../invocation.js"
import { answer, note } from "../output.js"
import { holder } from "../holder.js"
import { running, silent } from "../owner.js"
import { ownerOnly } from "../ownerOnly.js"
import { settled } from "../settled.js"

/** The built command, which lies beside this chunk. */
const builtCommand = fileURLToPath(new URL("./hermes.js", import.meta.url))

const Installed = Schema.Struct({
  file: Schema.String,
  verified: Schema.NullOr(Schema.Boolean),
  started: Schema.Boolean,
  problem: Schema.NullOr(Schema.String)
})

export const install = Effect.gen(function* () {
  yield* ownerOnly("the gateway's service")
  const { environment, home } = yield* Invocation
  const done = yield* ServiceManager.install(environment, {
    // With the options of this command's own start.
    node: [process.execPath, ...process.execArgv],
    command: builtCommand,
    home,
    path: environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
  }).pipe(Effect.mapError((error) => failed(error.message)))
  yield* answer(Installed, { ...done, started: done.problem === null }, ({ file, problem, verified }) => [
    `Wrote ${file}${verified === true ? ", which systemd-analyze finds in order" : ""}.`,
    problem === null
      ? "The gateway runs now, and begins with your session. To have it run without one: `loginctl enable-linger`."
      : `It could not be started here: ${problem}.`
  ])
  if (done.problem !== null) return yield* new Ended({ code: 1, text: null })
})

const Removed = Schema.Struct({
  file: Schema.String,
  removed: Schema.Boolean,
  problem: Schema.NullOr(Schema.String)
})

export const uninstall = Effect.gen(function* () {
  yield* ownerOnly("the gateway's service")
  const { environment } = yield* Invocation
  const done = yield* ServiceManager.uninstall(environment)
  yield* answer(Removed, done, ({ file, problem, removed }) => [
    removed ? `Removed ${file}; the home stays as it is.` : `There is no service: ${file} is not there.`,
    ...(problem === null ? [] : [`It could not be ended: ${problem}.`])
  ])
})

/** A gateway that is started again is there in this time. */
const comebackMillis = 60_000
const lookMillis = 250
/** After this time without one it is said that it is waited for. */
const noteMillis = 5_000

/** Fails where a gateway could not start with the home's configuration: the one that runs would end for nothing. */
export const startable = Effect.provide(Config, settled).pipe(
  Effect.catchTag(
    "SettingsUnusable",
    ({ message }) =>
      new Ended({ code: 78, text: `${message}; no gateway could start with it, so the one that runs goes on` })
  )
)

const Restarted = Schema.Struct({ restarted: Schema.Boolean, url: Schema.NullOr(Schema.String) })

export const restart = Effect.gen(function* () {
  yield* ownerOnly("a restart of the gateway")
  const { environment, home } = yield* Invocation
  const before = yield* running
  if (before === null) {
    const holding = yield* holder
    return yield* failed(
      holding === null ? "no gateway runs on this home: `hermes gateway run` starts one" : silent(holding).join(" ")
    )
  }
  yield* startable
  const client = yield* Client.make({ url: before.address.url, key: before.key, environment })
  const { running: work } = yield* client.operation.restart({}).pipe(Effect.mapError((error) => failed(error.message)))
  const waits = workWords(work)
  if (waits !== "") yield* note(`It restarts when this has ended: ${waits}.`)
  const came = yield* comeback(before.address.startedAt)
  if (came === null)
    return yield* failed(
      `the gateway of ${home} has ended with code 75, and nobody has started it again: \`hermes gateway run\` does`
    )
  yield* answer(Restarted, { restarted: true, url: came }, () => [`The gateway is back at ${came}.`])
}).pipe(Effect.provide(LocalHttp.layer))

/** The address of the gateway that came after; null when the one before is gone and none came. */
export const comeback = (startedAt: number) =>
  Effect.gen(function* () {
    let goneAt: number | null = null
    let noted = false
    for (;;) {
      const now = yield* Clock.currentTimeMillis
      const gateway = yield* Effect.orElseSucceed(running, () => null)
      if (gateway !== null && gateway.address.startedAt !== startedAt) return gateway.address.url
      if (gateway !== null) goneAt = null
      else if (goneAt === null) goneAt = now
      else if (now - goneAt > comebackMillis) return null
      else if (!noted && now - goneAt > noteMillis) {
        noted = true
        yield* note(`It has ended, and is waited for ${comebackMillis / 1_000} s at most.`)
      }
      yield* Effect.sleep(lookMillis)
    }
  })
