/**
 * What outlives a reload of a tab and is in no row: the tab keeps it itself, because the gateway never had a message that
 * it refused, or that is still on its way. Each tab has its own, as each shows what was typed in it.
 */
import { type Aside, isOfRestart, isOfTrouble, isOfWaiting, waits } from "./asides.js"

const place = "hermes asides"
/** Of an older page they may have another shape. */
const layout = 1
/** Characters; the oldest are left out first. A browser keeps some millions. */
const longest = 1_000_000

/** As text, as far as it is not too long. */
export const written = (asides: ReadonlyArray<Aside>): string => {
  let length = 0
  const first = asides.findLastIndex((aside) => (length += JSON.stringify(aside).length) > longest)
  return JSON.stringify({ layout, asides: asides.slice(first + 1) })
}

const isKept = (value: unknown): value is { readonly asides: ReadonlyArray<Aside> } =>
  typeof value === "object" &&
  value !== null &&
  "layout" in value &&
  value.layout === layout &&
  "asides" in value &&
  Array.isArray(value.asides)

/** Commands that become a message of their own. */
const becomesRow = (text: string): boolean => !text.startsWith("/") || /^\/(?:queue|q|steer|retry)\b/i.test(text)

/** How a message may have gone on meanwhile: what was on its way is sent again, and taken once; a command was answered. */
const resumed = (aside: Aside): Aside => {
  if (aside.kind === "notice") return aside
  if (aside.state === "sending") return { ...aside, state: "unsent" }
  return aside.state === "sent" && !becomesRow(aside.text) ? { ...aside, state: "command" } : aside
}

/** What was true of the moment alone: the gateway tells it again where it still is. */
const isPast = ({ code }: Extract<Aside, { readonly kind: "notice" }>): boolean =>
  isOfRestart(code) || isOfTrouble(code)

export const readFrom = (text: string): ReadonlyArray<Aside> => {
  const value: unknown = JSON.parse(text)
  if (!isKept(value)) return []
  const asides = value.asides.map(resumed)
  const waiting = new Set(asides.flatMap((aside) => (aside.kind === "said" && waits(aside) ? [aside.id] : [])))
  return asides.flatMap((aside, index): ReadonlyArray<Aside> => {
    if (aside.kind === "said") return [aside]
    if (isPast(aside) || (isOfWaiting(aside.code) && !waiting.has(aside.about ?? ""))) return []
    // The page counts its notices anew.
    return [{ ...aside, id: `kept ${index}` }]
  })
}

/** A browser may allow no storage: then nothing is kept. */
export const keep = (asides: ReadonlyArray<Aside>): void => {
  try {
    sessionStorage.setItem(place, written(asides))
  } catch {
    return
  }
}

export const kept = (): ReadonlyArray<Aside> => {
  try {
    return readFrom(sessionStorage.getItem(place) ?? "null")
  } catch {
    return []
  }
}
