/**
 * The Bot Chat of this home (decision "adapters of this round"): what is sent there is a turn in a conversation of the
 * page's own. The answer is that conversation's, so nothing comes back here and nothing can go round in circles.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import * as CronMarker from "../../fibers/CronMarker.js"
import {
  type Adapter,
  type AdapterCapabilities,
  plainText,
  SendRefused,
  SendRetryable
} from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { Admission } from "../../services/conversation/Admission.js"
import { InboundEvent, Source } from "../../services/conversation/InboundEvent.js"
import * as Deliver from "../../services/delivery/Deliver.js"
import { type DeliveryRow, Outbox } from "../../services/delivery/Outbox.js"
import { Settings } from "../../services/operation/Settings.js"
import { SessionId } from "../../services/session/Session.js"
import { sessionKey } from "../../services/session/SessionKey.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Database } from "../../services/state/Database.js"

const platform = Deliver.botChat

export const capabilities: AdapterCapabilities = { ...plainText, maxMessageLength: 100_000 }

/** The one conversation that it is, by a name that never changes. */
const sessionId = SessionId.make("ses_bot_chat")
const title = "Bot Chat"

/** Who is told: the page's owner, as the page itself says it. */
const sourceOf = (profile: string) =>
  new Source({
    platform: "web",
    surface: null,
    botId: null,
    chatId: sessionId,
    chatName: null,
    chatType: "dm",
    threadId: null,
    parentChatId: null,
    scopeId: null,
    userId: "owner",
    userIdAlt: null,
    userName: "owner",
    isBot: true,
    profile,
    uiSessionId: null
  })

const refused = (code: string, detail: string) => new SendRefused({ platform, code, detail })

/** A turn of the agent's that began one of its own turns could go on for ever. */
const mayBegin = (row: DeliveryRow): boolean => row.cause.kind === "cron" || row.turnId === null

const preamble = (row: DeliveryRow): string =>
  row.cause.kind === "cron"
    ? "[A scheduled job of this home says this, not the person. Nobody waits for an answer at this moment.]"
    : "[Sent here by a command of the owner.]"

const isState = Schema.is(Schema.Struct({ _tag: Schema.String, message: Schema.String }))

const make = Effect.gen(function* () {
  const admission = yield* Admission
  const database = yield* Database
  const outbox = yield* Outbox
  const sessions = yield* SessionStore
  const settings = yield* Settings
  const source = sourceOf(settings.profile)

  /** Made when something is first said in it. */
  const conversation = Effect.gen(function* () {
    if ((yield* sessions.get(sessionId)) !== null) return
    yield* database.write(
      "botChat.create",
      sessions.create({
        id: sessionId,
        key: sessionKey(source, settings.conversation),
        source: "web",
        origin: source,
        parentId: null,
        hidden: false,
        model: null
      }),
      "transcript"
    )
    yield* sessions.setTitle(sessionId, title, "derived")
  })

  const adapter: Adapter = {
    platform,
    capabilities,
    state: Effect.succeed({ _tag: "Connected" }),
    send: Effect.fn("botChat.Adapter.send")((message) =>
      Effect.gen(function* () {
        const row = yield* outbox.get(message.deliveryId)
        if (row === null || !mayBegin(row))
          return yield* refused("bad_request", "only a scheduled job or a command begins a turn in the Bot Chat")
        yield* conversation
        const receipt = yield* admission.accept(
          new InboundEvent({
            source,
            text: `${preamble(row)}\n\n${message.text}`,
            // The row's own id: sent once more after a crash it is the same message.
            messageId: row.resendOf ?? row.id,
            replyTo: null,
            media: [],
            sentAt: yield* Clock.currentTimeMillis,
            sessionId: null
          }),
          {
            authorizedUpstream: true,
            asyncDelivery: true,
            marker:
              row.isCron || row.cause.kind === "cron"
                ? CronMarker.cron({ job: null, run: row.cause.id })
                : CronMarker.unset,
            unattended: "unattended",
            workingDirectory: null
          }
        )
        switch (receipt._tag) {
          case "Accepted":
            return { platformMessageId: receipt.eventId, note: null }
          case "Duplicate":
            return { platformMessageId: row.resendOf ?? row.id, note: "it was there already" }
          case "Refused":
            return yield* new SendRetryable({ platform, detail: receipt.text, retryAfterMillis: null })
          case "Ignored":
          case "Paired":
            return yield* refused("forbidden", "the Bot Chat did not take it")
        }
      }).pipe(
        // Nothing was accepted, so it may be tried again.
        Effect.catchIf(
          (error) => error._tag !== "SendRefused" && error._tag !== "SendRetryable",
          (error) =>
            new SendRetryable({
              platform,
              detail: isState(error) ? error.message : "the Bot Chat could not be written to",
              retryAfterMillis: null
            })
        )
      )
    ),
    edit: () => Effect.fail(refused("bad_request", "messages of the Bot Chat are not edited")),
    typing: () => Effect.void,
    chatInfo: () => Effect.succeed({ name: title, type: "dm" })
  }
  return adapter
})

/** Among the platforms for as long as the layer lives. */
export const layer: Layer.Layer<
  never,
  never,
  AdapterRegistry | Admission | Database | Outbox | SessionStore | Settings
> = Layer.scopedDiscard(
  Effect.flatMap(make, (adapter) => Effect.flatMap(AdapterRegistry, (registry) => registry.register(adapter)))
)
