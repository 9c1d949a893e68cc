/** A gateway between a model and a Telegram that both live in this process. */
import { Effect, type Scope } from "effect"
import type { NotRecorded } from "../../../src/testing/AdapterInMemory.js"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import * as HomeDirectory from "./HomeDirectory.js"

/** Somebody in a direct message. */
export interface Person {
  readonly chatId: string
  /** Writes; answers the message's id. */
  readonly says: (text: string) => Effect.Effect<number>
  /** Waits for a message in their chat, and answers its text as it was sent. */
  readonly hears: (pattern: RegExp, seconds?: number) => Effect.Effect<string, NotRecorded>
  /** Everything that was sent to them. */
  readonly heard: Effect.Effect<ReadonlyArray<string>>
}

export interface Loopback {
  readonly telegram: TelegramServer.TelegramServer
  readonly model: ModelServer.ModelServer
  /** A home that knows both. */
  readonly home: HomeDirectory.HomeDirectory
  readonly person: (n: number) => Person
}

/** Everybody may write, and nothing asks. */
const open = `
display:
  hints: false
approvals:
  mode: off
agent:
  api_max_retries: 1
  auto_recovery_cycles: 0
platforms:
  telegram:
    allow_all_users: true
    require_mention: false
`

const personOf = (telegram: TelegramServer.TelegramServer, n: number): Person => {
  const user = telegram.user(n)
  const chat = telegram.dm(user)
  const isTheirs = (call: TelegramServer.Call): boolean => call.chatId === String(chat.id) && call.text !== null
  return {
    chatId: String(chat.id),
    says: (text) => telegram.say({ chat, from: user, text }),
    hears: (pattern, seconds = 90) =>
      Effect.map(
        telegram.calls.waitFor(
          `${pattern} for person ${n}`,
          (call) => isTheirs(call) && call.outcome === "ok" && pattern.test(call.text ?? ""),
          { seconds }
        ),
        (call) => call.text ?? ""
      ),
    heard: Effect.map(telegram.calls.all, (calls) =>
      calls.flatMap((call) => (isTheirs(call) && call.method === "sendMessage" ? [call.text ?? ""] : []))
    )
  }
}

/** `answer` says what the model does with a request; `config` replaces the home's configuration. */
export const make = (
  answer: (request: ModelServer.ModelServerRequest) => ModelServer.ModelServerReply,
  options: { readonly config?: string; readonly env?: { readonly [name: string]: string } } = {}
): Effect.Effect<Loopback, TelegramServer.TelegramServerFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const telegram = yield* TelegramServer.make()
    const model = yield* ModelServer.make(answer, { remember: 1_000 })
    const home = yield* HomeDirectory.make({
      config: options.config ?? open,
      env: {
        TELEGRAM_BOT_TOKEN: telegram.token,
        TELEGRAM_API_ROOT: telegram.apiRoot,
        HERMES_MODEL_PROVIDER: "openai-compatible",
        HERMES_MODEL_TITLES: "false",
        HERMES_MODEL_BASE_URL: model.baseUrl,
        HERMES_MODEL: "loopback",
        ...options.env
      }
    })
    return { telegram, model, home, person: (n) => personOf(telegram, n) }
  })
