/**
 * What a dead process leaves: database and log as they lie in the files, the log cut at its last commit or somewhere in
 * what was being written after it. Another process copies them: whoever closes a database's file lets go of all the
 * locks that his process has on it.
 */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { Socket } from "node:net"
import process from "node:process"
import type { Writable } from "node:stream"
import type { Chance } from "./Chance.js"

const undertaker = `while IFS= read -r from && IFS= read -r to; do
  cp "$from" "$to" && { [ ! -e "$from-wal" ] || cp "$from-wal" "$to-wal"; } && echo copied || echo failed
done`

interface Copier {
  readonly asks: Writable
  readonly answers: Socket
}
let copier: Copier | null = null

/** One for all worlds; it keeps nobody from ending, and ends with who asked it. */
const started = (): Copier => {
  if (copier !== null) return copier
  const child = spawn("/bin/sh", ["-c", undertaker], { stdio: ["pipe", "pipe", "inherit"] })
  const { stdin: asks, stdout: answers } = child
  if (!(asks instanceof Socket && answers instanceof Socket)) throw new Error("a child's pipes are no sockets")
  child.unref()
  asks.unref()
  answers.unref()
  process.once("exit", () => child.kill())
  copier = { asks, answers }
  return copier
}

/** Copies a database and its log. */
export const copy = (from: string, to: string): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    const { answers, asks } = started()
    answers.ref()
    answers.once("data", (said: Buffer) => {
      answers.unref()
      resume(said.toString().trim() === "copied" ? Effect.void : Effect.dieMessage(`${from} could not be copied`))
    })
    asks.write(`${from}\n${to}\n`)
  })

const headerBytes = 32
const frameHeaderBytes = 24

interface Log {
  readonly bytes: Buffer
  readonly frameBytes: number
  /** Where the last commit in it ends. */
  readonly committed: number
}

/** Follows the log as SQLite does when it recovers: as far as salts and checksums are right (fileformat2.html, 4.3). */
const read = (file: string): Log | null => {
  if (!existsSync(file)) return null
  const bytes = readFileSync(file)
  if (bytes.length < headerBytes) return null
  const isLittle = (bytes.readUInt32BE(0) & 1) === 0
  const word = (at: number): number => (isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at))
  const frameBytes = bytes.readUInt32BE(8) + frameHeaderBytes
  let one = bytes.readUInt32BE(24)
  let other = bytes.readUInt32BE(28)
  const sum = (from: number, to: number): void => {
    for (let at = from; at < to; at += 8) {
      one = (one + word(at) + other) >>> 0
      other = (other + word(at + 4) + one) >>> 0
    }
  }
  let committed = headerBytes
  for (let at = headerBytes; at + frameBytes <= bytes.length; at += frameBytes) {
    if (bytes.compare(bytes, 16, 24, at + 8, at + 16) !== 0) break
    sum(at, at + 8)
    sum(at + frameHeaderBytes, at + frameBytes)
    if (bytes.readUInt32BE(at + 16) !== one || bytes.readUInt32BE(at + 20) !== other) break
    if (bytes.readUInt32BE(at + 4) !== 0) committed = at + frameBytes
  }
  return { bytes, frameBytes, committed }
}

/** How a log ends: as it lies there, right behind its last commit, or in the middle of a frame that came after it. */
export type Ending = "as it is" | "at the commit" | "torn"

/** Cuts the log of a copied database; answers how. */
export const cutLog = (file: string, chance: Chance): Ending => {
  const ending = chance.weighted<Ending>([
    [1, "as it is"],
    [2, "at the commit"],
    [2, "torn"]
  ])
  const log = ending === "as it is" ? null : read(`${file}-wal`)
  if (log === null || log.committed === headerBytes) return "as it is"
  const whole = log.bytes.subarray(0, log.committed)
  if (ending === "at the commit") {
    writeFileSync(`${file}-wal`, whole)
    return ending
  }
  // The log's own salts and a page that has not all arrived: of a frame, or of one whole frame and the next.
  const torn = Buffer.alloc(1 + chance.below(2 * log.frameBytes), chance.below(256))
  log.bytes.copy(torn, 8, 16, Math.min(24, 16 + Math.max(0, torn.length - 8)))
  writeFileSync(`${file}-wal`, Buffer.concat([whole, torn]))
  return ending
}
