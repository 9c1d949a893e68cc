import * as FileSystem from "@effect/platform/FileSystem"
import * as Command from "@effect/cli/Command"
import { Effect, Schema } from "effect"
import path from "node:path"
import * as Checkup from "../../layers/node/Checkup.js"
import * as Database from "../../layers/sqlite/Database.js"
import { Config } from "../../services/operation/Config.js"
import { type Provider, Settings, type SettingsShape } from "../../services/operation/Settings.js"
import { settled } from "./desk.js"
import { Ended } from "./failure.js"
import { Invocation } from "./invocation.js"
import { answer } from "./output.js"
import { running } from "./owner.js"

const { fine, finding } = Checkup

const Report = Schema.Struct({
  ok: Schema.Boolean,
  checks: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      ok: Schema.Boolean,
      detail: Schema.String,
      remedy: Schema.NullOr(Schema.String)
    })
  )
})

const needsKey: ReadonlySet<Provider> = new Set(["anthropic", "openai"])

const model = ({ model }: SettingsShape): Checkup.Check =>
  needsKey.has(model.provider) && model.apiKey === null
    ? finding("model", `${model.provider} is set and no key for it`, "put the key into .env of the home")
    : model.provider === "openai-compatible" && model.baseUrl === null
      ? finding("model", "openai-compatible is set and no address", "set HERMES_MODEL_BASE_URL or model.base_url")
      : fine("model", `${model.provider}/${model.model}`)

/** What the settings say, and what hangs on them. */
const configured = (home: string, gatewayRuns: boolean) =>
  Effect.gen(function* () {
    const { file, issues } = yield* Config
    const settings = yield* Settings
    const { host, port } = settings.apiServer
    return [
      issues.length === 0
        ? fine("config", `${file} is fine`)
        : finding(
            "config",
            issues.map((issue) => `${issue.path}: ${issue.problem}`).join("; "),
            `correct it in ${file}; until then the default is used`
          ),
      model(settings),
      gatewayRuns ? fine("port", `${host}:${port} is the gateway's`) : yield* Checkup.port(host, port),
      yield* Checkup.clock(home, settings.timezone)
    ]
  }).pipe(
    Effect.provide(settled),
    Effect.catchAll((error) =>
      Effect.succeed([finding("config", error.message, "correct it: the gateway does not start like this")])
    )
  )

const database = (file: string) =>
  Checkup.integrity.pipe(
    Effect.provide(Database.layerReadOnly({ file })),
    Effect.catchAll((error) =>
      Effect.succeed(finding("database", error.message, "keep the file, and restore a backup or update hermes-effect"))
    )
  )

const gatewayCheck = (running: { readonly address: { readonly url: string } } | null) =>
  running === null ? fine("gateway", "none runs on this home") : fine("gateway", `runs at ${running.address.url}`)

const examine = Effect.gen(function* () {
  const { home } = yield* Invocation
  const fs = yield* FileSystem.FileSystem
  const exists = (name: string) => Effect.orElseSucceed(fs.exists(path.join(home, name)), () => false)
  if (!(yield* exists("config.yaml")))
    return [finding("home", `there is no home at ${home} yet`, "start the gateway once: hermes gateway run")]
  const owner = yield* Effect.either(running)
  const stored = yield* exists("state.db")
  return [
    fine("home", home),
    yield* Checkup.permissions(home),
    ...(yield* configured(home, owner._tag === "Right" && owner.right !== null)),
    ...(stored ? [yield* database(path.join(home, "state.db"))] : [fine("database", "none yet")]),
    ...(owner._tag === "Right" ? [gatewayCheck(owner.right)] : []),
    yield* Checkup.room(home)
  ]
})

export const command = Command.make("doctor", {}, () =>
  Effect.gen(function* () {
    const checks = yield* examine
    const ok = checks.every((check) => check.ok)
    yield* answer(Report, { ok, checks }, ({ checks }) =>
      checks.flatMap((check) => [
        `${check.ok ? "ok     " : "PROBLEM"} ${check.name}: ${check.detail}`,
        ...(check.remedy === null ? [] : [`        → ${check.remedy}`])
      ])
    )
    if (!ok) return yield* new Ended({ code: 1, text: null })
  })
).pipe(Command.withDescription("Looks for what stands in the way: exit code 1 when it finds something."))
