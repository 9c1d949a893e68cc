/** Setup at a terminal: questions with defaults, each tried, each to be skipped. Nothing is written here. */
import * as Prompt from "@effect/cli/Prompt"
import * as Terminal from "@effect/platform/Terminal"
import { Console, Effect, Option, Redacted } from "effect"
import path from "node:path"
import * as Owner from "../../../layers/telegram/Owner.js"
import * as ProviderDefaults from "../../../services/operation/ProviderDefaults.js"
import type { Provider, SettingsShape } from "../../../services/operation/Settings.js"
import * as Setup from "../../../services/operation/Setup.js"
import { plain } from "../output.js"
import * as Checks from "./checks.js"

/** How long setup waits for the owner to write to the bot. */
const ownerPatience = "3 minutes"

const say = (text: string) => Console.log(`  ${text}`)

const asked = (text: string) => Prompt.run(Prompt.confirm({ message: text, initial: true }))

/** Empty keeps what is there. */
const secret = (message: string, isSet: boolean) =>
  Prompt.run(
    Prompt.password({ message: `${message} (${isSet ? "set; Enter keeps it" : "unset; Enter leaves it so"})` })
  ).pipe(
    Effect.map((typed) => {
      const text = Redacted.value(typed).trim()
      return text === "" ? null : Redacted.make(text)
    })
  )

const refusing = (problem: (text: string) => string | null) => (text: string) => {
  const said = problem(text.trim())
  return said === null ? Effect.succeed(text.trim()) : Effect.fail(said)
}

type Next = "again" | "anyway" | "skip"

/** What to do with an answer that did not hold. */
const next = (error: Checks.NotHeld): Effect.Effect<Next, Terminal.QuitException, Prompt.Prompt.Environment> =>
  Effect.gen(function* () {
    yield* say(`✗ ${plain(error.detail)}`)
    yield* say(`  ${plain(error.remedy)}`)
    return yield* Prompt.run(
      Prompt.select<Next>({
        message: "What now?",
        choices: [
          { title: "Enter it again", value: "again" },
          { title: "Skip it: leave this as it was", value: "skip" },
          { title: "Take it anyway", value: "anyway" }
        ]
      })
    )
  })

const providers: ReadonlyArray<{ readonly title: string; readonly value: Provider; readonly description: string }> = [
  { title: "Anthropic", value: "anthropic", description: "Claude, with a key from console.anthropic.com" },
  { title: "OpenAI", value: "openai", description: "with a key from platform.openai.com" },
  {
    title: "Another server",
    value: "openai-compatible",
    description: "Ollama, llama.cpp, vLLM, LM Studio, OpenRouter: what speaks OpenAI's protocol"
  },
  { title: "The built-in offline assistant", value: "offline", description: "no network, no key, no language model" }
]

const usualServer = "http://127.0.0.1:11434/v1"

const addressProblem = (text: string): string | null =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
    ? null
    : `an address such as ${usualServer}: what stands before /chat/completions`

const model = (settings: SettingsShape) =>
  Effect.gen(function* () {
    const now = settings.model
    for (;;) {
      const provider = yield* Prompt.run(
        Prompt.select<Provider | null>({
          message: "Which model shall answer?",
          choices: [{ title: `Keep ${now.provider}/${now.model}`, value: null, description: "skip this" }, ...providers]
        })
      )
      if (provider === null) return null
      if (provider === "offline")
        return {
          provider,
          model: ProviderDefaults.models.offline,
          baseUrl: null,
          key: null
        } satisfies Setup.ModelAnswer
      const known = Setup.known(settings, provider)
      const baseUrl =
        provider === "openai-compatible"
          ? yield* Prompt.run(
              Prompt.text({
                message: "Where is the server?",
                default: known.baseUrl ?? usualServer,
                validate: refusing(addressProblem)
              })
            )
          : known.baseUrl
      const name = yield* Prompt.run(
        Prompt.text({
          message: "Which of its models?",
          default: known.model,
          validate: refusing((text) => (text === "" ? "a model's name" : null))
        })
      )
      const key = yield* secret(ProviderDefaults.keyNames[provider][0] ?? "its key", known.apiKey !== null)
      const answer: Setup.ModelAnswer = { provider, model: name, baseUrl, key }
      yield* say("Asking it one short question …")
      const tried = yield* Effect.either(Checks.model(answer, settings))
      if (tried._tag === "Right") {
        yield* say(`✓ ${tried.right}`)
        return answer
      }
      const then = yield* next(tried.left)
      if (then !== "again") return then === "skip" ? null : answer
    }
  })

