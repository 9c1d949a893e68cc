/** What belongs to a conversation and is in no row of its transcript: messages on their way, and what the gateway says beside it. Pure. */
import type { Attached, Message } from "./gateway.js"
import { atEnd, type State } from "./state.js"

/** On its way, taken by the gateway, to be sent again, refused, or without a turn of its own: a command, or told to a running turn. */
export type SaidState = "sending" | "sent" | "unsent" | "refused" | "command" | "steered" | "dropped"

/** Why the gateway did not take a message. */
export interface Refusal {
  readonly code: string
  readonly text: string
}

/** What the person said and no row holds. */
export interface Said {
  readonly kind: "said"
  /** The message id under which it is sent. */
  readonly id: string
  /** Empty until the conversation that it begins is there. */
  readonly sessionId: string
  readonly text: string
  /** Files that go with it. */
  readonly files: ReadonlyArray<Attached>
  readonly state: SaidState
  readonly refusal: Refusal | null
  /** When it was said, epoch milliseconds. */
  readonly at: number
  /** The last row that was there before it. */
  readonly after: number
}

/** What the gateway said and no row holds. */
export interface Notice {
  readonly kind: "notice"
  readonly id: string
  readonly sessionId: string
  readonly code: string
  readonly text: string
  /** The message that it answers, by its id; null where it answers none. Another tab's is not among the asides. */
  readonly about: string | null
  readonly at: number
  readonly after: number
}

export type Aside = Said | Notice

/** As many as are kept; older ones are forgotten. */
const kept = 100

/** Could a row, or a last word, still be about it? */
export const waits = (said: Said): boolean =>
  said.state === "sending" || said.state === "sent" || said.state === "unsent"

/** Those of the shown conversation. What stands among rows that are not fetched yet comes with them. */
export const shownOf = ({ asides, current, loading, more, rows }: State): ReadonlyArray<Aside> => {
  const first = loading ? atEnd : more ? (rows[0]?.id ?? 0) : 0
  return asides.filter(
    (aside) => aside.sessionId === (current ?? "") && (aside.after >= first || (aside.kind === "said" && waits(aside)))
  )
}

/** Notices that a message waits: of no interest when it does not any more. */
export const isOfWaiting = (code: string): boolean =>
  code.startsWith("busy.") || code === "queue.ok" || code === "pause.held" || code === "drain.queued"

/** A gateway that was started anew says again that a message waits. */
const isSaidAgain = (known: Aside, notice: Notice): boolean =>
  known.kind === "notice" &&
  known.about === notice.about &&
  known.code === notice.code &&
  known.sessionId === notice.sessionId &&
  isOfWaiting(known.code)

/** Asides stand in the order in which they are read: what answers a message after it, before the next one. */
export const added = (asides: ReadonlyArray<Aside>, aside: Aside): ReadonlyArray<Aside> => {
  if (aside.kind === "said" || aside.about === null) return [...asides, aside].slice(-kept)
  const others = asides.filter((known) => !isSaidAgain(known, aside))
  const isThere = others.some(({ id }) => id === aside.about)
  const last = others.findLastIndex(
    (known) => known.id === aside.about || (known.kind === "notice" && known.about === aside.about)
  )
  const at = isThere ? last + 1 : others.length
  return [...others.slice(0, at), aside, ...others.slice(at)].slice(-kept)
}

/** After which row each stands: a message on its way after all of them, what answers a message with it. */
export const places = (asides: ReadonlyArray<Aside>): ReadonlyArray<number> => {
  const messages = new Map(
    asides.flatMap((aside) => (aside.kind === "said" ? [[aside.id, waits(aside) ? atEnd : aside.after] as const] : []))
  )
  return asides.map((aside) => messages.get(aside.kind === "said" ? aside.id : (aside.about ?? "")) ?? aside.after)
}

/** The message within a command that sends one. */
const message = (text: string): string => text.replace(/^\/(?:queue|q|steer)\s+/i, "").trim()

/** Its row is what was said before, which stands at the end once more. */
const isRetry = ({ text }: Said): boolean => /^\/retry\s*$/i.test(text)

/** The row of a message with files names them before its text. */
const isRowOf = (text: string, said: Said): boolean =>
  isRetry(said) || text === message(said.text) || (said.files.length > 0 && text.endsWith(`\n${message(said.text)}`))

/** What was said is a row now, or in a tool's: each row of a person stands for one of the messages with its text. */
export const withoutStored = (
  asides: ReadonlyArray<Aside>,
  sessionId: string,
  rows: ReadonlyArray<Message>
): ReadonlyArray<Aside> => {
  const stored = rows.filter((row) => row.role === "user")
  const told = new Set(rows.flatMap((row) => (row.told ?? []).map(({ messageId }) => messageId)))
  const gone = new Set(asides.flatMap(({ id }) => (told.has(id) ? [id] : [])))
  for (const aside of asides) {
    if (aside.kind !== "said" || aside.sessionId !== sessionId || !waits(aside) || gone.has(aside.id)) continue
    const index = stored.findIndex((row) => (row.id > aside.after || aside.after === atEnd) && isRowOf(row.text, aside))
    if (index < 0) continue
    stored.splice(index, 1)
    gone.add(aside.id)
  }
  return gone.size === 0
    ? asides
    : asides.filter((aside) =>
        aside.kind === "said"
          ? !gone.has(aside.id)
          : aside.about === null || !gone.has(aside.about) || !isOfWaiting(aside.code)
      )
}

