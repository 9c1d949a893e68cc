import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import { Effect, Schema } from "effect"
import path from "node:path"
import { Config, type Configured } from "../../services/operation/Config.js"
import * as OwnersSetting from "../../services/operation/OwnersSetting.js"
import * as Readable from "../../services/operation/Readable.js"
import { SettingIssue } from "../../services/operation/Settings.js"
import { settled } from "./settled.js"
import { Ended } from "./failure.js"
import { Invocation } from "./invocation.js"
import { answer, table } from "./output.js"
import { ownerOnly } from "./ownerOnly.js"

const Setting = Schema.Struct({
  path: Schema.String,
  value: Schema.Unknown,
  from: Schema.Literal("environment", "file", "default"),
  env: Schema.NullOr(Schema.String),
  doc: Schema.String
})

const settingOf = ({ key, value, from }: Configured): typeof Setting.Type => ({
  path: key.path,
  value: Readable.setting(value),
  from,
  env: key.env,
  doc: key.doc
})

const written = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

/** As a person reads it in a list. */
const plainly = (value: unknown): string =>
  value === null || value === "" || value === undefined
    ? "-"
    : Array.isArray(value)
      ? value.length === 0
        ? "-"
        : value.map(written).join(", ")
      : value === true
        ? "yes"
        : value === false
          ? "no"
          : written(value)

const Shown = Schema.Struct({
  file: Schema.String,
  values: Schema.Array(Setting),
  issues: Schema.Array(SettingIssue)
})

const show = Command.make("show", {}, () =>
  Effect.gen(function* () {
    const { file, values, issues } = yield* Config
    yield* answer(Shown, { file, values: values.map(settingOf), issues }, ({ values }) => [
      ...table(
        ["setting", "value", "from"],
        values.map((setting) => [setting.path, plainly(setting.value), setting.from]),
        ""
      ),
      ...(issues.length === 0 ? [] : ["", ...issues.map((issue) => issue.text)])
    ])
  })
).pipe(
  Command.withDescription("Every setting, its value and where that comes from. Secrets are not among them."),
  Command.provide(settled)
)

const name = Args.text({ name: "SETTING" }).pipe(Args.withDescription("Its path, such as model.name."))

const get = Command.make("get", { name }, ({ name }) =>
  Effect.gen(function* () {
    const config = yield* Config
    yield* answer(Setting, settingOf(yield* config.get(name)), ({ value }) => [written(value)])
  })
).pipe(Command.withDescription("The value of one setting."), Command.provide(settled))

const set = Command.make(
  "set",
  { name, value: Args.text({ name: "VALUE" }).pipe(Args.withDescription("As it would stand in config.yaml.")) },
  ({ name, value }) =>
    Effect.gen(function* () {
      if (OwnersSetting.is(name)) yield* ownerOnly(`changing ${name}`)
      const { file, setting } = yield* Effect.provide(
        Effect.gen(function* () {
          const config = yield* Config
          yield* config.set(name, value)
          return { file: config.file, setting: yield* config.get(name) }
        }),
        settled
      )
      const now = yield* Effect.provide(
        Effect.flatMap(Config, (config) => config.get(name)),
        settled
      )
      yield* answer(Setting, settingOf(now), () => [
        `${name} is set in ${file}; it counts from the next start of the gateway.`,
        ...(setting.from === "environment" ? [`For now the environment (${setting.key.env}) wins over the file.`] : [])
      ])
    })
).pipe(Command.withDescription("Changes one setting in config.yaml and keeps its comments."))

const Checked = Schema.Struct({ file: Schema.String, ok: Schema.Boolean, issues: Schema.Array(SettingIssue) })

const check = Command.make("check", {}, () =>
  Effect.gen(function* () {
    const { file, issues } = yield* Config
    yield* answer(Checked, { file, ok: issues.length === 0, issues }, ({ issues }) =>
      issues.length === 0 ? [`${file} is fine.`] : issues.map((issue) => issue.text)
    )
    if (issues.length > 0) return yield* new Ended({ code: 1, text: null })
  })
).pipe(
  Command.withDescription("Says what in the configuration is not used, and why: exit code 1 when there is something."),
  Command.provide(settled)
)

const Path = Schema.Struct({ path: Schema.String })

const where = Command.make("path", {}, () =>
  Effect.flatMap(Invocation, ({ home }) =>
    answer(Path, { path: path.join(home, "config.yaml") }, (file) => [file.path])
  )
).pipe(Command.withDescription("Where config.yaml is."))

export const command = Command.make("config").pipe(
  Command.withDescription("The settings of this home."),
  Command.withSubcommands([show, get, set, check, where])
)
