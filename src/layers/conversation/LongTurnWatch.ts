/** Says that a turn is alive, or may be stuck, and when nothing happens in it any more (gateway.md 3.6, 3.11). */
import { Effect } from "effect"
import type { Approvals } from "../../services/approval/Approval.js"
import type { InboxEntry } from "../../services/conversation/Inbox.js"
import * as LongTurn from "../../services/conversation/LongTurn.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { NoticeText } from "../../services/delivery/Notifier.js"
import type { Drain } from "../../services/operation/Drain.js"
import type { SettingsShape } from "../../services/operation/Settings.js"
import type { SessionKey } from "../../services/session/SessionKey.js"
import type { StateError } from "../../services/state/StateError.js"
import type { Progress } from "../operation/Progress.js"

export interface WatchServices {
  readonly settings: SettingsShape
  readonly drain: typeof Drain.Service
  readonly approvals: typeof Approvals.Service
  readonly progress: Progress
  /** Tells the chat of an event; `about` names the word, which is said once. */
  readonly tellOf: (entry: InboxEntry, about: string, notice: NoticeText) => Effect.Effect<void>
}

export interface WatchedTurn {
  readonly turnId: string
  readonly entry: InboxEntry
  readonly startedAt: number
  readonly stopping: boolean
  readonly spoken: boolean
  /** What its chat was told of how long it takes. */
  said: LongTurn.Said
}

const notices = {
  heartbeat: Notice.runHeartbeat,
  stalled: Notice.runStalled,
  warning: Notice.runInactiveWarning,
  end: Notice.runInactiveKilled
}

/** Looks at a turn at the instant `now` (milliseconds); true when it is to be ended. Who is asked something is waited for. */
export const look = (
  { approvals, drain, progress, settings, tellOf }: WatchServices,
  key: SessionKey,
  turn: WatchedTurn,
  now: number
): Effect.Effect<boolean, StateError> =>
  Effect.gen(function* () {
    if (turn.stopping || turn.spoken || (yield* drain.draining) !== null) return false
    const sign = progress.of(turn.turnId)
    const idleMillis = now - Math.max(turn.startedAt, sign?.at ?? 0)
    const runningMillis = now - turn.startedAt
    const { said, word } = LongTurn.next(settings.notices.longTurn, { runningMillis, idleMillis }, turn.said)
    if (word === null) {
      turn.said = said
      return false
    }
    if ((yield* approvals.open(key)).length > 0) return false
    turn.said = said
    const minutes = Math.round((word === "heartbeat" ? runningMillis : idleMillis) / 60_000)
    const trouble = sign?.trouble ?? null
    const doing = sign?.doing ?? trouble
    const stoppable = turn.entry.arrival.unattended === null
    yield* tellOf(turn.entry, `${turn.turnId}:${runningMillis}`, notices[word]({ minutes, doing, trouble, stoppable }))
    return word === "end"
  })
