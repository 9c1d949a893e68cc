/** How a run says that there is nothing to tell (cron-delivery.md 4.9). Pure. */

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

/** Punctuation at the edges says nothing. Brackets are the marker's own. */
const bare = (line: string): string =>
  line
    .trim()
    .replace(/^[\s"'`*_.,;:!?()…]+|[\s"'`*_.,;:!?()…]+$/g, "")
    .toUpperCase()

const isMarker = (line: string): boolean => line.trim().length <= longest && words.has(bare(line))

/**
 * Is a successful answer meant for nobody? The whole of it, its first or its last line is a marker, or it begins with a
 * bracketed one. A marker in the middle of a sentence is part of what is said.
 */
export const isSilent = (text: string): boolean => {
  const trimmed = text.trim()
  if (/^(?:\[SILENT\]|\[静默\]|\[沉默\])/i.test(trimmed) || isMarker(trimmed)) return true
  const lines = trimmed.split("\n").filter((line) => line.trim() !== "")
  return isMarker(lines[0] ?? "") || isMarker(lines.at(-1) ?? "")
}
