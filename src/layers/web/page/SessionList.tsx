import type { VNode } from "preact"
import type { Session } from "./gateway.js"

const when = (iso: string): string => {
  const date = new Date(iso)
  const now = new Date()
  if (now.toDateString() === date.toDateString())
    return date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })
  const year = now.getFullYear() === date.getFullYear() ? {} : ({ year: "numeric" } as const)
  return date.toLocaleDateString([], { day: "numeric", month: "short", ...year })
}

export const titleOf = (session: Session): string => session.title ?? `Conversation of ${when(session.startedAt)}`

const surfaces: { readonly [name: string]: string } = {
  web: "here",
  cli: "terminal",
  telegram: "Telegram",
  api_server: "API"
}

const facts = (session: Session, working: boolean, asking: boolean): string => {
  const surface = session.platform ?? session.source
  return [
    asking ? "asks you" : working ? "working" : session.endedAt === null ? null : "ended",
    surfaces[surface] ?? surface,
    when(session.lastActivityAt)
  ]
    .filter((fact) => fact !== null)
    .join(" · ")
}

export const SessionList = (props: {
  readonly sessions: ReadonlyArray<Session>
  readonly current: string | null
  /** Ids of the sessions in which something runs. */
  readonly working: ReadonlySet<string>
  /** Keys of the sessions that wait for an answer. */
  readonly asking: ReadonlySet<string>
  /** Null: a new one. */
  readonly onOpen: (id: string | null) => void
  readonly jobsShown: boolean
  readonly onJobs: () => void
}): VNode => (
  <nav class="sessions" aria-label="Conversations">
    <button type="button" class="new" onClick={() => props.onOpen(null)}>
      New conversation
    </button>
    <button
      type="button"
      class={props.jobsShown ? "session jobs-link current" : "session jobs-link"}
      aria-current={props.jobsShown ? "page" : undefined}
      onClick={props.onJobs}
    >
      <span class="title">Jobs and reminders</span>
    </button>
    <ul>
      {props.sessions.map((session) => {
        const isCurrent = session.id === props.current && !props.jobsShown
        const isAsking = session.endedAt === null && session.key !== null && props.asking.has(session.key)
        return (
          <li key={session.id}>
            <button
              type="button"
              class={isCurrent ? "session current" : "session"}
              aria-current={isCurrent ? "page" : undefined}
              onClick={() => props.onOpen(session.id)}
            >
              <span class="title">{titleOf(session)}</span>
              {session.unread && !isCurrent ? (
                <span class="dot">
                  <span class="unseen">unread</span>
                </span>
              ) : null}
              <span class={isAsking ? "facts asks" : "facts"}>
                {facts(session, props.working.has(session.id), isAsking)}
              </span>
            </button>
          </li>
        )
      })}
    </ul>
  </nav>
)
