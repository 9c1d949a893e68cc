/** Whether a conversation begins anew by itself: its owner's rule says so, and nothing is at work behind it (gateway.md 2.4, decision 32). */
import { Clock, Effect } from "effect"
import type { InboundEvent } from "../../services/conversation/InboundEvent.js"
import type { Delegation } from "../../services/delegation/Delegation.js"
import type { SettingsShape } from "../../services/operation/Settings.js"
import * as ResetRules from "../../services/session/ResetRules.js"
import type { SessionKey } from "../../services/session/SessionKey.js"
import type { SessionStore } from "../../services/session/SessionStore.js"
import type { Processes } from "../../services/shell/Process.js"
import type { StateError } from "../../services/state/StateError.js"

export interface RenewalServices {
  readonly settings: SettingsShape
  readonly sessions: typeof SessionStore.Service
  readonly processes: typeof Processes.Service
  readonly delegation: typeof Delegation.Service
}

/**
 * Why the conversation `key` is to begin anew before this event is answered; null while it goes on, as it does for what nobody
 * said, for an event that names its session, and where helpers or commands still work.
 */
export const due = Effect.fnUntraced(function* (
  { delegation, processes, sessions, settings }: RenewalServices,
  key: SessionKey,
  event: InboundEvent
): Effect.fn.Return<string | null, StateError> {
  const { reset } = settings.conversation
  if (reset.mode === "none" || event.internal !== null || event.sessionId !== null) return null
  const session = yield* sessions.peek(key)
  if (session === null || session.suspended || session.messageCount === 0) return null
  const now = yield* Clock.currentTimeMillis
  const reason = ResetRules.reason(reset, session.lastActivityAt, now, settings.timezone)
  if (reason === null || (yield* processes.running(key)) > 0) return null
  const delegates = yield* delegation.running
  return delegates.some(({ sessionKey }) => sessionKey === key) ? null : reason
})
