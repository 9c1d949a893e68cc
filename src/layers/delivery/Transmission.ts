/**
 * One row's way over one adapter, and what is known of it afterwards (gateway.md 3.8). It is sent again only where
 * nothing can have arrived; whatever is in doubt stays in doubt.
 */
import { Clock, Duration, Effect, Random } from "effect"
import * as CutText from "../../services/operation/CutText.js"
import type { Deadlines } from "../../fibers/Deadlines.js"
import {
  type Adapter,
  type Button,
  type OutboundFile,
  type SendError,
  SendRefused,
  SendUncertain
} from "../../services/adapter/Adapter.js"
import type { MediaFiles } from "../../services/delivery/MediaFiles.js"
import type { DeliveryRow } from "../../services/delivery/Outbox.js"
import { measure, split } from "../../services/delivery/Splitter.js"
import type { StateError } from "../../services/state/StateError.js"

export type Outcome =
  | { readonly _tag: "Sent"; readonly platformMessageId: string | null; readonly note: string | null }
  | { readonly _tag: "Failed"; readonly reason: string }
  | { readonly _tag: "Unknown"; readonly reason: string }
  /** Nothing arrived; it may be tried again from `notBefore` on (epoch milliseconds). */
  | { readonly _tag: "Waits"; readonly notBefore: number; readonly reason: string }

/** Sits out so many milliseconds before a row of which nothing has left is tried again. */
export type Pause = (millis: number, reason: string) => Effect.Effect<void, StateError>

/** How long one call of an adapter may take; after that it is in doubt. */
export const sendBound = Duration.seconds(60)

/** Files take longer (cron-delivery.md 4.8). */
const uploadBound = Duration.seconds(300)

/** Attempts after the first, here and now. */
const retries = 2

/** A longer pause than this is not sat out: the row waits, and its chat with it. */
const longestPauseMillis = 10_000

/** When here and now did not do: 1 min after the first attempt, 10 min after any other. */
const laterMillis = (attempts: number): number => (attempts <= 1 ? 60_000 : 600_000)

/** A refusal of the text's form and not of the chat: the same words without markup may pass. */
const refusedForm: ReadonlySet<string> = new Set(["bad_request", "too_long"])

/** What is kept, in UTF-16 units, of a text that was refused in its full form (gateway.md 3.8). */
const plainLength = 3_500

/** One call of an adapter, bounded; what it throws instead of saying it is in doubt, because the bytes may have left. */
export type Bounded = <A>(
  platform: string,
  call: Effect.Effect<A, SendError>,
  duration?: Duration.Duration
) => Effect.Effect<A, SendError>

export const makeBounded =
  (deadlines: Deadlines): Bounded =>
  (platform, call, duration = sendBound) =>
    deadlines.within(Duration.toMillis(duration))(
      Effect.catchAllDefect(call, (defect) =>
        Effect.zipRight(
          Effect.logError("an adapter broke", defect),
          new SendUncertain({ platform, detail: "its adapter broke; see the log" })
        )
      ),
      () => new SendUncertain({ platform, detail: `no answer within ${Duration.toSeconds(duration)} s` })
    )

/** What of an adapter carries a row, each call bounded, and how a pause between two calls is sat out. */
type Way = Pick<Adapter, "platform" | "capabilities" | "send" | "edit"> & { readonly pause: Pause }

const wayOf = (adapter: Adapter, bounded: Bounded, pause: Pause, row: DeliveryRow): Way => {
  const bound = row.media.length > 0 ? uploadBound : sendBound
  return {
    platform: adapter.platform,
    capabilities: adapter.capabilities,
    pause,
    send: (message) => bounded(adapter.platform, adapter.send(message), bound),
    edit: (...edit) => bounded(adapter.platform, adapter.edit(...edit), bound)
  }
}

type Result<A> =
  | { readonly _tag: "Done"; readonly value: A }
  | { readonly _tag: "Refused"; readonly code: string; readonly reason: string }
  | Extract<Outcome, { readonly _tag: "Unknown" | "Waits" }>

/** Calls until it is done or known why not. `idempotent`: a call in doubt may be made again. */
const persistently = <A>(
  row: DeliveryRow,
  pause: Pause,
  idempotent: boolean,
  call: Effect.Effect<A, SendError>
): Effect.Effect<Result<A>> => {
  const go = (retry: number): Effect.Effect<Result<A>> =>
    Effect.matchEffect(call, {
      onSuccess: (value) => Effect.succeed<Result<A>>({ _tag: "Done", value }),
      onFailure: (error) => (error._tag === "SendRefused" ? refused(error) : again(error, retry))
    })

  const refused = (error: Extract<SendError, { readonly _tag: "SendRefused" }>): Effect.Effect<Result<A>> =>
    Effect.succeed({ _tag: "Refused", code: error.code, reason: error.message })

  const again = (
    error: Exclude<SendError, { readonly _tag: "SendRefused" }>,
    retry: number
  ): Effect.Effect<Result<A>> =>
    Effect.gen(function* () {
      if (error._tag === "SendUncertain" && (!idempotent || retry >= retries))
        return { _tag: "Unknown" as const, reason: error.message }
      const asked = error._tag === "SendRetryable" ? error.retryAfterMillis : null
      const millis = asked ?? 2_000 * 2 ** retry + (yield* Random.nextIntBetween(0, 500))
      if (retry >= retries || millis > longestPauseMillis)
        return yield* waits(asked ?? laterMillis(row.attempts), error.message)
      // An edit in doubt is none that nothing has left of, but it is made again anyway.
      return yield* Effect.matchEffect(pause(millis, error.message), {
        onSuccess: () => go(retry + 1),
        onFailure: (problem) => waits(laterMillis(row.attempts), problem.message)
      })
    })

  const waits = (millis: number, reason: string): Effect.Effect<Result<A>> =>
    Effect.map(Clock.currentTimeMillis, (now) => ({ _tag: "Waits", notBefore: now + millis, reason }))

  return go(0)
}

