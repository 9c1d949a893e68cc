import { Effect, Layer } from "effect"
import * as Turn from "../../fibers/Turn.js"
import { Clarifications } from "../../services/agent/Clarification.js"
import { Approvals } from "../../services/approval/Approval.js"
import { Admission, addressOf, type Receipt } from "../../services/conversation/Admission.js"
import { Authorization } from "../../services/conversation/Authorization.js"
import { Conversations } from "../../services/conversation/Conversations.js"
import { type Arrival, InboundEvent, signatureOf } from "../../services/conversation/InboundEvent.js"
import { Inbox, type InboxEntry, type InboxMessage } from "../../services/conversation/Inbox.js"
import { Pairing } from "../../services/conversation/Pairing.js"
import * as SlashCommand from "../../services/conversation/SlashCommand.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { HomeChannels } from "../../services/delivery/HomeChannels.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import * as Notice from "../../services/delivery/Notice.js"
import { type NoticeText, Notifier } from "../../services/delivery/Notifier.js"
import { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import { Pause } from "../../services/operation/Pause.js"
import { Readiness } from "../../services/operation/Readiness.js"
import { Settings } from "../../services/operation/Settings.js"
import { sessionKey } from "../../services/session/SessionKey.js"
import type { StateError } from "../../services/state/StateError.js"

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const authorization = yield* Authorization
  const pairing = yield* Pairing
  const inbox = yield* Inbox
  const conversations = yield* Conversations
  const approvals = yield* Approvals
  const clarifications = yield* Clarifications
  const delivery = yield* Delivery
  const notifier = yield* Notifier
  const homes = yield* HomeChannels
  const adapters = yield* AdapterRegistry
  const drain = yield* Drain
  const pause = yield* Pause
  const ids = yield* Ids
  const readiness = yield* Readiness

  const refuse = (event: InboundEvent, notice: NoticeText): Effect.Effect<Receipt> =>
    Effect.gen(function* () {
      yield* notifier.tell(
        {
          sessionKey: sessionKey(event.source, settings.conversation),
          address: addressOf(event.source, event.messageId),
          about: event.messageId ?? (yield* ids.next("event"))
        },
        notice
      )
      return { _tag: "Refused", code: notice.code, text: notice.text }
    })

  /** A stranger is told a code at most once in ten minutes; the text never goes through anybody's conversation. */
  const offerPairing = (event: InboundEvent): Effect.Effect<Receipt, StateError> =>
    Effect.gen(function* () {
      const { source } = event
      const address = addressOf(source, event.messageId)
      if (address === null || source.userId === null) return { _tag: "Ignored", rule: "a stranger without an address" }
      const offer = yield* pairing.offer({ ...address, anchor: null }, source.userId, source.userName)
      const notice =
        offer._tag === "Offered"
          ? Notice.pairingOffer({ code: offer.code, platform: source.platform })
          : offer.tell
            ? Notice.pairingRateLimited()
            : null
      if (notice !== null)
        yield* delivery.deliver({
          cause: { kind: "notice", id: `${notice.code}:${yield* ids.next("event")}` },
          address,
          text: notice.text,
          via: "origin",
          transcriptId: null,
          replyToPerson: false
        })
      return { _tag: "Paired" }
    })

  /** While draining a command still acts on what runs; a message is kept for after only where it would have waited anyway. */
  const whileDraining = (event: InboundEvent): "go on" | "keep" | "refuse" =>
    SlashCommand.of(event)._tag === "Command"
      ? "go on"
      : settings.conversation.busyMode === "interrupt"
        ? "refuse"
        : "keep"

  /** Stored for the next start, and given to nobody here. */
  const keep = (message: InboxMessage, drained: { readonly restart: boolean }) =>
    inbox.accept(message.key, message.event, message.arrival).pipe(
      Effect.ensuring(conversations.release(message.key)),
      Effect.tap((entry) =>
        entry === null
          ? Effect.void
          : notifier.tell(
              {
                sessionKey: message.key,
                address: addressOf(message.event.source, message.event.messageId),
                about: entry.id
              },
              Notice.drainQueued(drained)
            )
      )
    )

  const admit = Effect.fnUntraced(function* (
    event: InboundEvent,
    arrival: Arrival,
    paired: boolean
  ): Effect.fn.Return<Receipt, StateError> {
    const drained = yield* drain.draining
    const draining = drained === null ? "go on" : whileDraining(event)
    if (drained !== null && draining === "refuse") return yield* refuse(event, Notice.drainRefused(drained))
    const paused = yield* pause.current
    // Kept for later only where it can be answered later.
    if (paused !== null && addressOf(event.source, null) === null && SlashCommand.of(event)._tag !== "Command")
      return yield* refuse(event, Notice.pauseRefused(paused))
    const key = sessionKey(event.source, settings.conversation)
    if (!(yield* conversations.reserve(key)))
      return yield* refuse(event, Notice.busyFull({ waiting: settings.conversation.queueCap }))
    const message: InboxMessage = {
      key,
      event,
      arrival: {
        asyncDelivery: arrival.asyncDelivery,
        marker: arrival.marker,
        unattended: arrival.unattended,
        workingDirectory: arrival.workingDirectory,
        ...(paired ? { paired } : {})
      }
    }
    const entry = yield* drained !== null && draining === "keep"
      ? keep(message, drained)
      : conversations.accept(message)
    if (entry === null) return { _tag: "Duplicate" }
    if (event.source.chatType === "dm" && event.internal === null) yield* hintAtHome(event, entry)
    return { _tag: "Accepted", eventId: entry.id, sessionKey: key }
  })

  /** Once a platform: whoever writes on it first hears that nothing has a place to go that nobody asked for. */
  const hintAtHome = Effect.fnUntraced(function* (
    { source }: InboundEvent,
    { id, key }: InboxEntry
  ): Effect.fn.Return<void> {
    const { platform } = source
    const address = addressOf(source, null)
    const adapter = yield* adapters.get(platform)
    if (address === null || platform === "web" || adapter === null) return
    const needed = Effect.suspend(() => Effect.map(homes.get(platform), (home) => home === null))
    yield* notifier.hint(
      { sessionKey: key, address, about: id },
      `home.${platform}`,
      Notice.homeMissing({ platform }),
      needed
    )
  })

  /** Only what somebody sends who may talk here is fetched: nobody else fills the disk. */
  const withFiles = (event: InboundEvent, { attachments }: Arrival): Effect.Effect<InboundEvent> =>
    attachments === undefined
      ? Effect.succeed(event)
      : Effect.map(
          attachments,
          ({ media, note }) =>
            new InboundEvent({
              ...event,
              media: [...event.media, ...media],
              text: [event.text, note].filter((part) => part !== "").join("\n\n")
            })
        )

  const accept = Effect.fnUntraced(function* (
    event: InboundEvent,
    arrival: Arrival
  ): Effect.fn.Return<Receipt, StateError> {
    const verdict = yield* authorization.decide(event.source, arrival.authorizedUpstream)
    switch (verdict._tag) {
      case "Allowed":
        return yield* admit(yield* withFiles(event, arrival), arrival, verdict.paired === true)
      case "Pair":
        return yield* offerPairing(event)
      case "Ignored":
        return { _tag: "Ignored", rule: verdict.rule }
    }
  })

  /** `approve:<id>`, `approve-session:<id>`, `approve-always:<id>` or `deny:<id>`; only the conversation that was asked may answer. */
  const press = (event: InboundEvent, arrival: Arrival, value: string): Effect.Effect<Receipt, StateError> =>
    Effect.gen(function* () {
      const verdict = yield* authorization.decide(event.source, arrival.authorizedUpstream)
      if (verdict._tag !== "Allowed") return { _tag: "Ignored", rule: "a stranger pressed the button" }
      const answered = /^answer:(.+):(\d+)$/.exec(value)
      if (answered !== null) {
        const [, id = "", choice = ""] = answered
        const by = signatureOf(event.source)
        const key = sessionKey(event.source, settings.conversation)
        return (yield* clarifications.press(key, id, Number(choice), by))
          ? { _tag: "Accepted", eventId: id, sessionKey: key }
          : { _tag: "Ignored", rule: "not an open question of this conversation" }
      }
      const match = /^(approve|approve-session|approve-always|deny):(.+)$/.exec(value)
      if (match === null) return { _tag: "Ignored", rule: "an unknown button" }
      const key = sessionKey(event.source, settings.conversation)
      const open = yield* approvals.open(key)
      const row = open.find((question) => question.id === match[2])
      if (row === undefined) return { _tag: "Ignored", rule: "not an open question of this conversation" }
      yield* approvals
        .answer({
          sessionKey: key,
          id: row.id,
          approve: match[1] !== "deny",
          scope: match[1] === "approve-session" ? "session" : match[1] === "approve-always" ? "always" : "once",
          reason: null,
          by: signatureOf(event.source)
        })
        .pipe(Effect.catchTag("NothingToAnswer", () => Effect.void))
      return { _tag: "Accepted", eventId: row.id, sessionKey: key }
    })

  return Admission.of({
    accept: (event, arrival) => Turn.cleared(Effect.zipRight(readiness.await, accept(event, arrival))),
    press: (event, arrival, value) => Turn.cleared(Effect.zipRight(readiness.await, press(event, arrival, value)))
  })
})

export const layer: Layer.Layer<
  Admission,
  never,
  | Settings
  | Authorization
  | Pairing
  | Inbox
  | Conversations
  | Approvals
  | Clarifications
  | Delivery
  | Notifier
  | HomeChannels
  | AdapterRegistry
  | Drain
  | Pause
  | Ids
  | Readiness
> = Layer.effect(Admission, make)
