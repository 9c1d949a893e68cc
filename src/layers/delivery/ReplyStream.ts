/**
 * A reply that grows on a surface that can edit (gateway.md 3.8): one message, sent when the turn has spoken for a while
 * and edited at a pace that flood control bears. It shows; the final text is delivered by its own rows.
 */
import { Duration, Effect } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import * as Turn from "../../fibers/Turn.js"
import type { Adapter, SendError } from "../../services/adapter/Adapter.js"
import type { ReplyStream } from "../../services/delivery/Delivery.js"
import * as MediaText from "../../services/delivery/MediaText.js"
import { type DeliveryRow, type NewDelivery, Outbox } from "../../services/delivery/Outbox.js"
import { Redactor, settledPart } from "../../services/delivery/Redactor.js"
import { measure } from "../../services/delivery/Splitter.js"
import { isBlank } from "../../services/delivery/Visible.js"
import { Ids } from "../../services/operation/Ids.js"
import { Database } from "../../services/state/Database.js"
import type { Courier } from "./Courier.js"
import { laneOf } from "./Lanes.js"
import type { Holds } from "./Holds.js"
import type { Ending, Ledger } from "./Ledger.js"

/** A reply that is complete by then is one ordinary message. */
const quietMillis = 800

/** An edit is due after this time, or earlier when enough has been added. */
const paceMillis = 800
const paceCharacters = 24

/** However much is added, edits keep this distance. */
const shortestPaceMillis = 250

/** A growing text is looked at no oftener than this. */
const lookMillis = 20

/** Refusals and pauses that end the editing for this reply. */
const maximumStrikes = 3

const editBound = Duration.seconds(10)

export interface Opening {
  readonly adapter: Adapter
  readonly address: Address
  /** The row of a message that begins to grow, under a cause of its own. */
  readonly row: (text: string, suffix: string) => NewDelivery
}

/** The message as it stands on the platform. */
interface Shown {
  readonly row: DeliveryRow
  readonly platformMessageId: string
  readonly text: string
}

