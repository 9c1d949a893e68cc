/** What belongs to a conversation and is in no row of its transcript: messages on their way, and what the gateway says beside it. Pure. */
import type { Attached, Message } from "./gateway.js"
import { atEnd } from "./state.js"

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
  readonly after: number
}

export type Aside = Said | Notice

/** As many as are kept; older ones are forgotten. */
const kept = 100

export const added = (asides: ReadonlyArray<Aside>, aside: Aside): ReadonlyArray<Aside> =>
  [...asides, aside].slice(-kept)

/** Could a row, or a last word, still be about it? */
export const waits = (said: Said): boolean =>
  said.state === "sending" || said.state === "sent" || said.state === "unsent"

/** The message within a command that sends one. */
const message = (text: string): string => text.replace(/^\/(?:queue|q|steer)\s+/i, "").trim()

/** The row of a message with files names them before its text. */
const isRowOf = (text: string, said: Said): boolean =>
  text === message(said.text) || (said.files.length > 0 && text.endsWith(`\n${message(said.text)}`))

/** What was said is a row now: each row stands for one of the messages with its text. */
export const withoutStored = (
  asides: ReadonlyArray<Aside>,
  sessionId: string,
  rows: ReadonlyArray<Message>
): ReadonlyArray<Aside> => {
  const stored = rows.filter((row) => row.role === "user")
  const left = asides.filter((aside) => {
    if (aside.kind !== "said" || aside.sessionId !== sessionId || !waits(aside)) return true
    const index = stored.findIndex((row) => (row.id > aside.after || aside.after === atEnd) && isRowOf(row.text, aside))
    if (index < 0) return true
    stored.splice(index, 1)
    return false
  })
  return left.length === asides.length ? asides : left
}

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

/** The message that a last word is about, as far as it can be told: events do not name it as the page does. */
export const settled = (
  asides: ReadonlyArray<Aside>,
  sessionId: string,
  outcome: "command" | "steered" | "dropped",
  after: number
): ReadonlyArray<Aside> => {
  const waiting = asides.filter(
    (aside): aside is Said => aside.kind === "said" && aside.sessionId === sessionId && waits(aside)
  )
  const command = outcome === "command" ? waiting.find((said) => said.text.startsWith("/")) : undefined
  const about = command ?? waiting[0]
  return about === undefined
    ? asides
    : asides.map((aside) => (aside === about ? { ...about, state: outcome, after } : aside))
}

/** What was said about waiting is of no interest when the wait is over. */
export const withoutBusy = (asides: ReadonlyArray<Aside>, sessionId: string): ReadonlyArray<Aside> => {
  const left = asides.filter(
    (aside) => aside.kind !== "notice" || aside.sessionId !== sessionId || !aside.code.startsWith("busy.")
  )
  return left.length === asides.length ? asides : left
}

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

const isOfRestart = (code: string): boolean => code === "restart.going" || code.startsWith("drain.")

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
