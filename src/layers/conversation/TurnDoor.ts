/**
 * The door behind which a turn is seen: a turn begins when its first rows are committed, and nothing may come of it before
 * they are on the disk. What was said is told of, and the turn, once and then. A turn whose rows the disk did not take ends
 * at its door: whoever handed its message over is told.
 */
import { Clock, Effect } from "effect"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import type * as Turn from "../../fibers/Turn.js"
import type { ModelWait } from "../../services/agent/ModelRoute.js"
import type { InboxEntry } from "../../services/conversation/Inbox.js"
import * as Notice from "../../services/delivery/Notice.js"
import { Notifier } from "../../services/delivery/Notifier.js"
import { Activity } from "../../services/operation/Activity.js"
import type { Session } from "../../services/session/Session.js"
import type { StateError } from "../../services/state/StateError.js"
import * as ModelWaits from "./ModelWaits.js"

/** The row of what was said, as it is in the transcript. */
export interface Said {
  readonly messageId: number
  readonly at: number
  readonly text: string
}

/** A turn whose first rows are written. */
export interface Begun {
  readonly entry: InboxEntry
  readonly session: Session
  readonly turn: Turn.Turn
  /** Null of a turn that is resumed. */
  readonly said: Said | null
  /** Something was said aloud and could not be heard. */
  readonly unheard: boolean
  /** Waits until the rows are on the disk. */
  readonly kept: Effect.Effect<void, StateError>
}

export interface Door {
  readonly said: Said | null
  /** Waits until the rows are on the disk, and tells of the turn; whoever comes through later waits for nothing. */
  readonly begins: Effect.Effect<void>
  /** Told when the model has trouble and is asked again. */
  readonly waits: (wait: ModelWait) => Effect.Effect<void>
  /** The disk did not take them: nothing may come of the turn. */
  readonly refused: () => boolean
}

/** Which turn of which conversation an event is of. */
export const placeOf = (entry: InboxEntry, session: Session, turn: Turn.Turn) => ({
  sessionKey: entry.key as string,
  sessionId: session.id as string,
  turnId: turn.id as string
})

export const make = Effect.gen(function* () {
  const activity = yield* Activity
  const notifier = yield* Notifier

  const opened = Effect.fnUntraced(function* ({ entry, said, session, turn, unheard }: Begun) {
    const at = yield* Clock.currentTimeMillis
    const place = placeOf(entry, session, turn)
    // What it takes the place of is live no more: whoever shows the conversation looks at it again.
    if (entry.again === true)
      yield* activity.publish({
        _tag: "session.changed",
        at,
        sessionKey: place.sessionKey,
        sessionId: place.sessionId
      })
    if (said !== null) yield* activity.publish({ _tag: "message.stored", ...place, role: "user", ...said })
    // The answer is made without what was said: the person hears of it at once.
    if (unheard)
      yield* notifier.tell(
        { sessionKey: entry.key, address: DeliveryOrigin.chat(turn.origin), about: entry.id },
        Notice.mediaUnheard()
      )
    yield* activity.publish({
      _tag: "turn.started",
      at,
      ...place,
      eventId: entry.id,
      parentTurnId: null,
      platform: entry.event.source.platform
    })
  })

  return {
    of: (begun: Begun): Door => {
      let isOpen = false
      let isRefused = false
      const open = Effect.suspend(() => {
        if (isOpen) return Effect.void
        isOpen = true
        return opened(begun)
      })
      const refuse = (error: StateError) =>
        Effect.suspend(() => {
          if (isRefused) return Effect.interrupt
          isRefused = true
          return Effect.zipRight(
            Effect.logError("what a turn is to answer did not get onto the disk; the turn ends", error),
            Effect.interrupt
          )
        })
      const { entry, said, turn } = begun
      const place = { sessionKey: entry.key, address: DeliveryOrigin.chat(turn.origin), about: turn.id }
      return {
        said,
        waits: ModelWaits.make(notifier, place),
        begins: Effect.suspend(() =>
          isOpen
            ? Effect.void
            : Effect.matchEffect(begun.kept, { onFailure: refuse, onSuccess: () => Effect.uninterruptible(open) })
        ),
        refused: () => isRefused
      }
    }
  }
})