export const make = (ledger: Ledger, courier: Courier, holds: Holds) =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const database = yield* Database
    const ids = yield* Ids
    const outbox = yield* Outbox
    const redactor = yield* Redactor

    const settle = (row: DeliveryRow, ending: Ending): Effect.Effect<void> =>
      Effect.catchAll(ledger.settle([[row, ending]]), (error) =>
        Effect.logWarning("a growing reply could not be settled", error)
      )

    const open = (opening: Opening): Effect.Effect<ReplyStream> =>
      Effect.sync(() => {
        const { adapter, address } = opening
        const openedAt = clock.unsafeCurrentTimeMillis()
        const lane = laneOf(address)
        let wanted = ""
        let shown: Shown | null = null
        /** Whatever is taken out of it, a longer text is no single message any more. UTF-16 units. */
        const longestShown = 4 * adapter.capabilities.maxMessageLength
        let lastAt = 0
        let lookedAt = 0
        let pace = paceMillis
        let strikes = 0
        let ended = false
        /** A message or an edit is on its way, in this fiber. */
        let busy = false
        let underway: Turn.TurnFiber<void> | null = null

        /** Without secrets and in one message; what does not fit any more waits for the final text. */
        const presentable = (text: string): string => {
          const clean = redactor.text(MediaText.shown(text)).trimEnd()
          const { lengthUnit, maxMessageLength } = adapter.capabilities
          return measure(clean, lengthUnit) <= maxMessageLength ? clean : (shown?.text ?? "")
        }

        /** The text to show now, or null: nothing new, or too soon. */
        const due = (now: number): string | null => {
          if (ended || busy || strikes >= maximumStrikes || now - openedAt < quietMillis) return null
          // A look costs as much as the text is long, and each word of the model asks for one.
          if (now - lookedAt < lookMillis || now - lastAt < shortestPaceMillis || wanted.length > longestShown)
            return null
          lookedAt = now
          const text = presentable(settledPart(wanted))
          if (isBlank(text) || text === shown?.text) return null
          const added = text.length - (shown?.text.length ?? 0)
          const enough = strikes === 0 && now - lastAt >= shortestPaceMillis && added >= paceCharacters
          return shown === null || now - lastAt >= pace || enough ? text : null
        }

        const strike = (error: SendError): Effect.Effect<void> =>
          Effect.suspend(() => {
            strikes += 1
            const asked = error._tag === "SendRetryable" ? (error.retryAfterMillis ?? 0) : 0
            pace = Math.max(pace * 2, asked)
            return Effect.logDebug("an edit of a growing reply was not taken", error)
          })

        /** Without a message that can be edited nothing grows; what is complete goes the ordinary way. */
        const giveUp = (row: DeliveryRow, ending: Ending): Effect.Effect<void> =>
          Effect.suspend(() => {
            strikes = maximumStrikes
            return settle(row, ending)
          })

        const begin = (text: string): Effect.Effect<void> =>
          Effect.gen(function* () {
            const suffix = yield* ids.next("delivery")
            const [row] = yield* database.write("delivery.stream", ledger.insert([opening.row(text, suffix)]))
            if (row === undefined) return
            const message = { address, text, deliveryId: row.id, transcriptId: null, buttons: [] }
            const sent = yield* Effect.either(courier.bounded(adapter.platform, adapter.send(message)))
            if (sent._tag === "Left") {
              const _tag = sent.left._tag === "SendUncertain" ? "Unknown" : "Failed"
              return yield* giveUp(row, { _tag, reason: sent.left.message })
            }
            const { note, platformMessageId } = sent.right
            if (platformMessageId === null) return yield* giveUp(row, { _tag: "Sent", platformMessageId, note })
            yield* database.write("delivery.note", outbox.noteMessage(row.id, platformMessageId))
            shown = { row: { ...row, text, platformMessageId }, platformMessageId, text }
          }).pipe(
            Effect.catchAll((error) =>
              Effect.suspend(() => {
                strikes = maximumStrikes
                return Effect.logWarning("a growing reply could not be stored", error)
              })
            )
          )

        const grow = (message: Shown, text: string, final: boolean): Effect.Effect<void> =>
          courier
            .bounded(adapter.platform, adapter.edit(address, message.platformMessageId, text, { final }), editBound)
            .pipe(
              Effect.zipRight(
                Effect.sync(() => {
                  shown = { ...message, text, row: { ...message.row, text } }
                })
              ),
              Effect.catchAll(strike)
            )

        /** The first message takes its place in the chat's line; an edit moves nothing and needs none. */
        const show = (text: string): Effect.Effect<void> =>
          shown === null
            ? Effect.asVoid(
                courier.lanes.inOrder(lane)(
                  Effect.suspend(() => (ended || holds.until(lane) !== null ? Effect.void : begin(text)))
                )
              )
            : grow(shown, text, false)

        const showApart = (text: string): Effect.Effect<void> =>
          Effect.suspend(() => {
            busy = true
            const done = Effect.sync(() => {
              lastAt = clock.unsafeCurrentTimeMillis()
              busy = false
            })
            return Effect.map(courier.apart(Effect.ensuring(show(text), done)), (fiber) => {
              underway = fiber
            })
          })

        /** Goes on when nothing is on its way any more. */
        const afterwards = <A>(then: Effect.Effect<A>): Effect.Effect<A> =>
          underway === null ? then : Effect.zipRight(Effect.exit(Turn.result(underway)), then)

        /** The message stands as it is; the next one is new. */
        const finish = (message: Shown, note: string | null): Effect.Effect<void> =>
          Effect.gen(function* () {
            // Where all that was shown was taken back, something has to stand there.
            const text = isBlank(wanted) ? "…" : presentable(wanted)
            if (strikes < maximumStrikes && text !== message.text) yield* grow(message, text, true)
            shown = null
            wanted = ""
            yield* settle(message.row, { _tag: "Sent", platformMessageId: message.platformMessageId, note })
          })

        const segmentEnd = Effect.suspend(() => {
          if (shown !== null) return finish(shown, "said before the answer")
          wanted = ""
          return Effect.void
        })

        return {
          update: (text) =>
            Effect.suspend(() => {
              wanted = text
              const next = due(clock.unsafeCurrentTimeMillis())
              return next === null ? Effect.void : showApart(next)
            }),
          segment: Effect.suspend(() => afterwards(segmentEnd)),
          started: Effect.suspend(() => {
            ended = true
            return afterwards(Effect.sync(() => shown?.row ?? null))
          }),
          abandon: Effect.suspend(() => {
            ended = true
            return afterwards(Effect.suspend(() => (shown === null ? Effect.void : leave(shown))))
          })
        } satisfies ReplyStream

        /** Unless the answer has taken the message over already. */
        function leave(message: Shown): Effect.Effect<void> {
          return outbox.get(message.row.id).pipe(
            Effect.flatMap((row) =>
              row !== null && row.state === "sending" && row.cause.id === message.row.cause.id
                ? finish(message, "the reply was not finished")
                : Effect.void
            ),
            Effect.catchAll((error) => Effect.logWarning("a growing reply could not be settled", error))
          )
        }
      })

    return { open }
  })
