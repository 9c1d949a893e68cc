/** The one way out (gateway.md 2.10, 3.8): rows first, bytes second, proof third. */
import { Effect, Layer, Option } from "effect"
import { AmbientEnvironment, isCronAt } from "../../fibers/AmbientEnvironment.js"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import * as Field from "../../fibers/Field.js"
import * as Nursery from "../../fibers/Nursery.js"
import * as Turn from "../../fibers/Turn.js"
import type { Adapter, Button } from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { Delivery, type Outgoing } from "../../services/delivery/Delivery.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { MediaFile } from "../../services/delivery/Media.js"
import { MediaFiles } from "../../services/delivery/MediaFiles.js"
import { type DeliveryRow, type NewDelivery, Outbox } from "../../services/delivery/Outbox.js"
import * as Resend from "../../services/delivery/Resend.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { split } from "../../services/delivery/Splitter.js"
import { isBlank } from "../../services/delivery/Visible.js"
import type { Activity } from "../../services/operation/Activity.js"
import type { Ids } from "../../services/operation/Ids.js"
import { Database, type Step } from "../../services/state/Database.js"
import * as Courier from "./Courier.js"
import * as Holds from "./Holds.js"
import * as Ledger from "./Ledger.js"
import * as Recovery from "./Recovery.js"
import * as Shaping from "./Shaping.js"
import * as ReplyStream from "./ReplyStream.js"
import * as Waiting from "./Waiting.js"

/** More messages than this for one text would bury the chat; what is left is named. */
const maximumParts = 50

/** Where no adapter says otherwise. */
const defaultLimit = { maxMessageLength: 4_096, lengthUnit: "chars" } as const

const typingBound = "1500 millis"

type Unwritten = Omit<Outgoing, "transcriptId">

/** Whose work sends it, read where it is sent. */
interface Sender {
  readonly turnId: string | null
  readonly sessionKey: string | null
  readonly isCron: boolean
}

/** As many characters as certainly make no more than the largest number of parts, which are never shorter than half the limit. */
const bounded = (text: string, limit: number): string => {
  const longest = Math.floor((limit * maximumParts) / 2)
  if (text.length <= longest) return text
  const end = (text.codePointAt(longest - 1) ?? 0) > 0xffff ? longest - 1 : longest
  return `${text.slice(0, end)}${Notice.replyCut({ left: text.length - end }).text}`
}

const partsOf = (text: string, adapter: Adapter | null): ReadonlyArray<string> => {
  if (isBlank(text)) return []
  const limit = adapter?.capabilities ?? defaultLimit
  return adapter?.capabilities.splitsLongMessages === true
    ? [text]
    : split(bounded(text, limit.maxMessageLength), limit)
}

/** One message of the platform: words, or files with a caption. */
interface Part {
  readonly text: string
  readonly media: ReadonlyArray<MediaFile>
}

const rowsOf = (
  outgoing: Unwritten,
  parts: ReadonlyArray<Part>,
  sender: Sender,
  transcriptId: number | null
): ReadonlyArray<NewDelivery> =>
  parts.map(({ media, text }, index) => ({
    cause: outgoing.cause,
    // The reply hangs on the first piece only (gateway.md 3.8): a private topic's adapter puts in the anchor it needs.
    address: index === 0 ? outgoing.address : { ...outgoing.address, anchor: null },
    text,
    ...(media.length === 0 ? {} : { media }),
    part: index + 1,
    parts: parts.length,
    transcriptId,
    via: outgoing.via,
    state: "sending",
    ...(index === 0 ? {} : { follows: true }),
    replyToPerson: outgoing.replyToPerson,
    resendOf: null,
    ...sender
  }))

