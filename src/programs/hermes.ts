/** The command `hermes` (contract §2): which of its commands was asked for, and how it ended. */
import * as Command from "@effect/cli/Command"
import * as CliConfig from "@effect/cli/CliConfig"
import * as CommandDescriptor from "@effect/cli/CommandDescriptor"
import { isValidationError } from "@effect/cli/ValidationError"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeTerminal from "@effect/platform-node/NodeTerminal"
import { Effect, Either, Layer } from "effect"
import process from "node:process"
import * as AmbientEnvironment from "../fibers/AmbientEnvironment.js"
import * as StderrLog from "../layers/terminal/StderrLog.js"
import { version } from "../services/operation/Version.js"
import { type Ending, endingOf, errorDocument, usage } from "./commands/failure.js"
import { commands } from "./commands.js"
import * as Help from "./commands/help.js"
import * as Misuse from "./commands/misuse.js"
import { plain, say, uncoloured } from "./commands/output.js"
import { homeOf } from "../layers/node/OwnCommand.js"
import { globalsOf, Invocation } from "./commands/invocation.js"

type Name = keyof typeof commands
type Loaded = Awaited<ReturnType<(typeof commands)[Name]>>

const isName = (word: string | undefined): word is Name => word !== undefined && Object.hasOwn(commands, word)

/** The command that the arguments name; all of them when they name none. */
const load = (args: ReadonlyArray<string>): Effect.Effect<readonly [Loaded["command"], ...Array<Loaded["command"]>]> =>
  Effect.promise(async () => {
    const [word] = Misuse.wordsIn(args)
    const names = Object.keys(commands).filter(isName)
    const chosen = isName(word) && !args.some((argument) => argument.startsWith("--completions")) ? [word] : names
    const [first, ...rest] = await Promise.all(chosen.map((name) => commands[name]()))
    return [(first ?? (await commands.status())).command, ...rest.map((module) => module.command)]
  })

/** What a command does when it is called alone and has others inside: a look. */
const alone: { readonly [name: string]: string } = {
  approvals: "list",
  auth: "list",
  config: "show",
  cron: "list",
  deliveries: "list",
  pairing: "list",
  sessions: "list"
}

/** Groups that do nothing when they are called alone: what is in them is told. */
const idle: ReadonlySet<string> = new Set(["key"])

/** The arguments with the command that is meant when only a group was named. */
const completed = (args: ReadonlyArray<string>): ReadonlyArray<string> => {
  const [name = "", next] = args
  const meant = alone[name]
  return meant === undefined || (next !== undefined && !next.startsWith("-")) ? args : [name, meant, ...args.slice(1)]
}

/** The library drops an empty value of an option that may be given several times, which is how a job's list is cleared. */
const kept = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args[0] === "cron"
    ? args.map((argument, at) => (argument === "" && args[at - 1]?.startsWith("--") === true ? " " : argument))
    : args

const placesOf = (loaded: ReadonlyArray<Loaded["command"]>): ReadonlyArray<Help.Place> =>
  loaded.flatMap(({ descriptor }) =>
    [...CommandDescriptor.getNames<unknown>(descriptor)].map((name) => ({ path: [name], command: descriptor }))
  )

const asksForHelp = (args: ReadonlyArray<string>): boolean => {
  const end = args.indexOf("--")
  return args.slice(0, end === -1 ? args.length : end).some((argument) => argument === "--help" || argument === "-h")
}

/** Without a terminal the words come without its colours. What is wrong with the arguments is said once, in the end. */
const withPlainConsole = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.console, (console) => {
    const bare = (text: unknown): unknown => (typeof text === "string" ? uncoloured(text) : text)
    const log = process.stdout.isTTY ? console.log : (...text: ReadonlyArray<unknown>) => console.log(...text.map(bare))
    return Effect.withConsole(self, { ...console, log, error: () => Effect.void })
  })

const run = (args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const environment = yield* AmbientEnvironment.AmbientEnvironment
    const parsed = globalsOf(args)
    if (Either.isLeft(parsed)) return yield* usage(parsed.left)
    const { json, logLevel, rest } = parsed.right
    const invocation = {
      home: homeOf(parsed.right.home, environment, () => process.cwd()),
      json,
      logLevel,
      environment
    }
    if (rest.length === 1 && rest[0] === "--version") {
      const Version = yield* Effect.promise(() => import("./commands/version.js"))
      return yield* Effect.provideService(Version.show, Invocation, invocation)
    }
    const loaded = yield* load(rest)
    const places = placesOf(loaded)
    const isIdle = rest.length === 1 && idle.has(rest[0] ?? "")
    if (rest.length === 0 || isIdle || asksForHelp(rest)) {
      const place = Help.find(places, Misuse.wordsIn(rest))
      return yield* say(place === null ? Help.overview(places) : Help.of(place))
    }
    const hermes = Command.make("hermes").pipe(Command.withSubcommands(loaded))
    yield* Command.run(hermes, { name: "hermes", version })(["node", "hermes", ...kept(completed(rest))]).pipe(
      Effect.catchIf(isValidationError, (error) => Misuse.of(rest, places, error)),
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

/** Also where the arguments could not be read. */
const wantsJson = (args: ReadonlyArray<string>): boolean =>
  Either.match(globalsOf(args), { onLeft: () => args.includes("--json"), onRight: ({ json }) => json })

/** Runs one call. What it answers is on stdout then; `text` is for stderr, a JSON document where the call is a program's. */
export const hermes = (
  args: ReadonlyArray<string>
): Effect.Effect<Ending, never, AmbientEnvironment.AmbientEnvironment> =>
  run(args).pipe(
    Effect.matchCause({
      onSuccess: (): Ending => ({ code: 0, text: null }),
      onFailure: (cause): Ending => {
        const { code, text } = endingOf(cause)
        return {
          code,
          text: text === null ? null : wantsJson(args) ? errorDocument(code, text) : `hermes: ${plain(text)}`
        }
      }
    }),
    withPlainConsole
  )
