import type { VNode } from "preact"
import { useEffect, useState } from "preact/hooks"
import type { SearchHit, Session } from "./gateway.js"
import { type Section, sections } from "./place.js"
import { useRemembered } from "./remembered.js"
import { clockTime } from "./time.js"

const when = (iso: string): string => {
  const date = new Date(iso)
  const now = new Date()
  if (now.toDateString() === date.toDateString()) return clockTime(date)
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
    session.archived ? "put away" : null,
    surfaces[surface] ?? surface,
    when(session.lastActivityAt)
  ]
    .filter((fact) => fact !== null)
    .join(" · ")
}

export const sectionTitles: { readonly [S in Section]: string } = {
  overview: "Overview",
  jobs: "Jobs and reminders",
  deliveries: "Messages sent",
  approvals: "Questions and answers",
  settings: "Settings"
}

/** Typing is over when nothing was typed for so long. */
const restMillis = 250

/** What stands between the marks of a hit is what was found. */
const Snippet = ({ text }: { readonly text: string }): VNode => {
  const [before = "", rest] = text.split(">>>", 2)
  const [found = "", after = ""] = rest?.split("<<<", 2) ?? []
  return (
    <span class="facts">
      {before}
      <mark>{found}</mark>
      {after}
    </span>
  )
}

const Hits = (props: {
  readonly hits: ReadonlyArray<SearchHit> | null
  readonly onOpen: (id: string) => void
}): VNode =>
  props.hits === null ? (
    <p class="quiet">Searching …</p>
  ) : props.hits.length === 0 ? (
    <p class="quiet" role="status">
      Nothing found.
    </p>
  ) : (
    <ul aria-label="Found">
      {props.hits.map((hit) => (
        <li key={hit.messageId}>
          <button type="button" class="session" onClick={() => props.onOpen(hit.sessionId)}>
            <span class="title">{hit.title ?? "Untitled"}</span>
            <Snippet text={hit.snippet} />
            <span class="facts">{when(hit.at)}</span>
          </button>
        </li>
      ))}
    </ul>
  )

/** The words that are looked for, and what was found; null while it is being asked. */
const useSearch = (search: (words: string) => Promise<ReadonlyArray<SearchHit> | null>) => {
  const [words, setWords] = useState("")
  const [hits, setHits] = useState<ReadonlyArray<SearchHit> | null>(null)
  const wanted = words.trim()
  useEffect(() => {
    setHits(null)
    if (wanted === "") return
    let isCurrent = true
    const timer = setTimeout(() => {
      void search(wanted).then((found) => {
        if (isCurrent) setHits(found ?? [])
      })
    }, restMillis)
    return () => {
      isCurrent = false
      clearTimeout(timer)
    }
  }, [wanted, search])
  return { words, setWords, hits, isSearching: wanted !== "" }
}

interface Marks {
  /** The one that is shown; null where none is. */
  readonly current: string | null
  /** Ids of the sessions in which something runs. */
  readonly working: ReadonlySet<string>
  /** Keys of the sessions that wait for an answer. */
  readonly asking: ReadonlySet<string>
  /** Null: a new one. */
  readonly onOpen: (id: string | null) => void
}

const SessionItem = ({ session, ...marks }: Marks & { readonly session: Session }): VNode => {
  const isCurrent = session.id === marks.current
  const isAsking = session.endedAt === null && session.key !== null && marks.asking.has(session.key)
  return (
    <li>
      <button
        type="button"
        class={isCurrent ? "session current" : "session"}
        aria-current={isCurrent ? "page" : undefined}
        onClick={() => marks.onOpen(session.id)}
      >
        <span class="title">
          {session.pinned ? (
            <span class="pin" role="img" aria-label="Pinned">
              ★{" "}
            </span>
          ) : null}
          {titleOf(session)}
        </span>
        {session.unread && !isCurrent ? (
          <span class="dot">
            <span class="unseen">unread</span>
          </span>
        ) : null}
        <span class={isAsking ? "facts asks" : "facts"}>{facts(session, marks.working.has(session.id), isAsking)}</span>
      </button>
    </li>
  )
}

/** Runs of jobs, which come by themselves and are many; a pinned one stands with what the person keeps. */
const isRun = ({ pinned, source }: Session): boolean => source === "cron" && !pinned

/** Under one fold, open where the person left it so. */
const Runs = ({ sessions, ...marks }: Marks & { readonly sessions: ReadonlyArray<Session> }): VNode => {
  const [open, setOpen] = useRemembered("hermes runs")
  return (
    <details class="runs" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="session">
        <span class="title">Runs of jobs</span>
        {sessions.some(({ id }) => marks.working.has(id)) ? <span class="facts">working</span> : null}
      </summary>
      <ul>
        {sessions.map((session) => (
          <SessionItem key={session.id} session={session} {...marks} />
        ))}
      </ul>
    </details>
  )
}

export const SessionList = (props: {
  readonly sessions: ReadonlyArray<Session>
  readonly current: string | null
  readonly working: Marks["working"]
  readonly asking: Marks["asking"]
  readonly onOpen: Marks["onOpen"]
  readonly onSearch: (words: string) => Promise<ReadonlyArray<SearchHit> | null>
  readonly section: Section | null
  readonly onSection: (section: Section) => void
}): VNode => {
  const { words, setWords, hits, isSearching } = useSearch(props.onSearch)
  const { asking, onOpen, working } = props
  const marks: Marks = { current: props.section === null ? props.current : null, asking, onOpen, working }
  const runs = props.sessions.filter(isRun)
  return (
    <nav class="sessions" aria-label="Conversations">
      <input
        type="search"
        aria-label="Search all conversations"
        placeholder="Search"
        autocomplete="off"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || words === "") return
          event.preventDefault()
          setWords("")
        }}
      />
      <button type="button" class="new" onClick={() => props.onOpen(null)}>
        New conversation
      </button>
      {sections.map((section) => (
        <button
          key={section}
          type="button"
          class={props.section === section ? "session section-link current" : "session section-link"}
          aria-current={props.section === section ? "page" : undefined}
          onClick={() => props.onSection(section)}
        >
          <span class="title">{sectionTitles[section]}</span>
        </button>
      ))}
      {isSearching ? (
        <Hits hits={hits} onOpen={props.onOpen} />
      ) : (
        <>
          <ul>
            {props.sessions
              .filter((session) => !isRun(session))
              .map((session) => (
                <SessionItem key={session.id} session={session} {...marks} />
              ))}
          </ul>
          {runs.length === 0 ? null : <Runs sessions={runs} {...marks} />}
        </>
      )}
    </nav>
  )
}
