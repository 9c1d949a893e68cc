/** Setup by a script: what is given is tried and written, everything else stays. */
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as Options from "@effect/cli/Options"
import { Effect, Option, Redacted } from "effect"
import path from "node:path"
import process from "node:process"
import * as ProviderDefaults from "../../../services/operation/ProviderDefaults.js"
import { Provider, type SettingsShape } from "../../../services/operation/Settings.js"
import * as Setup from "../../../services/operation/Setup.js"
import { failed, usage } from "../failure.js"
import { Invocation } from "../invocation.js"
import * as Checks from "./checks.js"

const text = (name: string, value: string, description: string) =>
  Options.text(name).pipe(
    Options.withPseudoName(value),
    Options.withDescription(description),
    Options.map((given) => given.trim()),
    Options.optional
  )

export const options = {
  provider: Options.choice(
    "provider",
    Provider.literals.filter((provider) => provider !== "scripted")
  ).pipe(Options.withDescription("Whose model answers."), Options.optional),
  model: text("model", "NAME", "Which of its models."),
  baseUrl: text("base-url", "URL", "Where its server is, such as http://127.0.0.1:11434/v1."),
  apiKeyEnv: text("api-key-env", "VARIABLE", "The variable that holds the model's key."),
  apiKeyStdin: Options.boolean("api-key-stdin").pipe(Options.withDescription("The model's key is read from stdin.")),
  telegramTokenEnv: text("telegram-token-env", "VARIABLE", "The variable that holds the bot's token."),
  telegramTokenStdin: Options.boolean("telegram-token-stdin").pipe(
    Options.withDescription("The bot's token is read from stdin.")
  ),
  telegramOwner: text("telegram-owner", "ID", "The Telegram user who may write to the bot."),
  telegramHome: text("telegram-home", "CHAT", "The chat for what nobody asked for."),
  timezone: text("timezone", "ZONE", "Your time zone, such as Europe/Lisbon."),
  workdir: text("workdir", "DIR", "The folder in which it works."),
  skipChecks: Options.boolean("skip-checks").pipe(Options.withDescription("Ask neither the model nor Telegram."))
}

type Given = {
  readonly [name in keyof typeof options]: (typeof options)[name] extends Options.Options<infer A> ? A : never
}

/** Was anything given that only counts without questions? */
export const any = (given: Given): boolean =>
  Object.values(given).some((value) => (typeof value === "boolean" ? value : Option.isSome(value)))

const piped = NodeStream.toString(() => process.stdin, {
  onFailure: (error) => failed(`stdin cannot be read: ${error instanceof Error ? error.message : String(error)}`),
  maxBytes: 10_000
})

const secret = (variable: Option.Option<string>, fromStdin: boolean, what: string) =>
  Effect.gen(function* () {
    if (Option.isNone(variable) && !fromStdin) return null
    const { environment } = yield* Invocation
    const found = (Option.isSome(variable) ? (environment[variable.value] ?? "") : yield* piped).trim()
    if (found === "")
      return yield* usage(
        Option.isSome(variable)
          ? `${variable.value} is not set: it should hold ${what}`
          : `nothing came on stdin: ${what} should`
      )
    return Redacted.make(found)
  })

const modelOf = (given: Given, settings: SettingsShape) =>
  Effect.gen(function* () {
    const key = yield* secret(given.apiKeyEnv, given.apiKeyStdin, "the model's key")
    if (key === null && [given.provider, given.model, given.baseUrl].every(Option.isNone)) return null
    const provider = Option.getOrElse(given.provider, () => settings.model.provider)
    const known = Setup.known(settings, provider)
    const baseUrl = Option.getOrElse(given.baseUrl, () => known.baseUrl)
    if (key !== null && ProviderDefaults.keyNames[provider].length === 0)
      return yield* usage(`${provider} takes no key: say --provider`)
    if (provider === "openai-compatible" && baseUrl === null)
      return yield* usage("an openai-compatible server needs --base-url")
    const answer: Setup.ModelAnswer = {
      provider,
      model: Option.getOrElse(given.model, () => known.model),
      baseUrl,
      key
    }
    return answer
  })

const telegramOf = (given: Given) =>
  Effect.gen(function* () {
    const token = yield* secret(given.telegramTokenEnv, given.telegramTokenStdin, "the bot's token")
    if (token === null && Option.isNone(given.telegramOwner) && Option.isNone(given.telegramHome)) return null
    const answer: Setup.TelegramAnswer = {
      enabled: true,
      token,
      owners: Option.toArray(given.telegramOwner),
      homeChannel: Option.getOrNull(given.telegramHome)
    }
    return answer
  })

const refuse = (problem: string | null) => (problem === null ? Effect.void : usage(problem))

/** The answers, tried unless that was not wanted, with what the checks said. */
export const read = (given: Given, settings: SettingsShape) =>
  Effect.gen(function* () {
    if (given.apiKeyStdin && given.telegramTokenStdin)
      return yield* usage("one secret comes on stdin: give the other by --api-key-env or --telegram-token-env")
    const cwd = process.cwd()
    const timezone = Option.getOrNull(given.timezone)
    const workingDirectory = Option.getOrNull(Option.map(given.workdir, (directory) => path.resolve(cwd, directory)))
    if (timezone !== null) yield* refuse(Checks.zoneProblem(timezone))
    if (workingDirectory !== null) yield* refuse(Checks.directoryProblem(workingDirectory))
    const model = yield* modelOf(given, settings)
    const telegram = yield* telegramOf(given)
    const token = telegram === null ? null : (telegram.token ?? settings.telegram.token)
    const checks = given.skipChecks
      ? []
      : [
          ...(model === null ? [] : [{ name: "model", detail: yield* Checks.model(model, settings) }]),
          ...(token === null
            ? []
            : [{ name: "telegram", detail: `the token is ${yield* Checks.telegram(token, settings)}'s` }])
        ]
    const answers: Setup.Answers = { model, telegram, timezone, workingDirectory }
    return { answers, checks }
  })
