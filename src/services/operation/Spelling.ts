/** What somebody may have meant: for unknown commands and settings. Pure. */

/** Single-letter edits (insert, delete, replace) that turn one word into the other. */
export const distance = (a: string, b: string): number => {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, substitution))
    }
    previous = row
  }
  return previous[b.length] ?? 0
}

/** The known words at most `edits` away, nearest first. */
export const near = (typed: string, known: ReadonlyArray<string>, edits: number): ReadonlyArray<string> =>
  known
    .map((word) => ({ word, edits: distance(typed, word) }))
    .filter((candidate) => candidate.edits <= edits)
    .sort((a, b) => a.edits - b.edits)
    .map((candidate) => candidate.word)

/** The known word that a mistyped one is most like; null when none is near. */
export const closest = (typed: string, known: ReadonlyArray<string>): string | null =>
  near(typed, known, Math.max(typed.length < 5 ? 1 : 2, Math.floor(typed.length / 5)))[0] ?? null
