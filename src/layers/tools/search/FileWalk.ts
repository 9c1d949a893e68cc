import { Clock, Effect } from "effect"
import { readdir } from "node:fs/promises"
import * as path from "node:path"

/** Directories that hold no work of the person's. */
export const skipped: ReadonlySet<string> = new Set([
  ".git",
  ".hg",
  ".svn",
  "node_modules",
  "__pycache__",
  ".venv",
  ".worktrees"
])

/** Kernel trees, where reading has effects and does not end. */
const kernel = /^\/(proc|sys|dev)(\/(?!shm(\/|$))|$)/

/** Is it such a tree, or in one? */
export const isKernel = (absolute: string): boolean => kernel.test(absolute)

const mostEntries = 200_000

export interface Found {
  /** Files in the order of their names, each relative to the root with `/` between its parts. */
  readonly files: ReadonlyArray<string>
  /** Not all was looked at: too many entries, or too late. */
  readonly stopped: boolean
  readonly unreadable: number
}

/**
 * The regular files below a directory that `isWanted` takes, at most `limit`. Links are not followed; a directory that
 * cannot be read is counted and left out.
 */
export const files = (
  root: string,
  options: {
    readonly isWanted: (file: string) => boolean
    readonly isHidden: (absolute: string) => boolean
    readonly limit: number
    /** Epoch milliseconds. */
    readonly deadline: number
  }
): Effect.Effect<Found> =>
  Effect.gen(function* () {
    const found: Array<string> = []
    const pending: Array<string> = [""]
    let entries = 0
    let unreadable = 0
    while (pending.length > 0 && found.length < options.limit) {
      if (entries > mostEntries || (yield* Clock.currentTimeMillis) > options.deadline)
        return { files: found, stopped: true, unreadable }
      const directory = pending.pop() ?? ""
      const absolute = path.join(root, directory)
      if (isKernel(absolute) || options.isHidden(absolute)) continue
      const listing = yield* Effect.option(Effect.tryPromise(() => readdir(absolute, { withFileTypes: true })))
      if (listing._tag === "None") {
        unreadable += 1
        continue
      }
      const sorted = listing.value.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      entries += sorted.length
      const below: Array<string> = []
      for (const entry of sorted) {
        const file = directory === "" ? entry.name : `${directory}/${entry.name}`
        if (entry.isDirectory() && !skipped.has(entry.name)) below.push(file)
        else if (entry.isFile() && options.isWanted(file) && !options.isHidden(path.join(root, file))) found.push(file)
      }
      pending.push(...below.reverse())
    }
    return { files: found.slice(0, options.limit), stopped: found.length > options.limit, unreadable }
  })
