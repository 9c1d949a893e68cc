/** One message in, and what happens because of it: the events of its turn and of its delegates, up to its last word. */
import { Effect } from "effect"
import * as Errors from "../../services/api/ApiError.js"
import type { ApiError } from "../../services/api/ApiError.js"
import { Admission, type Receipt } from "../../services/conversation/Admission.js"
import type { Arrival, InboundEvent } from "../../services/conversation/InboundEvent.js"
import { Inbox, type InboxState } from "../../services/conversation/Inbox.js"
import { Activity, type ActivityEvent } from "../../services/operation/Activity.js"
import type { SessionId } from "../../services/session/Session.js"
import { Transcript } from "../../services/session/Transcript.js"

export type LastWord = Extract<ActivityEvent, { readonly _tag: "turn.ended" }>

/** A message that admission took. */
export interface Accepted {
  readonly eventId: string
  /** Hands on every event that belongs to the message, as it happens, and ends with the last one. */
  readonly follow: (tell: (events: ReadonlyArray<ActivityEvent>) => void) => Effect.Effect<LastWord>
}

const busyCode = "busy.full"

/** Why admission did not take a message. */
const refusal = (receipt: Exclude<Receipt, { readonly _tag: "Accepted" }>): ApiError => {
  switch (receipt._tag) {
    case "Refused":
      return receipt.code === busyCode
        ? Errors.tooMany(receipt.code, receipt.text)
        : receipt.code.startsWith("drain.")
          ? Errors.unavailable(receipt.code, receipt.text)
          : Errors.conflict(receipt.code, receipt.text)
    case "Duplicate":
      return Errors.conflict("duplicate", "this message was taken before")
    case "Ignored":
      return Errors.forbidden("not_admitted", `the message was not taken: ${receipt.rule}`)
    case "Paired":
      return Errors.forbidden("not_admitted", "the message was not taken: its sender has to be let in first")
  }
}

/** How often the inbox is asked whether a message is done whose last word was missed. */
const checkEvery = "1 second"

const isDone = (state: InboxState): boolean => state !== "accepted" && state !== "running"

interface Thread {
  /** Could it belong to the message? Asked by whoever publishes, from before the message has its id. */
  readonly wants: (event: ActivityEvent) => boolean
  /** Which events belong to the message that was admitted as `eventId`. */
  readonly own: (eventId: string, sessionKey: string) => (event: ActivityEvent) => boolean
}

/** The turn that an event is part of. A stored row is its session's: it is told before and after its turn, too. */
const turnOf = (event: ActivityEvent): string | null =>
  event._tag !== "message.stored" && "turnId" in event ? event.turnId : null

/** Events that name a conversation and neither a session nor a turn of it. */
const ofSession: ReadonlySet<ActivityEvent["_tag"]> = new Set([
  "approval.answered",
  "clarification.settled",
  "notice",
  "session.changed"
])

const threadOf = (sessionId: string): Thread => {
  /** Turns of the session and their delegates', theirs, and so on. */
  const near = new Set<string>()
  const wants = (event: ActivityEvent): boolean => {
    if (ofSession.has(event._tag)) return true
    if (event._tag === "turn.started" && event.sessionId === sessionId) near.add(event.turnId)
    if (event._tag === "delegate.started" && near.has(event.turnId)) near.add(event.childTurnId)
    return ("sessionId" in event && event.sessionId === sessionId) || near.has(turnOf(event) ?? "")
  }
  return {
    wants,
    own: (eventId, sessionKey) => {
      const turns = new Set<string>()
      return (event) => {
        if (event._tag === "turn.started" && event.eventId === eventId) turns.add(event.turnId)
        if (event._tag === "turn.ended" && event.eventId !== null) return event.eventId === eventId
        if (event._tag === "delegate.started" && turns.has(event.turnId)) turns.add(event.childTurnId)
        const turnId = turnOf(event)
        if (turnId !== null) return turns.has(turnId)
        return "sessionKey" in event && event.sessionKey === sessionKey
      }
    }
  }
}

/** The way of a message through admission to its last word. Subscribed before it is admitted, so that nothing is missed. */
export const make = Effect.gen(function* () {
  const admission = yield* Admission
  const activity = yield* Activity
  const inbox = yield* Inbox
  const transcript = yield* Transcript

  /** The last word of a message whose own was missed, from the rows. */
  const rebuilt = (sessionId: SessionId, eventId: string) =>
    Effect.gen(function* () {
      const entry = yield* inbox.get(eventId)
      if (entry === null || !isDone(entry.state)) return null
      const rows = yield* transcript.page(sessionId, { limit: 50 })
      const said = rows.findLast((row) => row.turnId === entry.turnId && row.message._tag === "assistant")
      const ended: LastWord = {
        _tag: "turn.ended",
        at: said?.at ?? entry.acceptedAt,
        sessionKey: entry.key,
        sessionId,
        turnId: entry.turnId ?? eventId,
        eventId,
        outcome: entry.state,
        text: said?.message.text ?? "",
        ...(said?.message._tag === "assistant" && said.message.finishReason === "content_filter"
          ? { filtered: true }
          : {})
      }
      return ended
    })

  /** Two looks apart, because the last word follows the row. */
  const watchdog = (sessionId: SessionId, eventId: string) =>
    Effect.gen(function* () {
      let seen = false
      while (true) {
        yield* Effect.sleep(checkEvery)
        const word = yield* rebuilt(sessionId, eventId).pipe(
          Effect.catchAll((error) => Effect.as(Effect.logWarning("a message cannot be looked up", error), null))
        )
        if (word !== null && seen) return word
        seen = word !== null
      }
    })

  return {
    /** Admits a message; its events are kept for `follow` while the scope is open. */
    open: (event: InboundEvent, arrival: Arrival, sessionId: SessionId) =>
      Effect.gen(function* () {
        const thread = threadOf(sessionId)
        const feed = yield* activity.watch(thread.wants)
        const receipt = yield* admission.accept(event, arrival)
        if (receipt._tag !== "Accepted") return yield* Effect.fail(refusal(receipt))
        const { eventId, sessionKey } = receipt
        const isOwn = thread.own(eventId, sessionKey)

        const follow: Accepted["follow"] = (tell) => {
          const loop = Effect.gen(function* () {
            while (true) {
              const events = (yield* feed.take).filter(isOwn)
              if (events.length > 0) tell(events)
              const word = events.find(
                (said): said is LastWord => said._tag === "turn.ended" && said.eventId === eventId
              )
              if (word !== undefined) return word
            }
          })
          const missed = Effect.tap(watchdog(sessionId, eventId), (word) => Effect.sync(() => tell([word])))
          return Effect.raceFirst(loop, missed)
        }
        return { eventId, follow } satisfies Accepted
      })
  }
})

export type Exchange = Effect.Effect.Success<typeof make>
