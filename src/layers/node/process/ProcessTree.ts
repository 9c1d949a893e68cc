/**
 * Ends everything that a command started: its process group, the children of its children, and those that left both
 * with a double fork and `setsid`, which are known by the token in the environment they were started with.
 *
 * Not found: a process that replaced its environment *and* left its parents before anybody looked.
 */
import { Clock, Effect } from "effect"
import * as EventLoop from "../EventLoop.js"
import * as ProcessTable from "./ProcessTable.js"

export interface Root {
  /** The leader of a process group and session of its own. */
  readonly pid: number
  /** `NAME=value` as it stands in the environment of all its children. */
  readonly token: string
}

export interface Limits {
  readonly graceMillis: number
  readonly limitMillis: number
}

/** By this name in its environment a process is known to belong to a command, wherever it went. */
export const tokenName = "HERMES_COMMAND_TOKEN"

/** The token of a command as it stands in the environment of all its children. */
export const marked = (token: string): string => `${tokenName}=${token}`

/** Processes do not follow a test's clock. */
const realTime = Effect.withClock(Clock.make())

const key = (entry: ProcessTable.Entry): string => `${entry.pid}@${entry.startedAt}`

/** The living members of the tree; `known` are those seen before, by {@link key}, and grows. */
const members = (
  root: Root,
  known: Set<string>,
  entries: ReadonlyArray<ProcessTable.Entry>
): ReadonlyArray<ProcessTable.Entry> => {
  const found = new Map<number, ProcessTable.Entry>()
  const groups = new Set([root.pid])
  const belongs = (entry: ProcessTable.Entry): boolean =>
    entry.pid === root.pid ||
    known.has(key(entry)) ||
    found.has(entry.parent) ||
    groups.has(entry.group) ||
    (entry.session !== null && groups.has(entry.session))
  const add = (entry: ProcessTable.Entry): void => {
    found.set(entry.pid, entry)
    known.add(key(entry))
    if (entry.group === entry.pid || entry.session === entry.pid) groups.add(entry.pid)
  }
  const others = entries.filter((entry) => entry.pid !== process.pid && entry.pid > 1)
  for (const entry of others) if (!belongs(entry) && ProcessTable.carries(entry.pid, root.token)) add(entry)
  for (let grew = true; grew;) {
    grew = false
    for (const entry of others)
      if (!found.has(entry.pid) && belongs(entry)) {
        add(entry)
        grew = true
      }
  }
  return [...found.values()]
}

/** True unless the process is not ours to signal; one that is gone already counts as signalled. */
const signal = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    process.kill(pid, name)
    return true
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH"
  }
}

/** So many glances in a row that find nobody, and nobody is there. */
const glances = 32

/**
 * Looks for those that the table misses: who forks and ends at once is gone before its line is read, and its child is
 * not listed yet. A glance asks only who has come since the last one, the newest first, and who could not be told then.
 * True when nobody was found, nor anybody who came meanwhile and cannot be told: who was there before may have no
 * environment at all. Whoever is found is ended at once if `kill` says so.
 */
const isQuiet = (root: Root, kill: boolean): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    const elders = new Set(ProcessTable.pids() ?? [])
    let others: ReadonlySet<number> = new Set([1, process.pid])
    let isUntold = false
    for (let glance = 0; glance < glances; glance++) {
      const told = new Set([1, process.pid])
      let found = false
      isUntold = false
      for (const pid of ProcessTable.pids() ?? []) {
        const carries = others.has(pid) ? false : ProcessTable.mayCarry(pid, root.token)
        if (carries === false) told.add(pid)
        else if (carries === null) isUntold ||= !elders.has(pid)
        else {
          found = true
          if (kill) signal(pid, "SIGKILL")
        }
      }
      if (found) return false
      others = told
      yield* EventLoop.turn
    }
    return !isUntold
  })

/**
 * TERM to all, then KILL to whoever is left after `graceMillis`, again and again until nobody is or `limitMillis` have
 * passed. Answers the pids that are still there.
 */
export const end = (root: Root, options: Limits): Effect.Effect<ReadonlyArray<number>> =>
  Effect.gen(function* () {
    const known = new Set<string>()
    const look = Effect.map(ProcessTable.list, (entries) => members(root, known, entries))
    const startedAt = yield* Clock.currentTimeMillis
    const send = (name: NodeJS.Signals, to: ReadonlyArray<ProcessTable.Entry>) =>
      Effect.sync(() => {
        // the whole group at once, so that none of it forks in between; an empty one may be somebody else's by now
        if (to.some((entry) => entry.group === root.pid)) signal(-root.pid, name)
        for (const entry of to) if (entry.group !== root.pid) signal(entry.pid, name)
      })
    let living = yield* look
    yield* send("SIGTERM", living)
    for (let pause = 5; ; pause = Math.min(pause * 2, 40)) {
      const passed = (yield* Clock.currentTimeMillis) - startedAt
      if (passed >= options.limitMillis) break
      const kill = passed >= options.graceMillis
      if (kill) yield* send("SIGKILL", living)
      if (living.length > 0) yield* Effect.sleep(pause)
      else if (yield* isQuiet(root, kill)) break
      else if (!kill) yield* Effect.sleep(pause)
      living = yield* look
    }
    return living.map((entry) => entry.pid)
  }).pipe(realTime)

/** As {@link end}; who could not be ended is logged. `whose` says what started them. */
export const endOrWarn = (root: Root, options: Limits, whose: string): Effect.Effect<void> =>
  Effect.flatMap(end(root, options), (left) =>
    left.length === 0
      ? Effect.void
      : Effect.logWarning(`processes of ${whose} could not be ended`).pipe(
          Effect.annotateLogs({ pids: left.join(", ") })
        )
  )
