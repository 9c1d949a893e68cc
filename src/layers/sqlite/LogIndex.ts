/**
 * Where the frames of a write-ahead log are found: the `-shm` file, which all processes share as memory and which nothing
 * in it guards. A byte that flips there makes SQLite read an older page in the place of the newest, and what is then
 * written upon it takes acknowledged rows away without a word. So the writer looks whether it still says what it said.
 *
 * The layout is SQLite's (walformat.html): two copies of a header, then blocks of 32 KiB, each the pages of its frames in
 * order and a hash table of them. Only whoever holds the write lock changes it, and it is looked at under that lock.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs"
import { endianness } from "node:os"
import * as DatabaseFile from "./DatabaseFile.js"

const blockBytes = 32_768
const slots = 8_192
/** Frames of the first block, which has the header in front, and of each other. */
const firstFrames = 4_062
const otherFrames = 4_096
const pagesBytes = blockBytes - 2 * slots
const copyBytes = 48
const logHeaderBytes = 32
const frameHeaderBytes = 24
/** So many of the newest frames are compared with the log: each is a look into the file. */
const mostCompared = 2_048

export interface LogIndex {
  /**
   * What is wrong, for good; null while nothing is. To be asked by whoever holds the write lock, before a commit.
   * `thorough`: where pages were read again, frames that are new since the last such look are compared with the log, too.
   */
  readonly damage: (thorough: boolean) => string | null
  /** Frames that were in the log when it was last looked at; 0 where nobody looks. */
  readonly frames: () => number
  readonly close: () => void
}

export const none: LogIndex = { damage: () => null, frames: () => 0, close: () => {} }

/**
 * Open descriptors by the file that they mean. To close one drops the locks that SQLite has on the file in this process, so
 * it is kept until nobody here has the database open.
 */
const opened = new Map<string, { readonly descriptor: number; holders: number }>()

const hold = (name: string): { readonly descriptor: number; readonly release: () => void } | null => {
  const identity = DatabaseFile.identityOf(name)
  if (identity === null) return null
  const found = opened.get(identity) ?? { descriptor: openSync(name, "r"), holders: 0 }
  found.holders += 1
  opened.set(identity, found)
  return {
    descriptor: found.descriptor,
    release: () => {
      found.holders -= 1
      if (found.holders > 0) return
      opened.delete(identity)
      closeSync(found.descriptor)
    }
  }
}

interface Seen {
  readonly bytes: Buffer
  readonly frames: number
  readonly salt: string
}

const blockOf = (frame: number): number =>
  frame <= firstFrames ? 0 : 1 + Math.floor((frame - firstFrames - 1) / otherFrames)
const beforeBlock = (block: number): number => (block === 0 ? 0 : firstFrames + (block - 1) * otherFrames)
const framesIn = (block: number): number => (block === 0 ? firstFrames : otherFrames)

/** The page of the n-th frame of a block. */
const pageAt = (bytes: Buffer, block: number, index: number): number =>
  bytes.readUInt32LE(block * blockBytes + pagesBytes - 4 * (framesIn(block) - index + 1))

const slotAt = (bytes: Buffer, block: number, slot: number): number =>
  bytes.readUInt16LE(block * blockBytes + pagesBytes + 2 * slot)

/** Would a search for the page come by this frame? */
const isFound = (bytes: Buffer, block: number, index: number, page: number): boolean => {
  for (let slot = (page * 383) % slots, tries = 0; tries < slots; slot = (slot + 1) % slots, tries += 1) {
    const there = slotAt(bytes, block, slot)
    if (there === index) return true
    if (there === 0) return false
  }
  return false
}

/** The hash table of a block: numbers as they lie there, because to read each through the buffer takes ten times as long. */
const tableOf = (bytes: Buffer, block: number): Uint16Array =>
  new Uint16Array(bytes.buffer, bytes.byteOffset + block * blockBytes + pagesBytes, slots)

