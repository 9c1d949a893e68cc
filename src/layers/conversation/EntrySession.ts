import type { InboxEntry } from "../../services/conversation/Inbox.js"
import type { SessionStore } from "../../services/session/SessionStore.js"

/** The session that an event speaks of: the one that it names, else its conversation's. Null where there is none; none is made. */
export const peek = (sessions: Pick<typeof SessionStore.Service, "get" | "peek">, { event, key }: InboxEntry) =>
  event.sessionId === null ? sessions.peek(key) : sessions.get(event.sessionId)