const cut = (text: string, length: number): string =>
  text.length <= length ? text : `${CutText.beginning(text, length)}…`

/** Read when it is sent, and looked at once more then. */
const filesOf = (adapter: Way, files: typeof MediaFiles.Service, row: DeliveryRow): ReadonlyArray<OutboundFile> =>
  row.media.map((file) => ({
    ...file,
    content: Effect.mapError(
      files.read(file),
      (error) => new SendRefused({ platform: adapter.platform, code: "file_refused", detail: error.message })
    )
  }))

const sendPiece = (
  adapter: Way,
  row: DeliveryRow,
  text: string,
  files: ReadonlyArray<OutboundFile>,
  buttons: ReadonlyArray<Button>
): Effect.Effect<Result<{ readonly platformMessageId: string | null; readonly note: string | null }>> => {
  const message = {
    address: row.address,
    text,
    deliveryId: row.id,
    transcriptId: row.transcriptId,
    buttons: adapter.capabilities.buttons ? buttons : [],
    ...(files.length === 0 ? {} : { files })
  }
  return Effect.flatMap(persistently(row, adapter.pause, false, adapter.send(message)), (first) => {
    if (first._tag !== "Refused" || !refusedForm.has(first.code) || files.length > 0) return Effect.succeed(first)
    const plain = cut(text, plainLength)
    return Effect.map(
      persistently(row, adapter.pause, false, adapter.send({ ...message, text: plain, plain: true })),
      (second) =>
        second._tag === "Done"
          ? {
              ...second,
              value: {
                ...second.value,
                note: `sent ${plain === text ? "" : `cut to ${plainLength} characters and `}as plain text: ${first.reason}`
              }
            }
          : second
    )
  })
}

const outcomeOf = (
  result: Exclude<Result<unknown>, { readonly _tag: "Done" }>
): Exclude<Outcome, { readonly _tag: "Sent" }> =>
  result._tag === "Refused" ? { _tag: "Failed", reason: result.reason } : result

/** Where the platform names no message, the transcript row is the proof (decision 22). */
const proof = (adapter: Way, row: DeliveryRow, platformMessageId: string | null): string | null =>
  platformMessageId ?? (adapter.capabilities.platformIds || row.transcriptId === null ? null : String(row.transcriptId))

/** The text of a row is one message but for a recovered copy, which the notice may have made too long. */
const piecesOf = (adapter: Way, text: string): ReadonlyArray<string> =>
  adapter.capabilities.splitsLongMessages ||
  measure(text, adapter.capabilities.lengthUnit) <= adapter.capabilities.maxMessageLength
    ? [text]
    : split(text, adapter.capabilities)

const sendNew = Effect.fnUntraced(function* (
  adapter: Way,
  files: typeof MediaFiles.Service,
  row: DeliveryRow,
  buttons: ReadonlyArray<Button>
): Effect.fn.Return<Outcome> {
  const pieces = piecesOf(adapter, row.text)
  let first: string | null = null
  let note: string | null = null
  for (const [index, text] of pieces.entries()) {
    const last = index === pieces.length - 1
    // Of the row something has left by then, and whether this piece does stays in doubt.
    const way: Way = index === 0 ? adapter : { ...adapter, pause: (millis) => Effect.sleep(millis) }
    const result: Result<{ readonly platformMessageId: string | null; readonly note: string | null }> =
      yield* sendPiece(way, row, text, filesOf(adapter, files, row), last ? buttons : [])
    if (result._tag !== "Done") {
      if (index === 0) return outcomeOf(result)
      // Sending the row again would double what has arrived of it.
      return {
        _tag: "Failed" as const,
        reason: `only ${index} of ${pieces.length} messages arrived: ${result.reason}`
      }
    }
    first ??= result.value.platformMessageId
    note = result.value.note ?? note
  }
  const unverified = first === null && adapter.capabilities.platformIds
  return {
    _tag: "Sent" as const,
    platformMessageId: proof(adapter, row, first),
    note: note ?? (unverified ? "accepted, but the platform named no message" : null)
  }
})

/**
 * Sends a row, or, when its message is on the platform already (a streamed reply), gives that message its final text:
 * an edit may be made twice, so one in doubt is made again.
 */
export const transmit = (
  bounded: Bounded,
  over: Adapter,
  files: typeof MediaFiles.Service,
  row: DeliveryRow,
  buttons: ReadonlyArray<Button>,
  pause: Pause
): Effect.Effect<Outcome> => {
  const adapter = wayOf(over, bounded, pause, row)
  const { platformMessageId } = row
  if (platformMessageId === null || !adapter.capabilities.messageEditing) return sendNew(adapter, files, row, buttons)
  return Effect.flatMap(
    persistently(row, pause, true, adapter.edit(row.address, platformMessageId, row.text, { final: true })),
    (result): Effect.Effect<Outcome> => {
      switch (result._tag) {
        case "Done":
          return Effect.succeed({ _tag: "Sent", platformMessageId, note: null })
        case "Refused":
          return sendNew(adapter, files, row, buttons)
        default:
          return Effect.succeed(result)
      }
    }
  )
}
