/** Hands internal events to their conversations: one transaction makes each a row of the inbox and writes its receipt. */
import { Clock, Effect, Layer } from "effect"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import { Parcel } from "../../fibers/Parcel.js"
import * as Turn from "../../fibers/Turn.js"
import { Conversations } from "../../services/conversation/Conversations.js"
import { Inbox } from "../../services/conversation/Inbox.js"
import {
  arrivalOf,
  inboundOf,
  InternalEvents,
  type InternalRow,
  routeOf
} from "../../services/conversation/InternalEvents.js"
import { TurnStore } from "../../services/conversation/TurnStore.js"
import * as Notice from "../../services/delivery/Notice.js"
import { Notifier } from "../../services/delivery/Notifier.js"
import { Drain } from "../../services/operation/Drain.js"
import { Ids } from "../../services/operation/Ids.js"
import { Readiness } from "../../services/operation/Readiness.js"
import * as SharedMinute from "../../services/operation/SharedMinute.js"
import type { Session } from "../../services/session/Session.js"
import type { SessionKey } from "../../services/session/SessionKey.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import { Database } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"

/**
 * A full conversation, or a database that takes nothing for a while, is tried again this often; and looked for this often
 * is what another process leaves. Where there is none of that, a look now and then is for one that began since.
 */
const lookAgain = 5_000

/** Copies of copies of a conversation that are followed. */
const mostBranches = 50

/** Where the conversation is that asked for the work. */
type Standing =
  | { readonly _tag: "Open"; readonly session: Session }
  | { readonly _tag: "Aside"; readonly session: Session }
  | { readonly _tag: "Closed" }

const aside = (session: Session): Standing => ({ _tag: "Aside", session })

const make = Effect.gen(function* () {
  const events = yield* InternalEvents
  const inbox = yield* Inbox
  const conversations = yield* Conversations
  const sessions = yield* SessionStore
  const turns = yield* TurnStore
  const database = yield* Database
  const drain = yield* Drain
  const ids = yield* Ids
  const readiness = yield* Readiness
  const notifier = yield* Notifier

  /** The conversation that goes on in a copy that was made of it. */
  const copyOf = (key: SessionKey, sessionId: string): Effect.Effect<Session | null, StateError> =>
    Effect.gen(function* () {
      const now = yield* sessions.peek(key)
      let from: Session | null = now
      for (let step = 0; from !== null && step < mostBranches; step++) {
        if (from.parentId === null) return null
        const parent: Session | null = yield* sessions.get(from.parentId)
        if (parent?.endReason !== "branched") return null
        if (parent.id === sessionId) return now
        from = parent
      }
      return null
    })

  /** One that its person closed stays closed; one that was put aside for another may be gone on with. */
  const standingOf = (key: SessionKey, sessionId: string): Effect.Effect<Standing, StateError> =>
    Effect.gen(function* () {
      const asked = yield* sessions.get(sessionId)
      if (asked === null) return { _tag: "Closed" }
      if (asked.endedAt === null) return asked.key === key ? { _tag: "Open", session: asked } : aside(asked)
      const copy = yield* copyOf(key, sessionId)
      if (copy !== null) return { _tag: "Open", session: copy }
      return asked.endReason === "session_switch" ? aside(asked) : { _tag: "Closed" }
    })

  /** It waits for its conversation, and the person hears that it does. */
  const putAside = (row: InternalRow, session: Session, key: SessionKey, turn: Turn.Turn) =>
    Effect.gen(function* () {
      if (!(yield* database.write("internal.aside", events.putAside(row.cause, session.id, key)))) return
      yield* notifier.tell(
        { sessionKey: key, address: DeliveryOrigin.chat(turn.origin), about: row.cause.id },
        Notice.reportWaits({ conversation: session.title ?? session.id })
      )
    })

  const refuse = (row: InternalRow, reason: string) =>
    Effect.zipRight(
      database.write("internal.refuse", events.refuse(row.cause, reason)),
      Effect.logInfo("an internal event has no conversation to go to").pipe(
        Effect.annotateLogs({ kind: row.cause.kind, id: row.cause.id, reason })
      )
    )

  /** Was the message that the turn answered let in by a code alone? Then so is what comes of it. */
  const isOfPaired = (turn: Turn.Turn): Effect.Effect<boolean, StateError> =>
    Effect.gen(function* () {
      const inboxId = (yield* turns.get(turn.id))?.inboxId ?? null
      const asked = inboxId === null ? null : yield* inbox.get(inboxId)
      return asked?.arrival.paired === true
    }).pipe(Effect.catchTag("StateRowUnreadable", () => Effect.succeed(false)))

  const admit = (row: InternalRow) =>
    Effect.gen(function* () {
      const turn = yield* Parcel.open(row.parcel, () => Turn.current)
      const route = routeOf(turn)
      if (route._tag === "Nowhere") return yield* refuse(row, route.reason)
      const { key } = route
      const standing = yield* standingOf(key, route.sessionId)
      if (standing._tag === "Closed") return yield* refuse(row, "the conversation that asked for it was closed")
      const { session } = standing
      if (standing._tag === "Aside") return yield* putAside(row, session, key, turn)
      const arrival = { ...arrivalOf(turn), ...((yield* isOfPaired(turn)) ? { paired: true } : {}) }
      if (!(yield* conversations.reserve(key))) return
      const event = inboundOf({ ...row, turn }, session.id, yield* Clock.currentTimeMillis)
      const id = yield* ids.next("event")
      const entry = yield* database
        .write(
          "internal.accept",
          Effect.gen(function* () {
            // The receipt decides: whoever settled it before has handed it over.
            if (!(yield* events.accept(row.cause, id))) return null
            return yield* inbox.acceptWith(id, key, event, arrival)
          }),
          "transcript"
        )
        .pipe(Effect.onError(() => conversations.release(key)))
      yield* entry === null ? conversations.release(key) : conversations.offer(entry)
    })

  /** Answers how long nothing is to be looked for that is not announced. */
  const look = Effect.gen(function* () {
    // While it drains nothing new begins: the next start hands it over.
    if ((yield* drain.draining) !== null) return lookAgain
    const waiting = yield* events.waiting
    yield* Effect.forEach(waiting, admit, { discard: true })
    return waiting.length > 0 || (yield* events.mayBeLeft) ? lookAgain : yield* SharedMinute.wait
  }).pipe(
    Effect.catchAllCause((cause) =>
      Effect.as(Effect.logWarning("internal events could not be handed over, trying again", cause), lookAgain)
    )
  )

  yield* Turn.forkWorker(
    Effect.zipRight(
      readiness.await,
      Effect.forever(Effect.flatMap(look, (millis) => Effect.timeoutOption(events.announced, millis)))
    )
  )
})

/** Works as long as the layer lives, from the moment on at which what an earlier process left is in its place. */
export const layer: Layer.Layer<
  never,
  never,
  InternalEvents | Inbox | Conversations | SessionStore | TurnStore | Database | Drain | Ids | Readiness | Notifier
> = Layer.scopedDiscard(make)