/** Everything that was said of frames that were there before is said still. */
const saysTheSame = (before: Seen, now: Buffer): boolean => {
  for (let block = 0; block <= blockOf(before.frames); block += 1) {
    const from = block * blockBytes
    const count = Math.min(framesIn(block), before.frames - beforeBlock(block))
    const pages = from + pagesBytes - 4 * framesIn(block)
    if (now.compare(before.bytes, pages, pages + 4 * count, pages, pages + 4 * count) !== 0) return false
    const table = from + pagesBytes
    if (now.compare(before.bytes, table, table + 2 * slots, table, table + 2 * slots) === 0) continue
    const [said, says] = [tableOf(before.bytes, block), tableOf(now, block)]
    for (let slot = 0; slot < slots; slot += 1) {
      const was = said[slot] ?? 0
      if (was !== 0 && was <= count && says[slot] !== was) return false
    }
  }
  return true
}

const detail =
  "the index of its write-ahead log, which is in memory, was changed by something else; it is made anew from the log at the next start"

/** For as long as the database is open in this process. Answers {@link none} where there is no such index, or no way to read it. */
export const open = (file: string): LogIndex => {
  if (endianness() !== "LE") return none
  const held = hold(`${file}-shm`)
  if (held === null) return none
  const log = openSync(`${file}-wal`, "r")
  const number = Buffer.alloc(4)
  let seen: Seen | null = null
  /** What was seen before is read over: new memory each time would be collected in the middle of commits. */
  let spare: Buffer | null = null
  /** Up to this frame each was compared with the log. */
  let compared = 0
  let found: string | null = null

  const pageInLog = (frame: number, pageBytes: number): number => {
    const at = logHeaderBytes + (frame - 1) * (frameHeaderBytes + pageBytes)
    return readSync(log, number, 0, 4, at) === 4 ? number.readUInt32BE(0) : 0
  }

  const read = (): (Seen & { readonly pageBytes: number }) | null => {
    const size = fstatSync(held.descriptor).size
    if (size < blockBytes) return null
    const bytes = spare?.length === size ? spare : Buffer.allocUnsafeSlow(size)
    spare = bytes
    if (readSync(held.descriptor, bytes, 0, size, 0) !== size) return null
    // Where the copies differ SQLite makes the whole anew.
    if (bytes.compare(bytes, copyBytes, 2 * copyBytes, 0, copyBytes) !== 0 || bytes[12] === 0) return null
    const pageSize = bytes.readUInt16LE(14)
    return {
      bytes,
      frames: bytes.readUInt32LE(16),
      salt: bytes.toString("hex", 32, 40),
      pageBytes: (pageSize & 0xfe00) + ((pageSize & 1) << 16)
    }
  }

  const isInLog = (now: Seen & { readonly pageBytes: number }, frame: number): boolean => {
    const block = blockOf(frame)
    const index = frame - beforeBlock(block)
    const page = pageAt(now.bytes, block, index)
    return page === pageInLog(frame, now.pageBytes) && isFound(now.bytes, block, index, page)
  }

  const isWhole = (thorough: boolean): boolean => {
    const now = read()
    if (now === null || blockOf(now.frames) * blockBytes >= now.bytes.length) {
      seen = null
      return true
    }
    const before = seen !== null && seen.salt === now.salt && seen.frames <= now.frames ? seen : null
    spare = seen?.bytes ?? null
    seen = now
    if (before === null) compared = 0
    else if (!saysTheSame(before, now.bytes)) return false
    if (!thorough) return true
    const from = Math.max(compared, now.frames - mostCompared) + 1
    compared = now.frames
    for (let frame = from; frame <= now.frames; frame += 1) if (!isInLog(now, frame)) return false
    return true
  }

  return {
    damage: (thorough) => {
      if (found === null && !isWhole(thorough)) found = detail
      return found
    },
    frames: () => seen?.frames ?? 0,
    close: () => {
      closeSync(log)
      held.release()
    }
  }
}
