import type { VNode } from "preact"
import type { Session } from "./gateway.js"

const when = (iso: string): string => {
  const date = new Date(iso)
  const today = new Date().toDateString() === date.toDateString()
  return today
    ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
    : date.toLocaleDateString([], { day: "numeric", month: "short" })
}

export const titleOf = (session: Session): string =>
  session.title ?? (session.messages === 0 ? "New conversation" : `Conversation of ${when(session.startedAt)}`)

export const SessionList = (props: {
  readonly sessions: ReadonlyArray<Session>
  readonly current: string | null
  readonly busy: ReadonlySet<string>
  readonly onOpen: (id: string) => void
  readonly onNew: () => void
}): VNode => (
  <nav class="sessions" aria-label="Conversations">
    <button type="button" class="primary new" onClick={props.onNew}>
      New conversation
    </button>
    <ul>
      {props.sessions.map((session) => (
        <li key={session.id}>
          <button
            type="button"
            class={session.id === props.current ? "session current" : "session"}
            aria-current={session.id === props.current ? "true" : undefined}
            onClick={() => props.onOpen(session.id)}
          >
            <span class="title">
              {session.unread && session.id !== props.current ? (
                <span class="unread">
                  <span class="unseen">unread: </span>
                </span>
              ) : null}
              {titleOf(session)}
            </span>
            <span class="facts">
              {props.busy.has(session.id) ? "working · " : ""}
              {session.platform ?? session.source} · {when(session.lastActivityAt)}
            </span>
          </button>
        </li>
      ))}
    </ul>
  </nav>
)