/** A message is not shown any more, and nothing that was said about it. */
export const withdrawn = (asides: ReadonlyArray<Aside>, id: string): ReadonlyArray<Aside> =>
  asides.filter((aside) => aside.id !== id && (aside.kind === "said" || aside.about !== id))

/** Puts what stood at the end of a conversation after the last row that there is now. */
export const pinned = (asides: ReadonlyArray<Aside>, sessionId: string, last: number): ReadonlyArray<Aside> =>
  asides.map((aside) => (aside.sessionId === sessionId && aside.after === atEnd ? { ...aside, after: last } : aside))

/** How sending went. What has been settled since stays as it is. */
export const sent = (
  asides: ReadonlyArray<Aside>,
  id: string,
  state: SaidState,
  refusal: Refusal | null
): ReadonlyArray<Aside> =>
  asides.map((aside) =>
    aside.kind === "said" && aside.id === id && (waits(aside) || aside.state === "refused")
      ? { ...aside, state, refusal }
      : aside
  )

/** A last word on what has no row: it waits no more, and stands where it was answered. */
export const settled = (
  asides: ReadonlyArray<Aside>,
  id: string,
  outcome: "command" | "steered" | "dropped",
  after: number
): ReadonlyArray<Aside> =>
  asides.flatMap((aside): ReadonlyArray<Aside> => {
    if (aside.kind === "notice") return aside.about === id && isOfWaiting(aside.code) ? [] : [aside]
    return [aside.id === id && waits(aside) ? { ...aside, state: outcome, after } : aside]
  })

const without = (
  asides: ReadonlyArray<Aside>,
  sessionId: string,
  isOver: (notice: Notice) => boolean
): ReadonlyArray<Aside> => {
  const left = asides.filter((aside) => aside.kind === "said" || aside.sessionId !== sessionId || !isOver(aside))
  return left.length === asides.length ? asides : left
}

/** A turn begins, or ends: what was said about waiting is over, but for the messages here that wait on. */
export const withoutWaiting = (asides: ReadonlyArray<Aside>, sessionId: string): ReadonlyArray<Aside> => {
  const waiting = new Set(asides.flatMap((aside) => (aside.kind === "said" && waits(aside) ? [aside.id] : [])))
  return without(asides, sessionId, ({ about, code }) => isOfWaiting(code) && !waiting.has(about ?? ""))
}

export const isOfTrouble = (code: string): boolean => code === "run.waiting" || code === "run.stalled"

/** The model answers, or is asked no more. */
export const withoutTrouble = (asides: ReadonlyArray<Aside>, sessionId: string): ReadonlyArray<Aside> =>
  without(asides, sessionId, ({ code }) => isOfTrouble(code))

/** The model fails again: how long it is waited for now. */
export const stillTrouble = (asides: ReadonlyArray<Aside>, sessionId: string, text: string): ReadonlyArray<Aside> =>
  asides.map((aside) =>
    aside.kind === "notice" && aside.sessionId === sessionId && aside.code === "run.waiting" && aside.text !== text
      ? { ...aside, text }
      : aside
  )

/** Notices that a message was not taken. The message itself says so where it is shown. */
const refusing: ReadonlySet<string> = new Set(["drain.refused", "busy.full", "pause.refused"])

/** Does a message here say by itself what a notice says, or will it when its answer is there? */
export const isSaidByMessage = (asides: ReadonlyArray<Aside>, sessionId: string, code: string): boolean =>
  refusing.has(code) &&
  asides.some(
    (aside) =>
      aside.kind === "said" &&
      aside.sessionId === sessionId &&
      (aside.state === "sending" || aside.refusal?.code === code)
  )

export const isOfRestart = (code: string): boolean => code === "restart.going" || code.startsWith("drain.")

/** The gateway is back: nobody is told any more that it goes, and what it refused meanwhile can be sent again. */
export const withoutRestart = (asides: ReadonlyArray<Aside>): ReadonlyArray<Aside> =>
  asides.flatMap((aside): ReadonlyArray<Aside> => {
    if (aside.kind === "notice") return isOfRestart(aside.code) ? [] : [aside]
    return [aside.refusal !== null && isOfRestart(aside.refusal.code) ? { ...aside, refusal: null } : aside]
  })

/** What is kept while nobody is let in: what the person wrote and the gateway is not known to have taken. */
export const unsent = (asides: ReadonlyArray<Aside>): ReadonlyArray<Aside> =>
  asides.flatMap((aside): ReadonlyArray<Aside> => {
    if (aside.kind !== "said") return []
    return aside.state === "sending" || aside.state === "unsent" ? [{ ...aside, state: "unsent" }] : []
  })
