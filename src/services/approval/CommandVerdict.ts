/** From findings to a verdict, with the owner's own lists: what they never want, and what they always allow. Pure. */
import type { Found, Judged } from "./CommandLine.js"
import type { Lifecycle, Reason, Verdict } from "./CommandJudge.js"

export interface Lists {
  /** Patterns (`*`, `?`) of command lines that are never run. */
  readonly deny: ReadonlyArray<string>
  /** Rules by their name or text, whole lines, or patterns of single commands, that are not asked about. */
  readonly allow: ReadonlyArray<string>
}

/** What ends the gateway ends who would have to be asked: where nobody is there, it is never run (cron-delivery.md 1.10). */
export const endsGateway = new Set(["own-service", "power", "kill-all"])

/** Where nobody can be asked, what is not understood is not run at all. */
const notUnderstood = new Set(["unparsable", "depth", "length", "invisible", "judge"])

/** `*` stands for any text, `?` for one character; in time in proportion to pattern × text. */
const matches = (pattern: string, text: string): boolean => {
  const wanted = pattern.trim().toLowerCase()
  const given = text.trim().toLowerCase()
  let at = 0
  let star = -1
  let from = 0
  for (let next = 0; next < given.length;) {
    const letter = wanted.charAt(at)
    if (letter === "*") {
      star = at++
      from = next
    } else if (at < wanted.length && (letter === "?" || letter === given.charAt(next))) {
      at++
      next++
    } else if (star >= 0) {
      at = star + 1
      next = ++from
    } else return false
  }
  while (wanted.charAt(at) === "*") at++
  return at === wanted.length
}

/** The first of the owner's patterns that a line, or a command in it, falls under. */
export const denied = (lines: ReadonlyArray<string>, deny: ReadonlyArray<string>): string | null =>
  deny.find((pattern) => pattern.trim() !== "" && lines.some((line) => matches(pattern, line))) ?? null

const allowed = (found: Found, source: string, allow: ReadonlyArray<string>): boolean =>
  allow.some(
    (entry) =>
      entry.trim() !== "" &&
      (entry === found.rule ||
        entry === found.text ||
        entry.trim() === source.trim() ||
        (found.command !== null && matches(entry, found.command)))
  )

const mostReasons = 8

const reasonsOf = (found: ReadonlyArray<Found>): ReadonlyArray<Reason> => {
  const reasons = new Map<string, Reason>()
  for (const { rule, text } of found) if (reasons.size < mostReasons) reasons.set(`${rule}\n${text}`, { rule, text })
  return [...reasons.values()]
}

/** Where the commands of a line are not surely known, all that may be one. */
const pieces = (source: string): ReadonlyArray<string> => source.split(/[\n;|&(){}`]+/)

export const of = (
  judged: { readonly source: string; readonly found: ReadonlyArray<Found>; readonly commands: ReadonlyArray<string> },
  lists: Lists,
  unattended: boolean
): Verdict => {
  const unread = lists.deny.length > 0 && judged.found.some(({ rule }) => notUnderstood.has(rule))
  const lines = [judged.source, ...judged.commands, ...(unread ? pieces(judged.source) : [])]
  const pattern = denied(lines, lists.deny)
  if (pattern !== null)
    return { verdict: "never", reasons: [{ rule: "deny", text: `the owner's list forbids \`${pattern}\`` }] }
  const nevers = judged.found.filter(({ verdict }) => verdict === "never")
  if (nevers.length > 0) return { verdict: "never", reasons: reasonsOf(nevers) }
  const asks = judged.found.filter((found) => !allowed(found, judged.source, lists.allow))
  if (asks.length === 0) return { verdict: "allow", reasons: [] }
  const unclear = unattended && asks.some(({ rule }) => notUnderstood.has(rule) || endsGateway.has(rule))
  return { verdict: unclear ? "never" : "ask", reasons: reasonsOf(asks) }
}

const foreign =
  /^(unparsable|depth|length|judge|inline-code|piped-code|decoded-code|decoded-text|remote-code|hidden-command|starts-command|system)$/

/** What a script would do to the gateway that runs it. */
export const lifecycle = ({ found, runs }: Judged): Lifecycle => {
  const ends = found.find(({ rule }) => endsGateway.has(rule))
  return {
    ends: ends === undefined ? null : { rule: ends.rule, text: ends.text },
    unclear: found.some(({ rule }) => foreign.test(rule)),
    runs
  }
}
