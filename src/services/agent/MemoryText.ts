/** The files that an agent remembers by: entries between lines of `§`, bounded in characters (state-agent.md 4.1). Pure. */
import * as PromptScan from "../schedule/PromptScan.js"

export type MemoryTarget = "memory" | "user"

export interface Operation {
  readonly action: "add" | "replace" | "remove"
  readonly content: string
  /** A part of the one entry that is meant. */
  readonly oldText: string
}

const separator = "\n§\n"
/** What is longer than this is no note. */
const longestEntry = 65_536

const plain = (text: string): string =>
  text
    .replace(/^\uFEFF/, "")
    .replaceAll("\r\n", "\n")
    .trim()

export const parse = (text: string): ReadonlyArray<string> =>
  plain(text)
    .split(/^§[ \t]*$/m)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")

export const render = (entries: ReadonlyArray<string>): string => entries.join(separator)

/** Characters, the separators with them. */
export const used = (entries: ReadonlyArray<string>): number => [...render(entries)].length

/** Was the file written by somebody who does not know its form? Then only an addition leaves it whole. */
export const hasDrifted = (text: string, limit: number): boolean => {
  const entries = parse(text)
  return render(entries) !== plain(text) || entries.some((entry) => [...entry].length > limit)
}

/** Orders or secrets slipped into an entry; null when nothing is found. Look-alike characters are seen through. */
export const threat = (entry: string): string | null =>
  entry.length > longestEntry
    ? "it is far too long for a note"
    : (PromptScan.strict(entry) ?? PromptScan.strict(entry.normalize("NFKC")))

export type Applied =
  | { readonly _tag: "Changed"; readonly entries: ReadonlyArray<string>; readonly notes: ReadonlyArray<string> }
  | { readonly _tag: "Refused"; readonly problem: string; readonly full: boolean }

const refused = (problem: string, full = false): Applied => ({ _tag: "Refused", problem, full })

const shown = (entry: string): string => (entry.length > 80 ? `${entry.slice(0, 77)}…` : entry).replace(/\s+/g, " ")

/** The entry that `part` is meant for: that is exactly it, or the only one that holds it. */
const find = (entries: ReadonlyArray<string>, part: string): number | string => {
  if (part.trim() === "")
    return `say in \`old_text\` which entry: a part of it that no other has. There are:\n${entries.map((entry) => `- ${shown(entry)}`).join("\n")}`
  const exact = entries.indexOf(part.trim())
  if (exact >= 0) return exact
  const holding = entries.filter((entry) => entry.includes(part))
  const [first] = holding
  if (first === undefined)
    return `no entry holds ${JSON.stringify(part.slice(0, 120))}; there are:\n${entries.map((entry) => `- ${shown(entry)}`).join("\n")}`
  return holding.every((entry) => entry === first)
    ? entries.indexOf(first)
    : `several entries hold ${JSON.stringify(part.slice(0, 120))}; name more of the one you mean:\n${holding.map((entry) => `- ${shown(entry)}`).join("\n")}`
}

/** Makes all of the changes or none; the limit counts at the end, so that room can be made first. */
export const apply = (before: ReadonlyArray<string>, operations: ReadonlyArray<Operation>, limit: number): Applied => {
  const entries = [...before]
  const notes: Array<string> = []
  for (const { action, content, oldText } of operations) {
    const text = content.replaceAll("\r\n", "\n").trim()
    if (action !== "remove") {
      if (text === "") return refused("the content is empty")
      if (/^§[ \t]*$/m.test(text)) return refused("a line of § alone separates entries; leave it out")
      const found = threat(text)
      if (found !== null) return refused(`this is not kept: ${found}`)
    }
    if (action === "add") {
      if (entries.includes(text)) notes.push("it was there already")
      else entries.push(text)
      continue
    }
    const at = find(entries, oldText)
    if (typeof at === "string") return refused(at)
    if (action === "remove") entries.splice(at, 1)
    else entries[at] = text
  }
  const size = used(entries)
  // what was too large before may become smaller
  if (size > limit && size >= used(before))
    return refused(
      `there is room for ${limit} characters and this would be ${size}. Make room in the same call: replace entries by shorter ones or remove some. There are:\n${before.map((entry) => `- ${entry}`).join("\n")}`,
      true
    )
  return { _tag: "Changed", entries, notes }
}

const titles: { readonly [target in MemoryTarget]: string } = {
  memory: "What you noted",
  user: "What you know of your person"
}

/** As the system prompt says it; empty when there is nothing. An entry that gives orders is named and not shown. */
export const snapshot = (target: MemoryTarget, text: string, limit: number): string => {
  const entries = parse(text)
  if (entries.length === 0) return ""
  const safe = entries.map((entry) => {
    const found = threat(entry)
    return found === null ? entry : `[BLOCKED: ${found}; remove this entry]`
  })
  const size = used(entries)
  const all = [...render(safe)]
  const most = Math.max(2 * limit, 4_000)
  const body =
    all.length <= most
      ? all.join("")
      : `${all.slice(0, Math.floor(most * 0.7)).join("")}\n[…]\n${all.slice(-Math.floor(most * 0.2)).join("")}`
  return `## ${titles[target]} (${Math.round((100 * size) / limit)} % of ${limit} characters)\n${body}`
}
