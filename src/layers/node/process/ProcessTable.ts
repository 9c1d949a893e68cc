/** The processes of this machine as the kernel lists them: `/proc` where there is one, else `ps`. */
import { Effect } from "effect"
import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs"

export interface Entry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  /** Null where the system does not say. */
  readonly session: number | null
  /** Tells a process from a later one with the same pid; empty where the system does not say. */
  readonly startedAt: string
}

const hasProc = existsSync("/proc/self/stat")

const read = (file: string): Buffer | null => {
  try {
    return readFileSync(file)
  } catch {
    // it ended in the meantime, or is not ours to look at
    return null
  }
}

const parseStat = (pid: number, stat: string): Entry | null => {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  const [state, parent, group, session] = fields
  if (state === "Z" || state === "X" || parent === undefined) return null
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startedAt: fields[19] ?? ""
  }
}

const fromProc = Effect.sync((): ReadonlyArray<Entry> =>
  readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    const stat = read(`/proc/${name}/stat`)
    const entry = stat === null ? null : parseStat(Number(name), stat.toString("latin1"))
    return entry === null ? [] : [entry]
  })
)

/** Exported for its test: the columns are those that `ps` of every Unix has. */
export const parsePs = (text: string): ReadonlyArray<Entry> =>
  text.split("\n").flatMap((line) => {
    const [pid, parent, group, state] = line.trim().split(/\s+/)
    if (pid === undefined || parent === undefined || group === undefined || state?.startsWith("Z") !== false) return []
    return [{ pid: Number(pid), parent: Number(parent), group: Number(group), session: null, startedAt: "" }]
  })

const fromPs = Effect.async<ReadonlyArray<Entry>>((resume) => {
  execFile(
    "ps",
    ["-A", "-o", "pid=,ppid=,pgid=,stat="],
    { env: { PATH: "/bin:/usr/bin", LC_ALL: "C" }, timeout: 2_000, maxBuffer: 16_777_216 },
    (error, text) => {
      resume(
        error === null
          ? Effect.succeed(parsePs(text))
          : Effect.as(Effect.logWarning("the processes cannot be listed", error), [])
      )
    }
  )
})

/** Every living process; those that ended but were not collected are left out. */
export const list: Effect.Effect<ReadonlyArray<Entry>> = hasProc ? fromProc : fromPs

/** A living process by its pid; null when there is none. */
export const find = (pid: number): Effect.Effect<Entry | null> =>
  hasProc
    ? Effect.sync(() => {
        const stat = read(`/proc/${pid}/stat`)
        return stat === null ? null : parseStat(pid, stat.toString("latin1"))
      })
    : Effect.map(list, (entries) => entries.find((entry) => entry.pid === pid) ?? null)

/** Pids of this very moment, newest first; null where the kernel does not list them. */
export const pids = (): ReadonlyArray<number> | null =>
  hasProc
    ? readdirSync("/proc")
        .flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
        .toSorted((a, b) => b - a)
    : null

/** The first process that was started with this text in its environment and leads its group; null where that cannot be seen. */
export const carrying = (text: string): Effect.Effect<Entry | null> =>
  Effect.map(list, (entries) => entries.find((entry) => entry.group === entry.pid && carries(entry.pid, text)) ?? null)

/** Does the process carry this text in the environment that it was started with? False where that cannot be seen. */
export const carries = (pid: number, text: string): boolean =>
  hasProc && (read(`/proc/${pid}/environ`)?.includes(text) ?? false)

/** The kernel's mark on its own threads, which never have an environment (PF_KTHREAD). */
const kernelThread = 0x0020_0000

/** As {@link carries}; null while a living process has none, as it is when another program is just being put into it. */
export const mayCarry = (pid: number, text: string): boolean | null => {
  const environment = hasProc ? read(`/proc/${pid}/environ`) : null
  if (environment !== null && environment.length > 0) return environment.includes(text)
  const stat = hasProc ? read(`/proc/${pid}/stat`)?.toString("latin1") : undefined
  if (stat === undefined || parseStat(pid, stat) === null) return false
  const flags = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[6])
  return (flags & kernelThread) === 0 ? null : false
}

const directoryOf = (pid: number): string | null => {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    // it ended in the meantime, or is not ours to look at
    return null
  }
}

/** How many processes have their working directory in this folder; none are seen where the kernel does not say. `folder` is a real path. */
export const workingIn = (folder: string): Effect.Effect<number> =>
  Effect.sync(
    () =>
      (pids() ?? []).filter((pid) => {
        const directory = directoryOf(pid)
        return directory !== null && (directory === folder || directory.startsWith(`${folder}/`))
      }).length
  )
