/** `hermes setup`: what the first hour needs, asked for, tried, and written in one step at the end. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Layer, Schema } from "effect"
import path from "node:path"
import process from "node:process"
import * as ConfigFile from "../../layers/node/ConfigFile.js"
import * as HomeDirectory from "../../layers/node/Home.js"
import * as Ids from "../../layers/node/Ids.js"
import * as SetupFiles from "../../layers/node/SetupFiles.js"
import { keys } from "../../services/operation/ConfigKey.js"
import { Home } from "../../services/operation/Home.js"
import { Ids as IdService } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import * as Setup from "../../services/operation/Setup.js"
import { failed, usage } from "./failure.js"
import * as OwnCommand from "../../layers/node/OwnCommand.js"
import { typed } from "../../services/operation/OwnCommand.js"
import { Invocation } from "./invocation.js"
import { answer, say } from "./output.js"
import { running } from "./owner.js"
import { ownerOnly } from "./ownerOnly.js"
import * as Flags from "./setup/flags.js"
import * as Questions from "./setup/questions.js"

const Done = Schema.Struct({
  home: Schema.String,
  /** Settings that were written, by path. */
  settings: Schema.Array(Schema.String),
  /** Names of the secrets that were written. */
  secrets: Schema.Array(Schema.String),
  checks: Schema.Array(Schema.Struct({ name: Schema.String, detail: Schema.String })),
  /** Variables of the environment that win over what was written. */
  overruled: Schema.Array(Schema.String),
  /** Has a running gateway to be restarted for it? */
  restart: Schema.Boolean
})

/** The settings as they are; a home that is not there is not made for being asked about. */
const current = Effect.gen(function* () {
  const { home } = yield* Invocation
  const fs = yield* FileSystem.FileSystem
  const there = yield* Effect.orElseSucceed(fs.exists(path.join(home, "config.yaml")), () => false)
  const place = there ? HomeDirectory.layer(home) : HomeDirectory.planned(home)
  return yield* Effect.provide(Settings, ConfigFile.layer.pipe(Layer.provide(Layer.merge(place, Ids.layer))))
})

const environmentNames = (paths: ReadonlyArray<string>): ReadonlyArray<string> =>
  Object.values(keys).flatMap(({ env, path }) => (env !== null && paths.includes(path) ? [env] : []))

/** Writes the answers and says what that was. */
const finish = (answers: Setup.Answers, checks: (typeof Done.Type)["checks"]) =>
  Effect.gen(function* () {
    const { environment, home } = yield* Invocation
    const changes = Setup.changesOf(answers, yield* current)
    const paths = changes.settings.map((change) => change.path)
    const secrets = Object.keys(changes.secrets)
    const changed = paths.length + secrets.length > 0
    if (changed)
      yield* Effect.gen(function* () {
        yield* Home
        yield* SetupFiles.write(home, changes, yield* (yield* IdService).next("file"))
      }).pipe(Effect.provide(Layer.merge(HomeDirectory.layer(home), Ids.layer)), Effect.uninterruptible)
    const gateway = yield* Effect.orElseSucceed(running, () => null)
    const command = (words: string) => typed(OwnCommand.of(home, environment), words)
    const done = {
      home,
      settings: paths,
      secrets,
      checks,
      overruled: [...environmentNames(paths), ...secrets].filter((name) => (environment[name] ?? "") !== ""),
      restart: changed && gateway !== null
    }
    yield* answer(Done, done, ({ overruled, restart }) => [
      ...checks.map((check) => `${check.name}: ${check.detail}`),
      changed
        ? `Written to ${path.join(home, "config.yaml")}${secrets.length === 0 ? "" : " and .env"}: ${[...paths, ...secrets].join(", ")}.`
        : "Nothing was changed.",
      ...(overruled.length === 0 ? [] : [`The environment wins over it for now: unset ${overruled.join(", ")}.`]),
      ...(restart
        ? [`A gateway runs: \`${command("gateway restart")}\` makes it take this over.`]
        : gateway === null
          ? [`\`${command("gateway run")}\` starts the gateway; \`${command("setup")}\` changes any of this again.`]
          : [])
    ])
  })

const interactive = Effect.gen(function* () {
  yield* say("Arrow keys choose, Enter takes what is shown, Ctrl-C leaves everything as it was.", "")
  const answers = yield* Questions.ask(yield* current).pipe(
    Effect.catchTag("QuitException", () => failed("stopped: nothing was changed"))
  )
  yield* say("")
  yield* finish(answers, [])
})

export const command = Command.make(
  "setup",
  {
    nonInteractive: Options.boolean("non-interactive").pipe(
      Options.withDescription("Asks nothing: takes what the other options say, and leaves the rest.")
    ),
    ...Flags.options
  },
  ({ nonInteractive, ...given }) =>
    Effect.gen(function* () {
      yield* ownerOnly("setup")
      const { json } = yield* Invocation
      if (nonInteractive) {
        const { answers, checks } = yield* Effect.flatMap(current, (settings) => Flags.read(given, settings)).pipe(
          Effect.catchTag("NotHeld", (error) =>
            failed(`${error.message} Nothing was changed; --skip-checks writes it all the same.`)
          )
        )
        yield* finish(answers, checks)
        if (!Flags.any(given) && !json) yield* say("`hermes setup --help` lists the options that say what to set.")
        return
      }
      if (Flags.any(given) || json) return yield* usage("with options or --json, say --non-interactive too")
      if (process.stdin.isTTY !== true || process.stdout.isTTY !== true)
        return yield* usage(
          "there is no terminal to ask on: use --non-interactive, and `hermes setup --help` for its options"
        )
      yield* interactive
    })
).pipe(
  Command.withDescription(
    "Asks for model, Telegram, time zone and folder, tries each answer, and writes them at the end."
  )
)
