/** How a run says that there is nothing to tell (cron-delivery.md 4.9). Pure. */
import { withoutInvisible } from "../delivery/Visible.js"

const words: ReadonlySet<string> = new Set([
  "[SILENT]",
  "SILENT",
  "NO_REPLY",
  "NO REPLY",
  "[静默]",
  "静默",
  "[沉默]",
  "沉默"
])
const longest = 64

/** Wide letters and punctuation as their plain ones, and the brackets of East Asian texts as square ones. */
const plain = (text: string): string =>
  withoutInvisible(text)
    .normalize("NFKC")
    .replace(/[【〔〖]/g, "[")
    .replace(/[】〕〗]/g, "]")

/** Punctuation at the edges says nothing. Brackets are the marker's own. */
const bare = (line: string): string =>
  line.replace(/^(?:[\s`~]|(?![[\]])\p{P})+|(?:[\s`~]|(?![[\]])\p{P})+$/gu, "").toUpperCase()

const isMarker = (line: string): boolean => line.trim().length <= longest && words.has(bare(line))

/**
 * Is a successful answer meant for nobody? The whole of it, its first or its last line is a marker, or it begins with a
 * bracketed one. A marker in the middle of a sentence is part of what is said.
 */
export const isSilent = (text: string): boolean => {
  const trimmed = plain(text).trim()
  if (/^(?:\[SILENT\]|\[静默\]|\[沉默\])/i.test(trimmed) || isMarker(trimmed)) return true
  const lines = trimmed.split("\n").filter((line) => line.trim() !== "")
  return isMarker(lines[0] ?? "") || isMarker(lines.at(-1) ?? "")
}
