/** The Bot API as effects: grammy's typed client over our transport, every failure one of two. */
import type { ApiClientOptions, InputFile, RawApi } from "grammy"
import { Effect, Option, Redacted, Schema, type Scope } from "effect"
import * as Deadlines from "../../fibers/Deadlines.js"
import { CallSignal } from "./CallSignal.js"
import * as Transport from "./Transport.js"

/** Telegram answered no. */
export class BotApiRefused extends Schema.TaggedError<BotApiRefused>()("BotApiRefused", {
  method: Schema.String,
  code: Schema.Number,
  description: Schema.String,
  retryAfterSeconds: Schema.NullOr(Schema.Number),
  /** The group became a supergroup with this id. */
  migratedTo: Schema.NullOr(Schema.Number)
}) {
  override get message(): string {
    return `${this.description} (${this.code}, ${this.method})`
  }
}

/** No answer of Telegram. `sent`: it may have acted all the same. */
export class BotApiUnreachable extends Schema.TaggedError<BotApiUnreachable>()("BotApiUnreachable", {
  method: Schema.String,
  sent: Schema.Boolean,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.detail} (${this.method})`
  }
}

export type BotApiError = BotApiRefused | BotApiUnreachable

/** The token or `api_root` cannot be one, or grammy is not installed. */
export class BotApiUnusable extends Schema.TaggedError<BotApiUnusable>()("BotApiUnusable", {
  detail: Schema.String,
  remedy: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

type Signal = NonNullable<Parameters<RawApi["getMe"]>[0]>

export interface BotApi {
  /** One call that ends: with its answer, or at the latest after `timeoutMillis`. Interrupting it drops its connection. */
  readonly call: <A>(
    method: string,
    run: (raw: RawApi, signal: Signal) => Promise<A>,
    timeoutMillis: number
  ) => Effect.Effect<A, BotApiError>
  /** A file for a call; it goes as multipart form data. */
  readonly file: (content: Uint8Array, name: string) => InputFile
  /** The bytes of a file that somebody sent to the bot; refused beyond `limit` bytes. */
  readonly download: (fileId: string, limit: number, timeoutMillis: number) => Effect.Effect<Uint8Array, BotApiError>
}

const Extras = Schema.Struct({
  retry_after: Schema.optionalWith(Schema.NullOr(Schema.Number), { default: () => null }),
  migrate_to_chat_id: Schema.optionalWith(Schema.NullOr(Schema.Number), { default: () => null })
})
const decodeFile = Schema.decodeUnknownOption(Schema.Struct({ file_path: Schema.String }))
const decodeExtras = Schema.decodeUnknownOption(Extras)

/** grammy's own timer stays out of the way; ours follows the clock of the program. Seconds. */
const neverSeconds = 3600

const rootOf = (apiRoot: string): Effect.Effect<string, BotApiUnusable> =>
  URL.canParse(apiRoot) && /^https?:$/.test(new URL(apiRoot).protocol)
    ? Effect.succeed(apiRoot.replace(/\/+$/, ""))
    : Effect.fail(
        new BotApiUnusable({
          detail: `"${apiRoot}" is no address of a Bot API server`,
          remedy: "check TELEGRAM_API_ROOT, or platforms.telegram.api_root, and restart the gateway"
        })
      )

/** As @BotFather gives them: the bot's number, a colon, and what nobody else knows. */
const tokenShape = /^\d+:[\w-]+$/

const checked = (token: Redacted.Redacted): Effect.Effect<string, BotApiUnusable> =>
  tokenShape.test(Redacted.value(token))
    ? Effect.succeed(Redacted.value(token))
    : Effect.fail(
        new BotApiUnusable({
          detail: "the bot token has not the shape of one, which is 123456789:AAE…",
          remedy: "copy it again from @BotFather (/mybots) into TELEGRAM_BOT_TOKEN, and restart the gateway"
        })
      )

/** Loads grammy, which nothing else does: who has no Telegram does not pay for it. */
const grammy = Effect.tryPromise({
  try: () => import("grammy"),
  catch: (error) =>
    new BotApiUnusable({
      detail: `grammy could not be loaded: ${String(error)}`,
      remedy: "install hermes-effect again, and restart the gateway"
    })
})

export const make = (options: {
  readonly token: Redacted.Redacted
  readonly apiRoot: string
}): Effect.Effect<BotApi, BotApiUnusable, Scope.Scope> =>
  Effect.gen(function* () {
    const token = yield* checked(options.token)
    const apiRoot = yield* rootOf(options.apiRoot)
    const { Api, GrammyError, HttpError, InputFile } = yield* grammy
    const { download, fetch } = yield* Transport.make(apiRoot)
    const deadlines = yield* Deadlines.make
    const client: ApiClientOptions = {
      apiRoot,
      timeoutSeconds: neverSeconds,
      // The client awaits `json()` of what this returns and nothing else.
      fetch: fetch as unknown as NonNullable<ApiClientOptions["fetch"]>
    }
    const { raw } = new Api(token, client)

    const failureOf = (method: string, error: unknown): BotApiError => {
      if (error instanceof GrammyError) {
        const extras = Option.getOrNull(decodeExtras(error.parameters))
        return new BotApiRefused({
          method,
          code: error.error_code,
          description: error.description,
          retryAfterSeconds: extras?.retry_after ?? null,
          migratedTo: extras?.migrate_to_chat_id ?? null
        })
      }
      const cause = error instanceof HttpError ? error.error : error
      return cause instanceof Transport.TransportFailure
        ? new BotApiUnreachable({ method, sent: cause.sent, detail: cause.detail })
        : new BotApiUnreachable({ method, sent: true, detail: cause instanceof Error ? cause.message : String(cause) })
    }

    const call: BotApi["call"] = <A>(
      method: string,
      run: (raw: RawApi, signal: Signal) => Promise<A>,
      timeoutMillis: number
    ) =>
      Effect.async<A, BotApiError>((resume) => {
        const given = new CallSignal()
        // Then it answers itself, saying whether it had left; that works also where nothing may be interrupted.
        const cancel = deadlines.after(timeoutMillis, () => given.abort())
        // All that grammy does with a signal is to listen to it.
        run(raw, given as unknown as Signal).then(
          (answer) => {
            cancel()
            resume(Effect.succeed(answer))
          },
          (error: unknown) => {
            cancel()
            resume(Effect.fail(failureOf(method, error)))
          }
        )
        return Effect.sync(() => {
          cancel()
          given.abort()
        })
      })
    return {
      call,
      file: (content, name) => new InputFile(content, name),
      download: (fileId, limit, timeoutMillis) =>
        Effect.gen(function* () {
          const answer = yield* call(
            "getFile",
            (raw, signal) => raw.getFile({ file_id: fileId }, signal),
            timeoutMillis
          )
          const path = Option.getOrNull(decodeFile(answer))?.file_path ?? null
          const safe = path !== null && /^[\w./-]{1,512}$/.test(path) && !path.includes("..") ? path : null
          if (safe === null)
            return yield* new BotApiUnreachable({ method: "getFile", sent: false, detail: "the answer names no file" })
          return yield* call(
            "file",
            (_raw, signal) => download(`${apiRoot}/file/bot${token}/${safe}`, limit, signal),
            timeoutMillis
          )
        })
    }
  })
