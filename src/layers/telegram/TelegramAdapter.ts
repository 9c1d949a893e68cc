/** Telegram as a surface of the gateway, through grammy. */
import { Deferred, Effect, Layer, Option, Ref, Scope } from "effect"
import { AmbientEnvironment, markerOf } from "../../fibers/AmbientEnvironment.js"
import * as Turn from "../../fibers/Turn.js"
import {
  type Adapter,
  type AdapterState,
  type SendError,
  SendRefused,
  SendRetryable
} from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import type { Admission } from "../../services/conversation/Admission.js"
import { MediaFiles } from "../../services/delivery/MediaFiles.js"
import { GatewayLock, type LockUnusable, type TokenInUse } from "../../services/operation/GatewayLock.js"
import { Settings, type TelegramSettings } from "../../services/operation/Settings.js"
import * as BotApi from "./BotApi.js"
import { capabilities } from "./Capabilities.js"
import * as Chats from "./Chats.js"
import * as Download from "./Download.js"
import * as Outbound from "./Outbound.js"
import * as Poller from "./Poller.js"
import { tokenRemedy } from "./Reconnection.js"

/** For the answer to a button press, and for the client to load before a first message may leave. Milliseconds. */
const pressMillis = 5_000
const loadMillis = 30_000

type Token = NonNullable<TelegramSettings["token"]>

const make = (settings: TelegramSettings, token: Token) =>
  Effect.gen(function* () {
    const registry = yield* AdapterRegistry
    const environment = yield* AmbientEnvironment
    const directory = yield* ChannelDirectory
    const files = yield* MediaFiles
    const state = yield* Ref.make<AdapterState>({ _tag: "Starting" })
    const chats = Chats.make()
    const outbound = yield* Deferred.make<Outbound.Outbound, SendRefused>()
    const loading = Deferred.await(outbound).pipe(
      Effect.timeoutFail({
        duration: loadMillis,
        onTimeout: () => new SendRetryable({ platform: "telegram", detail: "still starting", retryAfterMillis: null })
      })
    )
    const ready = Effect.flatMap(
      Deferred.poll(outbound),
      Option.getOrElse(() => loading)
    )

    const answerPress =
      (api: BotApi.BotApi, scope: Scope.Scope) =>
      (callbackId: string, text: string | null): Effect.Effect<void> =>
        Turn.forkWorker(
          api
            .call(
              "answerCallbackQuery",
              (raw, signal) =>
                raw.answerCallbackQuery(
                  { callback_query_id: callbackId, ...(text === null ? {} : { text: text.slice(0, 200) }) },
                  signal
                ),
              pressMillis
            )
            .pipe(Effect.catchAll((error) => Effect.logDebug("telegram: a press was not acknowledged", error.message)))
        ).pipe(Effect.provideService(Scope.Scope, scope), Effect.asVoid)

    /** Everything that belongs to the connection ends with this fiber, in its own order. */
    const connection = Effect.scoped(
      Effect.gen(function* () {
        const api = yield* BotApi.make({ token, apiRoot: settings.apiRoot })
        yield* Deferred.succeed(outbound, Outbound.make(api, chats, directory))
        yield* Poller.run({
          api,
          chats,
          state,
          rules: settings,
          arrival: {
            authorizedUpstream: false,
            asyncDelivery: capabilities.asyncDelivery,
            marker: markerOf(environment),
            unattended: null,
            workingDirectory: null
          },
          fetch: Download.make(api, files),
          answerPress: answerPress(api, yield* Effect.scope)
        })
        // Given up on polling; what is to be sent may still leave.
        return yield* Effect.never
      })
    ).pipe(
      Effect.catchTag("BotApiUnusable", (error) =>
        Effect.gen(function* () {
          const { remedy } = error
          yield* Ref.set(state, { _tag: "Failed", error: error.message, remedy })
          yield* Effect.logError(`telegram: ${error.message}; ${remedy}`)
          yield* Deferred.fail(
            outbound,
            new SendRefused({ platform: "telegram", code: "unusable", detail: `${error.message}; ${remedy}` })
          )
        })
      )
    )

    /** A poll may take half a minute to be told so; the next one that is answered takes it back. */
    const noteRefusal = (error: SendError): Effect.Effect<void> =>
      error._tag === "SendRetryable" && error.credentialRefused === true
        ? Ref.set(state, { _tag: "Failed", error: error.detail, remedy: tokenRemedy })
        : Effect.void

    const adapter: Adapter = {
      platform: "telegram",
      capabilities,
      state: Ref.get(state),
      send: (message) =>
        Effect.tapError(
          Effect.flatMap(ready, (out) => out.send(message)),
          noteRefusal
        ),
      edit: (...edit) => Effect.flatMap(ready, (out) => out.edit(...edit)),
      openThread: (...thread) => Effect.flatMap(ready, (out) => out.openThread(...thread)),
      react: (...reaction) => Effect.flatMap(ready, (out) => out.react(...reaction)),
      typing: (address) =>
        Effect.flatMap(Effect.option(ready), (out) => (out._tag === "Some" ? out.value.typing(address) : Effect.void)),
      chatInfo: (chatId) =>
        ready.pipe(
          Effect.flatMap((out) => out.chatInfo(chatId)),
          Effect.catchAll(() => Effect.succeed({ name: chatId, type: "group" as const }))
        )
    }
    yield* registry.register(adapter)
    yield* Turn.forkWorker(connection)
  })

/**
 * Connects in the background, so that nobody waits for Telegram to start. Nothing is loaded and nothing registered when
 * it is disabled or has no token. A token that another gateway of this machine holds ends the start (decision 2).
 */
export const layer: Layer.Layer<
  never,
  TokenInUse | LockUnusable,
  Settings | AdapterRegistry | Admission | AmbientEnvironment | ChannelDirectory | GatewayLock | MediaFiles
> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { telegram } = yield* Settings
    if (!telegram.enabled || telegram.token === null) return
    const lock = yield* GatewayLock
    yield* lock.holdToken("telegram", telegram.token)
    yield* make(telegram, telegram.token)
  })
)
