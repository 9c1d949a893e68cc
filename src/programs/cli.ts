/** The command `hermes` (contract §2): which of its commands was asked for, and how it ended. */
import * as Command from "@effect/cli/Command"
import * as CliConfig from "@effect/cli/CliConfig"
import * as Options from "@effect/cli/Options"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import { makeRunMain } from "@effect/platform/Runtime"
import { Effect, Either, Layer } from "effect"
import process from "node:process"
import * as AmbientEnvironment from "../fibers/AmbientEnvironment.js"
import * as StderrLog from "../layers/terminal/StderrLog.js"
import { version } from "../services/operation/Version.js"
import { endingOf, usage } from "./commands/failure.js"
import { note, uncoloured } from "./commands/output.js"
import { globalsOf, homeOf, Invocation } from "./commands/invocation.js"

/** Each command in a chunk of its own: one that is not asked for costs nothing. In the order of `--help`. */
const commands = {
  gateway: () => import("./commands/gateway.js"),
  chat: () => import("./commands/chat.js"),
  send: () => import("./commands/send.js"),
  cron: () => import("./commands/cron.js"),
  sessions: () => import("./commands/sessions.js"),
  deliveries: () => import("./commands/deliveries.js"),
  explain: () => import("./commands/explain.js"),
  approvals: () => import("./commands/approvals.js"),
  pairing: () => import("./commands/pairing.js"),
  model: () => import("./commands/model.js"),
  status: () => import("./commands/status.js"),
  doctor: () => import("./commands/doctor.js"),
  backup: () => import("./commands/backup.js"),
  restore: () => import("./commands/restore.js"),
  config: () => import("./commands/config.js"),
  logs: () => import("./commands/logs.js")
}

type Name = keyof typeof commands
type Loaded = Awaited<ReturnType<(typeof commands)[Name]>>

const isName = (word: string | undefined): word is Name => word !== undefined && Object.hasOwn(commands, word)

/** The words of a call, without its options. */
const wordsOf = (args: ReadonlyArray<string>): ReadonlyArray<string> => args.filter((word) => !word.startsWith("-"))

/** The command that the arguments name; all of them when they name none. */
const load = (args: ReadonlyArray<string>): Effect.Effect<readonly [Loaded["command"], ...Array<Loaded["command"]>]> =>
  Effect.promise(async () => {
    const [word] = wordsOf(args)
    const names = Object.keys(commands).filter(isName)
    const chosen = isName(word) && !args.some((argument) => argument.startsWith("--completions")) ? [word] : names
    const [first, ...rest] = await Promise.all(chosen.map((name) => commands[name]()))
    return [(first ?? (await commands.status())).command, ...rest.map((module) => module.command)]
  })

/** Documented here and taken out of the arguments before they are parsed, so that they may stand anywhere. */
const documented = {
  home: Options.text("home").pipe(
    Options.withPseudoName("DIR"),
    Options.withDescription("The home to use (HERMES_HOME; default ~/.hermes-effect)."),
    Options.optional
  ),
  json: Options.boolean("json").pipe(Options.withDescription("One JSON document on stdout, for programs."))
}

/** Without a terminal the words come without its colours. What is wrong with the arguments is said once, in the end. */
const withPlainConsole = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.console, (console) => {
    const plain = (text: unknown): unknown => (typeof text === "string" ? uncoloured(text) : text)
    const log = process.stdout.isTTY
      ? console.log
      : (...text: ReadonlyArray<unknown>) => console.log(...text.map(plain))
    return Effect.withConsole(self, { ...console, log, error: () => Effect.void })
  })

const noSuchCommand = (args: ReadonlyArray<string>) => {
  const [first = "", second = ""] = wordsOf(args)
  return isName(first)
    ? usage(`there is no command \`hermes ${first} ${second}\`; \`hermes ${first} --help\` shows what there is`)
    : usage(`there is no command \`hermes ${first}\`; \`hermes --help\` shows what there is`)
}

const run = (args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const environment = yield* AmbientEnvironment.AmbientEnvironment
    const parsed = globalsOf(args)
    if (Either.isLeft(parsed)) return yield* usage(parsed.left)
    const { json, logLevel, rest } = parsed.right
    const invocation = { home: homeOf(parsed.right.home, environment, process.cwd()), json, logLevel, environment }
    const hermes = Command.make("hermes", documented).pipe(
      Command.withDescription("An agent on your chats: the gateway, and everything to look after it."),
      Command.withSubcommands(yield* load(rest))
    )
    const asked = rest.length === 0 ? ["--help"] : rest
    yield* Command.run(hermes, { name: "hermes", version })(["node", "hermes", ...asked]).pipe(
      Effect.catchTag("CommandMismatch", () => noSuchCommand(rest)),
      Effect.provide(
        Layer.mergeAll(
          NodeFileSystem.layer,
          NodePath.layer,
          NodeTerminal.layer,
          CliConfig.layer({ isCaseSensitive: true }),
          Layer.succeed(Invocation, invocation),
          StderrLog.layer(logLevel)
        )
      )
    )
  })

const main = (args: ReadonlyArray<string>) =>
  run(args).pipe(
    Effect.catchAllCause((cause) => {
      const { code, text } = endingOf(cause)
      process.exitCode = code
      return text === null ? Effect.void : note(`hermes: ${text}`)
    }),
    withPlainConsole
  )

/** A signal ends the command, unless a part of it listens itself: the gateway drains, a chat stops its turn. */
const runMain = makeRunMain(({ fiber, teardown }) => {
  const interrupt = (signal: NodeJS.Signals): void => {
    if (process.listenerCount(signal) > 1) return
    process.exitCode = 1
    fiber.unsafeInterruptAsFork(fiber.id())
  }
  process.on("SIGINT", interrupt)
  process.on("SIGTERM", interrupt)
  fiber.addObserver((exit) => teardown(exit, (code) => process.exit(code)))
})

// Whoever reads our output may have seen enough.
process.stdout.on("error", () => process.exit(process.exitCode ?? 0))

runMain(
  // `never` holds the event loop, which not everything that is waited for does.
  Effect.raceFirst(main(process.argv.slice(2)), Effect.never).pipe(
    // oxlint-disable-next-line fibers/no-process-env -- the one place where the command takes its environment
    Effect.provide(AmbientEnvironment.layer(process.env))
  ),
  {
    disableErrorReporting: true,
    disablePrettyLogger: true,
    teardown: (_exit, onExit) => onExit(Number(process.exitCode ?? 0))
  }
)
