/** The page as a platform (contract §4): chat = the session, user = the owner; what arrives later is a row in that transcript. */
import { Clock, Effect, Layer } from "effect"
import {
  type Adapter,
  type AdapterCapabilities,
  type OutboundMessage,
  SendRefused,
  SendRetryable
} from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { type CauseKind, Outbox } from "../../services/delivery/Outbox.js"
import { Activity } from "../../services/operation/Activity.js"
import type { Session } from "../../services/session/Session.js"
import { SessionKey } from "../../services/session/SessionKey.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Transcript } from "../../services/session/Transcript.js"
import { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import { shortened } from "../../services/operation/Shortened.js"

export const platform = "web"

/** Growing answers reach the page as events, so nothing is edited; a row holds a text of any length. */
export const capabilities: AdapterCapabilities = {
  asyncDelivery: true,
  inChannelContinuation: true,
  messageEditing: false,
  typing: false,
  buttons: true,
  codeBlocks: true,
  splitsLongMessages: false,
  maxMessageLength: 1_000_000,
  lengthUnit: "utf16",
  commandPrefix: "/",
  platformIds: false,
  // Nothing is copied: the page fetches them from where they lie.
  files: { maxBytes: 2_000 * 1024 * 1024, maxPhotoBytes: 20 * 1024 * 1024, album: 1 }
}

const eventCauses: ReadonlySet<CauseKind> = new Set(["approval", "notice", "command"])

/** A file that comes alone is named, so that the conversation knows of it. */
const wordsOf = (message: OutboundMessage): string =>
  message.text === "" && message.files !== undefined
    ? `(${message.files.map(({ name }) => name).join(", ")})`
    : message.text

const noConversation = (chatId: string): string => `there is no conversation ${shortened(chatId)} on the page`

const noChat = (chatId: string): SendRefused =>
  new SendRefused({ platform, code: "chat_not_found", detail: noConversation(chatId) })

const isShown = (session: Session | null): session is Session =>
  session !== null && session.platform === platform && !session.hidden

/** Nothing was written, so it may be tried again. */
const unwritten = (error: StateError): SendRetryable =>
  new SendRetryable({ platform, detail: error.message, retryAfterMillis: null })

export const make = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const transcript = yield* Transcript
  const database = yield* Database
  const activity = yield* Activity
  const outbox = yield* Outbox

  /** The conversation's present session: after `/new` its messages go to the one that took the place of the ended one. */
  const sessionOf = (chatId: string): Effect.Effect<Session, SendRefused | SendRetryable> =>
    Effect.gen(function* () {
      const session = yield* sessions.get(chatId)
      if (!isShown(session)) return yield* noChat(chatId)
      if (session.endedAt === null || session.key === null) return session
      return (yield* sessions.peek(SessionKey.make(session.key))) ?? session
    }).pipe(
      Effect.catchIf(
        (error) => error._tag !== "SendRefused",
        (error) => Effect.fail(unwritten(error))
      )
    )

  /** The row that holds the text: the answer's own, or one made for it. */
  const rowOf = (session: Session, message: OutboundMessage) =>
    database
      .write(
        "web.send",
        Effect.gen(function* () {
          yield* sessions.setUnread(session.id, true)
          const at = yield* Clock.currentTimeMillis
          if (message.transcriptId !== null) return { id: message.transcriptId, at }
          const [row] = yield* transcript.append(session.id, null, [
            { _tag: "assistant", text: wordsOf(message), reasoning: null, toolCalls: [], finishReason: "stop" }
          ])
          return row ?? { id: 0, at }
        }),
        "transcript"
      )
      .pipe(Effect.mapError(unwritten))

  const causeOf = (message: OutboundMessage) =>
    Effect.mapBoth(outbox.get(message.deliveryId), { onSuccess: (row) => row?.cause ?? null, onFailure: unwritten })

  const adapter: Adapter = {
    platform,
    capabilities,
    references: {
      complaint: ({ chatId, threadId }) =>
        threadId !== null
          ? Effect.succeed("a conversation on the page has no threads")
          : sessions.get(chatId).pipe(
              Effect.map((session) => (isShown(session) ? null : noConversation(chatId))),
              Effect.catchAll(() => Effect.succeed(null))
            )
    },
    state: Effect.succeed({ _tag: "Connected" }),
    send: Effect.fn("web.Adapter.send")(function* (message) {
      const session = yield* sessionOf(message.address.chatId)
      const cause = yield* causeOf(message)
      // A question, a notice and the answer to a command are no part of the transcript: the page shows them from their own events.
      if (message.buttons.length > 0 || (cause !== null && eventCauses.has(cause.kind)))
        return { platformMessageId: null, note: "shown on the page as it happened" }
      // A file of an answer hangs on the answer's row.
      if (message.files !== undefined && message.transcriptId !== null)
        return { platformMessageId: String(message.transcriptId), note: null }
      const { at, id } = yield* rowOf(session, message)
      yield* activity.publish({
        _tag: "message.stored",
        at,
        sessionKey: session.key ?? "",
        sessionId: session.id,
        messageId: id,
        ...(message.transcriptId !== null && cause?.kind === "turn" ? { turnId: cause.id } : {}),
        role: "assistant",
        text: wordsOf(message)
      })
      return { platformMessageId: String(id), note: null }
    }),
    edit: (address) =>
      Effect.fail(
        new SendRefused({ platform, code: "bad_request", detail: `messages of ${address.chatId} are not edited` })
      ),
    typing: () => Effect.void,
    chatInfo: (chatId) =>
      sessions.get(chatId).pipe(
        Effect.map((session) => ({ name: session?.title ?? chatId, type: "dm" as const })),
        Effect.catchAll(() => Effect.succeed({ name: chatId, type: "dm" as const }))
      )
  }
  return adapter
})

/** The page among the platforms, for as long as the layer lives. */
export const layer: Layer.Layer<
  never,
  never,
  AdapterRegistry | SessionStore | Transcript | Database | Activity | Outbox
> = Layer.scopedDiscard(
  Effect.flatMap(make, (adapter) => Effect.flatMap(AdapterRegistry, (registry) => registry.register(adapter)))
)
