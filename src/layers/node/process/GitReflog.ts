/** What git wrote down of the commits that a working tree was at. Pure. */

export interface Moves {
  /** Commits that were made there. */
  readonly made: ReadonlySet<string>
  /** Commits that were left other than by going on from them: a branch has each, or nothing has. Where it is now is one. */
  readonly left: ReadonlyArray<string>
}

/** The format that {@link moves} reads: commit, tree, what was done; the newest first. */
export const format = "%H %T %gs"

interface Entry {
  readonly commit: string
  readonly tree: string
  readonly what: string
}

/** Goes to a commit that is there, and makes none. */
const goes = /^(?:checkout|reset|branch|clone):|^(?:rebase|pull)[^:]*\((?:start|finish|abort)\)|: Fast-forward$|^$/i

/** Leaves what was there for something that does not go on from it. A rewrite (`--amend`, a rebase) puts its own in the place. */
const leaves = /^(?:checkout|reset):/

/** Was what a reset left committed again by the commits that followed it at once, as one or in other pieces? */
const squashed = (entries: ReadonlyArray<Entry>, at: number, tree: string): boolean => {
  const reset = entries[at - 1]
  let place = reset?.commit
  for (const entry of entries.slice(0, Math.max(0, at - 1)).toReversed()) {
    if (goes.test(entry.what) && entry.commit !== place) return false
    if (!goes.test(entry.what) && entry.tree === tree) return true
    place = entry.commit
  }
  return false
}

/** Reads the log of one working tree. */
export const moves = (log: ReadonlyArray<string>): Moves => {
  const entries: ReadonlyArray<Entry> = log.flatMap((line) => {
    const [, commit = "", tree = "", what = ""] = /^([0-9a-f]+) ([0-9a-f]+) ?(.*)$/.exec(line) ?? []
    return commit === "" ? [] : [{ commit, tree, what }]
  })
  const left = entries.filter(({ tree }, at) => {
    const next = entries[at - 1]
    if (next === undefined) return true
    return leaves.test(next.what) && !(next.what.startsWith("reset:") && squashed(entries, at, tree))
  })
  return {
    made: new Set(entries.flatMap(({ commit, what }) => (goes.test(what) ? [] : [commit]))),
    left: [...new Set(left.map(({ commit }) => commit))]
  }
}
