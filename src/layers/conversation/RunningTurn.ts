/** A conversation's turn while it runs: a fiber of its own, entered from its event, and the texts that steer it. */
import { Clock, Effect } from "effect"
import type * as Nursery from "../../fibers/Nursery.js"
import * as Turn from "../../fibers/Turn.js"
import type { Steer } from "../../services/agent/Agent.js"
import type { Inbox, InboxEntry } from "../../services/conversation/Inbox.js"
import * as LongTurn from "../../services/conversation/LongTurn.js"
import * as Notice from "../../services/delivery/Notice.js"
import * as AdmissionTurn from "./AdmissionTurn.js"
import type { Opened } from "./TurnOpening.js"
import type { Beginning, InterruptCause, TurnRun } from "./TurnRun.js"

/** What changes while it runs. */
interface Changing {
  /** Texts sent for this turn that its agent has not taken yet. */
  readonly steering: Array<InboxEntry>
  /** Why it is interrupted, if it is. */
  cause: InterruptCause
  stopping: boolean
  /** What its chat was told of how long it takes. */
  said: LongTurn.Said
  /** Its last words are on their way: what comes now is for after it. */
  spoken: boolean
}

export interface RunningTurn extends Changing {
  readonly turnId: Turn.TurnId
  readonly sessionId: string
  readonly entry: InboxEntry
  readonly fiber: Turn.TurnFiber<void>
  readonly startedAt: number
}

export interface StartServices {
  readonly nursery: Nursery.Nursery
  readonly inbox: typeof Inbox.Service
  readonly turnRun: TurnRun
}

export interface StartOptions {
  readonly entry: InboxEntry
  readonly opened: Omit<Opened, "_tag">
  readonly beginning: Beginning
  /** Texts that steer the turn leave their places in the queue at once; the effect tells that they get no other turn. */
  readonly steered: (entries: ReadonlyArray<InboxEntry>) => Effect.Effect<void>
  /** Runs at its end, whatever that is. */
  readonly ended: Effect.Effect<unknown>
}

/** Starts the turn of an event in the services' nursery; it is certain to begin, and so to end. */
export const start = Effect.fnUntraced(function* (
  { inbox, nursery, turnRun }: StartServices,
  { beginning, ended, entry, opened, steered }: StartOptions
): Effect.fn.Return<RunningTurn> {
  const { close, session, turn } = opened
  const startedAt = yield* Clock.currentTimeMillis
  const changing: Changing = {
    steering: [],
    cause: "message",
    stopping: false,
    said: LongTurn.nothingSaid,
    spoken: false
  }

  /** Settled in the transaction that stores the tool result with which the agent takes them. */
  const takeSteer: Effect.Effect<Steer | null> = Effect.suspend(() => {
    const taken = changing.steering.splice(0)
    if (taken.length === 0) return Effect.succeed(null)
    return Effect.succeed({
      text: Notice.steered(taken.map(({ event }) => ({ text: event.text, source: event.source }))),
      taken: Effect.forEach(taken, ({ id }) => inbox.settle(id, "steered", null), { discard: true }),
      told: steered(taken)
    })
  })

  const body = turnRun.run({
    entry,
    session,
    beginning,
    takeSteer,
    interruptCause: Effect.sync(() => changing.cause),
    spoken: Effect.sync(() => {
      changing.spoken = true
    })
  })
  const fiber = yield* Turn.forkCertain(nursery)(
    Turn.cleared(AdmissionTurn.enter(turn)(body)).pipe(Effect.ensuring(Effect.zipRight(close, ended)))
  )
  return Object.assign(changing, { turnId: turn.id, sessionId: session.id, entry, fiber, startedAt })
})

/** Interrupts it once, and waits for nothing. */
export const interrupt = (run: RunningTurn): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (run.stopping) return Effect.void
    run.stopping = true
    return Turn.interruptSoon(run.fiber)
  })
