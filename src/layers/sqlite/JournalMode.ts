/** Whether a database keeps a write-ahead log (state-agent.md 1.4): only where that is safe. */
import type { SqlConnection } from "@effect/sql"
import { Effect, Schema } from "effect"
import { statfsSync } from "node:fs"
import path from "node:path"
import process from "node:process"
import { detailOf } from "./SqliteFailure.js"

export type JournalMode = "wal" | "delete"

/** SQLite 3.7.0 to 3.51.2 may lose a reset log; 3.44.6 and 3.50.7 are mended ones of older lines. */
export const hasWalResetBug = (version: string): boolean => {
  const [major = 0, minor = 0, patch = 0] = version.split(".").map(Number)
  const number = major * 1_000_000 + minor * 1_000 + patch
  if (number < 3_007_000 || number >= 3_051_003) return false
  return !((minor === 44 && patch >= 6) || (minor === 50 && patch >= 7))
}

/**
 * File systems of Linux, by `f_type`, that other machines may share: a log's index is memory that they do not see.
 * FUSE too: virtiofs and sshfs are among what is behind it.
 */
const shared: ReadonlyMap<number, string> = new Map([
  [0x01021997, "9p"],
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x65735546, "FUSE or virtiofs"],
  [0x5346414f, "AFS"],
  [0x00c36400, "Ceph"],
  [0x7461636f, "OCFS2"],
  [0x01161970, "GFS2"],
  [0x0bd00bd0, "Lustre"],
  [0x786f4256, "a VirtualBox folder"]
])

/** The name of a shared file system under `f_type`; null for one that is this machine's own. */
export const sharedFileSystem = (type: number): string | null => shared.get(type >>> 0) ?? null

const fileSystemOf = (file: string): string | null =>
  process.platform === "linux" ? sharedFileSystem(statfsSync(path.dirname(file)).type) : null

/** Why a database should have no write-ahead log; null when nothing speaks against one. */
export const objection = (facts: {
  readonly wanted: JournalMode
  readonly sqlite: string
  readonly fileSystem: string | null
}): string | null => {
  if (facts.wanted === "delete") return "database.journal_mode is delete"
  if (facts.fileSystem !== null) return `${facts.fileSystem} may be shared with other machines`
  return hasWalResetBug(facts.sqlite) ? `SQLite ${facts.sqlite} may lose a log` : null
}

const Version = Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ version: Schema.String })))
const Mode = Schema.decodeUnknown(Schema.Tuple(Schema.Struct({ journal_mode: Schema.String })))

/**
 * Brings a database into the mode that is wanted, or as near to it as is safe, and answers the one it is in. A log that
 * somebody else uses is not taken away: that is tried without waiting, and otherwise it stays, with a warning.
 */
export const settle = (file: string, connection: SqlConnection.Connection, wanted: JournalMode) =>
  Effect.gen(function* () {
    const ask = (sql: string) => connection.executeUnprepared(sql, [], undefined)
    const [{ version: sqlite }] = yield* Effect.flatMap(ask("SELECT sqlite_version() AS version"), Version)
    const mode = Effect.map(Effect.flatMap(ask("PRAGMA journal_mode"), Mode), ([row]) => row.journal_mode)
    const against = objection({ wanted, sqlite, fileSystem: fileSystemOf(file) })
    const present = yield* mode
    const set = (to: JournalMode) => ask(`PRAGMA journal_mode = ${to}`)
    if (against === null) {
      if (present === "wal") return "wal" as const
      const refused = yield* Effect.match(set("wal"), { onFailure: detailOf, onSuccess: () => "it was not taken" })
      if ((yield* mode) === "wal") return "wal" as const
      yield* Effect.logWarning(`no write-ahead log for ${file}: ${refused}; each commit waits for readers now`)
      return "delete" as const
    }
    if (present !== "wal") return "delete" as const
    yield* ask("PRAGMA busy_timeout = 0")
    const refused = yield* Effect.match(set("delete"), { onFailure: detailOf, onSuccess: () => null })
    if (refused === null && (yield* mode) !== "wal") return "delete" as const
    yield* Effect.logWarning(
      `${file} keeps its write-ahead log, although ${against}: ${refused ?? "it was not given up"}; stop every other process that has it open and start again`
    )
    return "wal" as const
  })