/** Enter ends a wait; Ctrl-C quits. */
const enter = Effect.gen(function* () {
  const terminal = yield* Terminal.Terminal
  const inputs = yield* terminal.readInput
  for (;;) {
    const input = yield* Effect.option(inputs.take)
    if (Option.isNone(input)) return yield* new Terminal.QuitException()
    if (input.value.key.name === "return" || input.value.key.name === "enter") return null
  }
}).pipe(Effect.scoped)

/** The owner, by their first message; null when nobody was found. */
const owner = (token: Redacted.Redacted, bot: string, settings: SettingsShape) =>
  Effect.gen(function* () {
    const { next } = yield* Owner.listen({ token, apiRoot: settings.telegram.apiRoot })
    const not = new Set<string>()
    for (;;) {
      yield* say(`Now write anything to ${plain(bot)} on Telegram, so that it knows you. Enter skips this.`)
      const found = yield* Effect.raceFirst(
        next(not).pipe(
          Effect.timeout(ownerPatience),
          Effect.catchTag("TimeoutException", () => Effect.succeed(null))
        ),
        enter
      )
      if (found === null) {
        yield* say("Nobody yet: write to the bot later, and it shows you a code to let yourself in with.")
        return null
      }
      if (yield* asked(`${plain(found.name)}, id ${found.id}, has written. Is that you?`)) return found
      not.add(found.id)
    }
  }).pipe(
    Effect.scoped,
    Effect.catchTag("AccountUnreachable", ({ detail, remedy }) =>
      Effect.as(say(`✗ ${plain(detail)}: ${plain(remedy)}`), null)
    )
  )

type TelegramChoice = "keep" | "token" | "owner" | "off"

const telegram = (settings: SettingsShape) =>
  Effect.gen(function* () {
    const now = settings.telegram
    const on = now.token !== null && now.enabled
    for (;;) {
      const choice = yield* Prompt.run(
        Prompt.select<TelegramChoice>({
          message: "Telegram?",
          choices: [
            { title: on ? "Keep it: the token is set" : "Not now", value: "keep", description: "skip this" },
            {
              title: now.token === null ? "Enter a bot's token" : "Enter another bot's token",
              value: "token",
              description: "from @BotFather, who makes bots"
            },
            ...(now.token === null ? [] : [{ title: "Check the token and let its owner in", value: "owner" as const }]),
            ...(on ? [{ title: "Switch it off", value: "off" as const, description: "the token stays" }] : [])
          ]
        })
      )
      const answer: Setup.TelegramAnswer = { enabled: true, token: null, owners: [], homeChannel: null }
      if (choice === "keep") return null
      if (choice === "off") return { ...answer, enabled: false }
      const typed = choice === "token" ? yield* secret("TELEGRAM_BOT_TOKEN", now.token !== null) : null
      const token = typed ?? now.token
      if (token === null) return null
      const found = yield* Effect.either(Checks.telegram(token, settings))
      if (found._tag === "Left") {
        const then = yield* next(found.left)
        if (then === "again") continue
        return then === "skip" ? null : { ...answer, token: typed }
      }
      yield* say(`✓ the token is ${plain(found.right)}'s`)
      const person = yield* owner(token, found.right, settings)
      if (person === null) return { ...answer, token: typed }
      const home = yield* asked("Shall what nobody asked for (jobs, notices) go to that chat?")
      return { ...answer, token: typed, owners: [person.id], homeChannel: home ? person.chatId : null }
    }
  })

/** Null where the answer is what there was. */
const other = (answer: string, before: string): string | null => (answer === before ? null : answer)

/** Asks everything. Fails with `QuitException` on Ctrl-C. */
export const ask = (settings: SettingsShape) =>
  Effect.gen(function* () {
    const answers: Setup.Answers = {
      model: yield* model(settings),
      telegram: yield* telegram(settings),
      timezone: other(
        yield* Prompt.run(
          Prompt.text({
            message: "Your time zone?",
            default: settings.timezone,
            validate: refusing(Checks.zoneProblem)
          })
        ),
        settings.timezone
      ),
      workingDirectory: null
    }
    const before = settings.terminal.workingDirectory ?? path.join(settings.home, "workspace")
    const directory = yield* Prompt.run(
      Prompt.text({
        message: "In which folder shall it work?",
        default: before,
        validate: refusing((text) => (text === before ? null : Checks.directoryProblem(text)))
      })
    )
    return { ...answers, workingDirectory: other(directory, before) }
  })