const make = Effect.gen(function* () {
  const environment = yield* AmbientEnvironment
  const outbox = yield* Outbox
  const registry = yield* AdapterRegistry
  const database = yield* Database
  const redactor = yield* Redactor
  const scope = yield* Effect.scope
  const holds = yield* Holds.make
  const ledger = yield* Ledger.make(holds)
  const files = yield* MediaFiles
  const shaping = Shaping.make(files, redactor)
  const courier = yield* Courier.make(ledger, holds, files, yield* Nursery.make)
  const waiting = yield* Waiting.make(holds, ledger, courier, scope)
  const recovery = yield* Recovery.make(ledger)
  const streams = yield* ReplyStream.make(ledger, courier, holds)

  /** Dies, as every reader of the turn does, when the tag is not the fiber's own. */
  const sender: Effect.Effect<Sender> = Effect.flatMap(Turn.currentOption, (turn) =>
    Effect.map(Turn.peek, ({ identity, marker }) => ({
      turnId: Option.match(turn, { onNone: () => null, onSome: ({ id }) => id }),
      sessionKey: Field.valueOrNull(identity.sessionKey),
      isCron: isCronAt(environment, marker)
    }))
  )

  const shaped = Effect.fnUntraced(function* (outgoing: Unwritten) {
    const adapter = yield* registry.get(outgoing.address.platform)
    const from = yield* sender
    const { albums, left, text } = yield* shaping.shape(outgoing, adapter)
    const [first] = albums
    // A message that has grown already cannot become a file: it names it.
    const words = text === "" && outgoing.grown !== undefined && first !== undefined ? (first[0]?.name ?? "") : text
    const named: ReadonlyArray<Part> = [
      ...partsOf(words, adapter).map((piece) => ({ text: piece, media: [] })),
      ...albums.map((media) => ({ text: "", media }))
    ]
    // Whoever waits for an answer never gets silence.
    const isAwaited = outgoing.replyToPerson && outgoing.cause.kind === "turn"
    const parts = named.length > 0 || !isAwaited ? named : [{ text: Notice.replyEmpty().text, media: [] }]
    const step = (transcriptId: number | null): Step<ReadonlyArray<DeliveryRow>> => {
      const rows = rowsOf(outgoing, parts, from, transcriptId)
      const [first, ...rest] = rows
      const { grown } = outgoing
      if (grown === undefined || first === undefined) return ledger.insert(rows)
      const row = Effect.catchTag(ledger.become(grown.id, first), "SqlError", () => alreadyThere(first))
      return Effect.zipWith(row, ledger.insert(rest), (grownRow, others) => [grownRow, ...others])
    }
    return { step, left }
  })

  const prepare = (outgoing: Unwritten) => Effect.map(shaped(outgoing), ({ step }) => step)

  /** An earlier life of this turn answered: its row stands as it is. */
  const alreadyThere = (delivery: NewDelivery): Step<DeliveryRow> =>
    Effect.flatMap(ledger.insert([delivery]), ([row]) =>
      row === undefined ? Effect.dieMessage("a delivery is neither new nor there") : Effect.succeed(row)
    )

  /** What is written down to be sent is sent: no interruption comes between the two. */
  const writeAndSend = (operation: string, step: Step<ReadonlyArray<DeliveryRow>>, buttons: ReadonlyArray<Button>) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(database.write(operation, step), (rows) =>
        Effect.flatMap(courier.begin(rows, buttons, undefined), restore)
      )
    )

  const deliver = (outgoing: Outgoing) =>
    Effect.gen(function* () {
      const { left, step } = yield* shaped(outgoing)
      const delivered = yield* writeAndSend("delivery.insert", step(outgoing.transcriptId), outgoing.buttons ?? [])
      return delivered.deliveries.length > 0 || left.length === 0
        ? { ...delivered, left }
        : { ...delivered, left, problem: `nothing was sent: ${left.join("; ")}` }
    })

  const resend = (id: string) =>
    Effect.gen(function* () {
      const row = yield* outbox.get(id)
      if (row === null) return yield* new Resend.DeliveryNotFound({ id })
      const detail = Resend.refusal(row, yield* outbox.ofCause(row.cause.kind, row.cause.id))
      if (detail !== null) return yield* new Resend.ResendRefused({ id, detail })
      const copy = Resend.copyOf(row, "sending", row.state === "unknown")
      // Two who ask at once are given the same row, which is sent once.
      return yield* writeAndSend("delivery.resend", ledger.insert([copy]), [])
    })

  const stream = Effect.fnUntraced(function* (outgoing: Omit<Outgoing, "text" | "transcriptId">) {
    const adapter = yield* registry.get(outgoing.address.platform)
    if (adapter === null || !adapter.capabilities.messageEditing) return null
    const from = yield* sender
    return yield* streams.open({
      adapter,
      address: outgoing.address,
      row: (text, suffix) => ({
        cause: { kind: outgoing.cause.kind, id: `${outgoing.cause.id}~${suffix}` },
        address: outgoing.address,
        text,
        part: 1,
        parts: 1,
        transcriptId: null,
        via: outgoing.via,
        state: "sending",
        // Half an answer is never sent again.
        replyToPerson: false,
        resendOf: null,
        ...from
      })
    })
  })

  /** The streamed message gets the final text: its row is the first part's, or hands its message over to it. */
  const finishStream = (started: DeliveryRow, rows: ReadonlyArray<DeliveryRow>, along?: Step<void>) =>
    Effect.gen(function* () {
      const [first, ...rest] = rows
      if (first === undefined || first.id === started.id) return yield* courier.begin(rows, [], along)
      const handedOver = first.state === "sending" ? started.platformMessageId : null
      yield* ledger.settle(
        [[started, { _tag: "Suppressed", reason: `the answer is ${first.id}` }]],
        handedOver === null ? undefined : outbox.noteMessage(first.id, handedOver)
      )
      const answer = handedOver === null ? first : { ...first, platformMessageId: handedOver }
      return yield* courier.begin([answer, ...rest], [], along)
    })

  const begin: (typeof Delivery.Service)["begin"] = (rows, { along, started = null } = {}) =>
    Effect.uninterruptible(started === null ? courier.begin(rows, [], along) : finishStream(started, rows, along))

  const typing = (address: Address): Effect.Effect<void> =>
    Effect.flatMap(registry.get(address.platform), (adapter) =>
      adapter === null || !adapter.capabilities.typing
        ? Effect.void
        : adapter.typing(address).pipe(
            Effect.disconnect,
            Effect.timeoutOption(typingBound),
            Effect.catchAllDefect((defect) => Effect.logDebug("typing could not be shown", defect)),
            Effect.asVoid
          )
    )

  return Delivery.of({
    prepare,
    begin,
    dispatch: (rows, buttons, along) =>
      Effect.uninterruptibleMask((restore) => Effect.flatMap(courier.begin(rows, buttons ?? [], along), restore)),
    deliver: Effect.fn("Delivery.deliver")(deliver),
    resend: Effect.fn("Delivery.resend")(resend),
    stream,
    typing,
    recover: Effect.gen(function* () {
      const found = yield* recovery.settle
      const sent = yield* waiting.sendDue
      yield* waiting.start
      return { sent, ...found }
    }).pipe(Effect.withSpan("Delivery.recover"))
  })
})

/** Sends over the registered adapters; what waits is sent by a worker from the first `recover` on. */
export const layer: Layer.Layer<
  Delivery,
  never,
  Activity | AdapterRegistry | AmbientEnvironment | Database | Ids | MediaFiles | Outbox | Redactor
> = Layer.scoped(Delivery, make)
