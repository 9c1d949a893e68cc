/** What a conversation says to its people beside its turns: notices, acknowledgements, answers to commands. */
import { Clock, Effect } from "effect"
import * as Admission from "../../services/conversation/Admission.js"
import type { Inbox, InboxEntry, InboxState } from "../../services/conversation/Inbox.js"
import type { Delivery } from "../../services/delivery/Delivery.js"
import type { NoticePlace, NoticeText, Notifier } from "../../services/delivery/Notifier.js"
import type { Activity } from "../../services/operation/Activity.js"
import type { SettingsShape } from "../../services/operation/Settings.js"
import type { SessionKey } from "../../services/session/SessionKey.js"
import type { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"

export interface CorrespondenceServices {
  readonly settings: SettingsShape
  readonly inbox: typeof Inbox.Service
  readonly database: typeof Database.Service
  readonly delivery: typeof Delivery.Service
  readonly notifier: typeof Notifier.Service
  readonly activity: typeof Activity.Service
}

export interface Correspondence {
  /** Where what is said about this message is heard. */
  readonly placeOf: (entry: InboxEntry) => NoticePlace
  /** A notice that may be said again about the same message: `about` tells one from the next. */
  readonly tellOf: (entry: InboxEntry, about: string, notice: NoticeText) => Effect.Effect<void>
  readonly tell: (entry: InboxEntry, notice: NoticeText) => Effect.Effect<void>
  /** Said once ever, to whoever is the first it would help. */
  readonly hint: (entry: InboxEntry, name: string, notice: NoticeText) => Effect.Effect<void>
  /** At most one in 30 s: acknowledgements are courtesy, not answers. */
  readonly acknowledge: (entry: InboxEntry, notice: NoticeText) => Effect.Effect<void>
  /** Tells whoever watches that the event gets no turn of its own. */
  readonly lastWord: (entry: InboxEntry, outcome: string, text: string) => Effect.Effect<void>
  readonly settle: (
    entry: InboxEntry,
    state: InboxState,
    outcome: string,
    text: string
  ) => Effect.Effect<void, StateError>
  /** Answers a command; an empty text only settles it. */
  readonly reply: (entry: InboxEntry, text: string) => Effect.Effect<void, StateError>
}

const ackIntervalMillis = 30_000

export const make = (key: SessionKey, services: CorrespondenceServices): Effect.Effect<Correspondence> =>
  Effect.sync(() => {
    const { activity, database, delivery, inbox, notifier, settings } = services
    let lastAck = Number.NEGATIVE_INFINITY

    const addressOf = (entry: InboxEntry) => Admission.addressOf(entry.event.source, entry.event.messageId)

    const placeOf: Correspondence["placeOf"] = (entry) => ({
      sessionKey: key,
      address: addressOf(entry),
      about: entry.id
    })

    const tellOf: Correspondence["tellOf"] = (entry, about, notice) =>
      notifier.tell({ ...placeOf(entry), about }, notice)

    const tell: Correspondence["tell"] = (entry, notice) => tellOf(entry, entry.id, notice)

    const hint: Correspondence["hint"] = (entry, name, notice) => notifier.hint(placeOf(entry), name, notice)

    const acknowledge: Correspondence["acknowledge"] = (entry, notice) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (!settings.conversation.busyAckEnabled || now - lastAck < ackIntervalMillis) return
        lastAck = now
        yield* tell(entry, notice)
      })

    const lastWord: Correspondence["lastWord"] = (entry, outcome, text) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) =>
        activity.publish({
          _tag: "turn.ended",
          at,
          sessionKey: key,
          sessionId: entry.event.sessionId ?? "",
          turnId: entry.id,
          eventId: entry.id,
          outcome,
          text,
          ...(entry.event.messageId === null ? {} : { about: entry.event.messageId })
        })
      )

    const settle: Correspondence["settle"] = (entry, state, outcome, text) =>
      Effect.zipRight(
        database.write("inbox.settle", inbox.settle(entry.id, state, null)),
        lastWord(entry, outcome, text)
      )

    const reply: Correspondence["reply"] = (entry, text) =>
      Effect.gen(function* () {
        const address = addressOf(entry)
        if (text !== "" && address !== null)
          yield* delivery.deliver({
            cause: { kind: "command", id: entry.id },
            address,
            text,
            via: "origin",
            transcriptId: null,
            replyToPerson: true
          })
        yield* settle(entry, "answered", "command", text)
      })

    return { acknowledge, hint, lastWord, placeOf, reply, settle, tell, tellOf }
  })
