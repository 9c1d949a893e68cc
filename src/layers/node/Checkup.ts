/** What stands in the way of a home's gateway, and what to do about it. */
import { localTime } from "../../services/schedule/LocalTime.js"
import { Clock, Effect, Predicate } from "effect"
import * as fs from "node:fs"
import * as net from "node:net"
import path from "node:path"

export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly detail: string
  /** What a person can do; null when nothing is wrong. */
  readonly remedy: string | null
}

export const fine = (name: string, detail: string): Check => ({ name, ok: true, detail, remedy: null })
export const finding = (name: string, detail: string, remedy: string): Check => ({ name, ok: false, detail, remedy })

const modeOf = (file: string): number | null => fs.statSync(file, { throwIfNoEntry: false })?.mode ?? null

/** The files of a home that hold what is nobody else's business. */
const guarded = [".env", "auth.json", "config.yaml", "state.db", "state.db-wal", "state.db-shm"]

/** Nobody but the owner may look into the home. */
export const permissions = (home: string): Effect.Effect<Check> =>
  Effect.sync(() => {
    const open = ["", ...guarded].flatMap((name) => {
      const file = path.join(home, name)
      const mode = modeOf(file)
      return mode === null || (mode & 0o077) === 0 ? [] : [file]
    })
    return open.length === 0
      ? fine("permissions", "only the owner can read the home")
      : finding("permissions", `others can get at ${open.join(", ")}`, `chmod -R go= ${home}`)
  })

/** Can a home be written, by what the system says to that? Null is yes. SQLite makes files beside a database even to read it. */
export const writableOf = (home: string, code: string | null): Check =>
  code === null
    ? fine("home", home)
    : code === "EROFS"
      ? finding(
          "home",
          `${home} lies on a read-only file system: the database can neither be written nor looked through`,
          "mount it for writing, or use another home (--home); a disk with faults may have become read-only by itself: `dmesg` says so"
        )
      : finding(
          "home",
          `${home} cannot be written (${code}): the database can neither be written nor looked through`,
          "make its owner and its permissions yours, or run this as whom it belongs to"
        )

export const writable = (home: string): Effect.Effect<Check> =>
  Effect.sync(() => {
    try {
      fs.accessSync(home, fs.constants.W_OK)
      return writableOf(home, null)
    } catch (error) {
      return writableOf(home, Predicate.hasProperty(error, "code") ? String(error.code) : String(error))
    }
  })

/** Takes the home and what is in it away from everybody but its owner; answers what was done. */
export const shut = (home: string): Effect.Effect<ReadonlyArray<string>> =>
  Effect.sync(() => {
    const open = ["", ...guarded]
      .map((name) => path.join(home, name))
      .filter((file) => ((modeOf(file) ?? 0) & 0o077) !== 0)
    for (const file of open) fs.chmodSync(file, (modeOf(file) ?? 0) & 0o700)
    return open.map((file) => `${file} is the owner's alone`)
  })

/** Could the gateway listen there? */
export const port = (host: string, number: number): Effect.Effect<Check> =>
  number === 0
    ? Effect.succeed(fine("port", "a free one is taken at each start"))
    : Effect.async<Check>((resume) => {
        const server = net.createServer()
        server.once("error", (error) => {
          const taken = "code" in error && error.code === "EADDRINUSE"
          resume(
            Effect.succeed(
              finding(
                "port",
                taken ? `${host}:${number} is taken by another program` : `${host}:${number}: ${error.message}`,
                "stop that program, or set API_SERVER_PORT and API_SERVER_HOST"
              )
            )
          )
        })
        server.listen(number, host, () =>
          server.close(() => resume(Effect.succeed(fine("port", `${host}:${number} is free`))))
        )
        return Effect.sync(() => server.close())
      })

/** A home's newest file tells when the clock was at least. */
const newestMillis = (home: string): number =>
  Math.max(
    0,
    ...["state.db", "state.db-wal", "logs/hermes.log"].map(
      (name) => fs.statSync(path.join(home, name), { throwIfNoEntry: false })?.mtimeMs ?? 0
    )
  )

/** A file of more than this far ahead is no rounding. */
const aheadMillis = 120_000

export const clock = (home: string, timezone: string): Effect.Effect<Check> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const ahead = newestMillis(home) - now
    return ahead > aheadMillis
      ? finding(
          "clock",
          `the home was written ${Math.round(ahead / 1000)} s in the future: the clock is or was wrong`,
          "set the clock, with NTP if you can"
        )
      : fine("clock", `${localTime(now, timezone)} in ${timezone}`)
  })

const leastBytes = 200_000_000

/** Is this many free bytes enough? */
export const roomOf = (free: number): Check =>
  free >= leastBytes
    ? fine("disk", `${Math.round(free / 1e9)} GB free`)
    : finding("disk", `only ${Math.round(free / 1e6)} MB free`, "free some space: without it nothing can be stored")

export const room = (home: string): Effect.Effect<Check> =>
  Effect.sync(() => {
    const { bavail, bsize } = fs.statfsSync(home)
    return roomOf(bavail * bsize)
  })
