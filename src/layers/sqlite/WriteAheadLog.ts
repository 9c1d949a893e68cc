/**
 * The write-ahead log as a file: its frames, which of them are damaged, and a copy in which they are mended.
 *
 * SQLite checks a frame's checksum only when it recovers a log, and there it silently forgets the first damaged frame
 * and every commit behind it. So the log is looked through before it is opened and before it is moved into the
 * database. Reading it by ordinary calls is harmless: no lock of SQLite's hangs on this file (the format is fixed:
 * https://www.sqlite.org/fileformat2.html#the_write_ahead_log).
 */
import * as fs from "node:fs"

/** What a log holds. Frames are counted from 0. */
export interface Scan {
  readonly frames: number
  /** Frames whose checksum is wrong, before frames whose checksum is right. */
  readonly damaged: ReadonlyArray<number>
  /** Commits from the first damaged frame on: what SQLite would forget. */
  readonly forgotten: number
  /** Nothing that recovery reads is wrong but the log's own header. */
  readonly headerDamaged: boolean
}

/**
 * Looks through a log; null when it holds nothing. A torn tail, which a power cut leaves of a commit that nobody was
 * told of, is no damage: nothing sound is behind it.
 *
 * It uses no name from outside, because the checkpoint thread runs its text.
 */
export function scan(log: Uint8Array): Scan | null {
  if (log.length < 32 + 24) return null
  const view = new DataView(log.buffer, log.byteOffset, log.byteLength)
  const magic = view.getUint32(0)
  let littleEndian = (magic & 1) === 0
  const sum = (from: number, to: number, seed: readonly [number, number]): readonly [number, number] => {
    let [a, b] = seed
    for (let at = from; at < to; at += 8) {
      a = (a + view.getUint32(at, littleEndian) + b) | 0
      b = (b + view.getUint32(at + 4, littleEndian) + a) | 0
    }
    return [a, b]
  }
  const stored = (at: number): readonly [number, number] => [view.getUint32(at) | 0, view.getUint32(at + 4) | 0]
  const same = (x: readonly [number, number], y: readonly [number, number]): boolean => x[0] === y[0] && x[1] === y[1]
  const headerDamaged = !same(sum(0, 24, [0, 0]), stored(24)) || (magic | 1) !== 0x377f0683
  // Then by what this program writes: SQLite's usual page, in the order of every machine that Node runs on.
  littleEndian ||= headerDamaged
  const pageSize = headerDamaged ? 4_096 : view.getUint32(8)
  const frameSize = pageSize + 24
  const most = Math.floor((log.length - 32) / frameSize)
  const frameAt = (frame: number): number => 32 + frame * frameSize
  const salts = headerDamaged ? frameAt(0) + 8 : 16
  const ofThisLog = (frame: number): boolean =>
    view.getUint32(frameAt(frame) + 8) === view.getUint32(salts) &&
    view.getUint32(frameAt(frame) + 12) === view.getUint32(salts + 4)
  const computed = (frame: number, seed: readonly [number, number]): readonly [number, number] =>
    sum(frameAt(frame) + 24, frameAt(frame) + frameSize, sum(frameAt(frame), frameAt(frame) + 8, seed))
  const sound = (frame: number, seed: readonly [number, number]): boolean =>
    ofThisLog(frame) && same(computed(frame, seed), stored(frameAt(frame) + 16))

  /** Could one word of the frame be all that is wrong? The checksum is linear in each word (see {@link mend}). */
  const isOneWordOff = (frame: number, from: readonly [number, number]): boolean => {
    const [is, should] = [computed(frame, from), stored(frameAt(frame) + 16)]
    const [x, y] = [(should[0] - is[0]) | 0, (should[1] - is[1]) | 0]
    // For each word the errors (d·p, d·q); from the last pair of words to the first.
    let [p, q, r, t] = [1, 1, 0, 1]
    for (let pair = (pageSize + 8) / 8; pair > 0; pair--) {
      if (Math.imul(x, q) === Math.imul(y, p) || Math.imul(x, t) === Math.imul(y, r)) return true
      ;[p, q] = [(p + q) | 0, (p + 2 * q) | 0]
      ;[r, t] = [(r + t) | 0, (r + 2 * t) | 0]
    }
    return false
  }

  const damaged: Array<number> = []
  let seed = stored(24)
  let frame = 0
  let commits = 0
  let forgotten = 0
  // A header that is wrong says nothing about the first frame; the second is checked by what the first says.
  if (headerDamaged && most > 0) {
    seed = stored(frameAt(0) + 16)
    frame = 1
  }
  /** Counts the commits of the sound frames from here on, and stops at the first that is not. */
  const follow = (): number => {
    let found = 0
    while (frame < most && sound(frame, seed)) {
      if (view.getUint32(frameAt(frame) + 4) !== 0) found += 1
      seed = stored(frameAt(frame) + 16)
      frame += 1
    }
    return found
  }
  commits = follow()
  let whole = frame
  let pending: ReadonlyArray<number> = []
  let behind = 0
  while (frame < most) {
    const [gap, before] = [frame, seed]
    // The checksums are a chain: behind a damaged frame it goes on from what that frame, or a later one, says.
    let next = gap + 1
    let sumDamaged = false
    while (next < most && next <= gap + 8 && !sound(next, stored(frameAt(next - 1) + 16))) {
      sumDamaged = next === gap + 1 && sound(next, computed(gap, before))
      if (sumDamaged) break
      next += 1
    }
    if (next >= most || next > gap + 8) break
    // Both salts are others: a new log is being written over this one.
    if (
      view.getUint32(frameAt(gap) + 8) !== view.getUint32(salts) &&
      view.getUint32(frameAt(gap) + 12) !== view.getUint32(salts + 4)
    )
      break
    frame = next
    seed = sumDamaged ? computed(gap, before) : stored(frameAt(next - 1) + 16)
    const found = follow()
    for (let bad = gap; bad < next; bad++) pending = [...pending, bad]
    behind += found
    // What processes left that died before their commits counted looks much the same: but each left one commit at most,
    // and its first frame belongs to a chain that was written over. So this gap tells for all before it.
    if (found < 2 && !(next === gap + 1 && (sumDamaged || isOneWordOff(gap, before)))) continue
    damaged.push(...pending)
    commits += behind
    forgotten += behind
    pending = []
    behind = 0
    whole = frame
  }
  frame = whole
  if (headerDamaged) return commits === 0 ? null : { frames: frame, damaged, forgotten: commits, headerDamaged }
  return frame === 0 ? null : { frames: frame, damaged, forgotten, headerDamaged }
}

/** The commits that damage in a log would make SQLite forget, and where it is. */
export interface Damage {
  readonly forgotten: number
  readonly frames: ReadonlyArray<number>
}

/**
 * Looks through the log of a database that others may be writing meanwhile, as far as it is in use; null when it is
 * sound. `pause` passes some milliseconds: a frame that was caught half written is whole the next time, damage stays.
 *
 * Like {@link scan} it uses no name from outside.
 */
export function examine(
  fs: Pick<typeof import("node:fs"), "openSync" | "readSync" | "closeSync">,
  file: string,
  scanLog: typeof scan,
  pause: () => void
): Damage | null {
  const look = (): Damage | null => {
    let descriptor: number
    try {
      descriptor = fs.openSync(file, "r")
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return null
      throw error
    }
    try {
      for (let size = 16_777_216; ; size *= 4) {
        const buffer = new Uint8Array(size)
        const log = buffer.subarray(0, fs.readSync(descriptor, buffer, 0, size, 0))
        const found = scanLog(log)
        if (log.length === size && found !== null && 32 + (found.frames + 9) * 4_120 > size) continue
        return found === null || found.forgotten === 0 ? null : { forgotten: found.forgotten, frames: found.damaged }
      }
    } finally {
      fs.closeSync(descriptor)
    }
  }
  const first = look()
  if (first === null) return null
  pause()
  const second = look()
  const lasting = second?.frames.filter((frame) => first.frames.includes(frame)) ?? []
  return second === null || (lasting.length === 0 && second.frames.length + first.frames.length > 0)
    ? null
    : { forgotten: second.forgotten, frames: lasting }
}

/** How far a log was found to be sound: the log by its salts, the frames, and the checksum that the next one goes on from. */
export interface Followed {
  readonly salts: readonly [number, number]
  readonly frames: number
  readonly seed: readonly [number, number]
}

/**
 * Goes on from where the log was sound the last time, so that each frame is looked at once. Answers null wherever
 * something is not as plain as it is nearly always, a frame that is being written included: where that lasts,
 * {@link examine} is asked.
 *
 * Like {@link scan} it uses no name from outside.
 */
export function follow(
  fs: Pick<typeof import("node:fs"), "openSync" | "readSync" | "closeSync">,
  file: string,
  last: Followed | null
): Followed | null {
  const pageSize = 4_096
  const frameSize = pageSize + 24
  const framesAtOnce = 128
  let descriptor: number
  try {
    descriptor = fs.openSync(file, "r")
  } catch {
    return null
  }
  try {
    const header = new DataView(new ArrayBuffer(32))
    if (fs.readSync(descriptor, header, 0, 32, 0) < 32) return null
    const littleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1
    if (!littleEndian || header.getUint32(0) !== 0x377f0682 || header.getUint32(8) !== pageSize) return null
    const words = new Int32Array(header.buffer)
    let [a, b] = [0, 0]
    for (let word = 0; word < 6; word += 2) {
      a = (a + (words[word] ?? 0) + b) | 0
      b = (b + (words[word + 1] ?? 0) + a) | 0
    }
    if (a !== (header.getUint32(24) | 0) || b !== (header.getUint32(28) | 0)) return null
    const salts = [header.getUint32(16), header.getUint32(20)] as const
    let frames = 0
    if (last !== null && last.salts[0] === salts[0] && last.salts[1] === salts[1]) {
      frames = last.frames
      ;[a, b] = last.seed
    }
    const bytes = new ArrayBuffer(frameSize * framesAtOnce)
    const view = new DataView(bytes)
    const all = new Int32Array(bytes)
    for (;;) {
      const read = fs.readSync(descriptor, view, 0, bytes.byteLength, 32 + frames * frameSize)
      const whole = Math.floor(read / frameSize)
      for (let frame = 0; frame < whole; frame += 1) {
        const at = frame * frameSize
        const [x, y] = [view.getUint32(at + 8), view.getUint32(at + 12)]
        if (x !== salts[0] && y !== salts[1]) return { salts, frames, seed: [a, b] }
        if (x !== salts[0] || y !== salts[1]) return null
        const from = at / 4
        let [c, d] = [(a + (all[from] ?? 0) + b) | 0, 0]
        d = (b + (all[from + 1] ?? 0) + c) | 0
        for (let word = from + 6; word < from + frameSize / 4; word += 2) {
          c = (c + (all[word] ?? 0) + d) | 0
          d = (d + (all[word + 1] ?? 0) + c) | 0
        }
        if (c !== (view.getUint32(at + 16) | 0) || d !== (view.getUint32(at + 20) | 0)) return null
        ;[a, b] = [c, d]
        frames += 1
      }
      if (read < bytes.byteLength) return read % frameSize === 0 ? { salts, frames, seed: [a, b] } : null
    }
  } finally {
    fs.closeSync(descriptor)
  }
}

/**
 * Follows a log that is being written: a frame that was met half written is whole a few milliseconds later. Without the
 * second look one checkpoint in two hundred under load was left to {@link examine}, which takes all of the log into memory
 * at once, and the thread kept its 60 MB from then on (bench/).
 *
 * Like {@link scan} it uses no name from outside.
 */
export function followWhole(
  fs: Parameters<typeof follow>[0],
  file: string,
  last: Followed | null,
  followLog: typeof follow,
  pause: () => void
): Followed | null {
  for (let looks = 1; ; looks += 1) {
    const followed = followLog(fs, file, last)
    if (followed !== null || looks === 3) return followed
    pause()
  }
}

/** What is damaged in the log of a database file; null when it is sound or there is none. */
export const damage = (database: string): Damage | null =>
  examine(fs, `${database}-wal`, scan, () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20))

type Sum = readonly [number, number]

/** The multiplicative inverse of an odd number modulo 2³². */
const inverse = (odd: number): number => {
  let guess = odd
  for (let round = 0; round < 5; round++) guess = Math.imul(guess, 2 - Math.imul(odd, guess))
  return guess
}

/**
 * The words that may be the one that is wrong, and by how much: the checksum is linear in every word, so the error of
 * one can be solved for from the two sums. Mostly there is one answer; an error in a word's highest byte has several.
 */
const solve = (words: number, off: Sum): ReadonlyArray<{ readonly word: number; readonly by: number }> => {
  const found: Array<{ readonly word: number; readonly by: number }> = []
  let ofFirst: Sum = [1, 1]
  let ofSecond: Sum = [0, 1]
  for (let pair = words / 2 - 1; pair >= 0; pair--) {
    for (const [word, weight] of [
      [pair * 2, ofFirst],
      [pair * 2 + 1, ofSecond]
    ] as const) {
      const [odd, other] = (weight[0] & 1) === 1 ? ([0, 1] as const) : ([1, 0] as const)
      const by = Math.imul(off[odd], inverse(weight[odd]))
      if (Math.imul(by, weight[other]) === off[other]) found.push({ word, by })
    }
    ofFirst = [(ofFirst[0] + ofFirst[1]) | 0, (ofFirst[0] + 2 * ofFirst[1]) | 0]
    ofSecond = [(ofSecond[0] + ofSecond[1]) | 0, (ofSecond[0] + 2 * ofSecond[1]) | 0]
  }
  return found
}

/** What {@link mend} made of a log. */
export interface Mended {
  /** SQLite recovers every commit of it. */
  readonly log: Uint8Array
  /** Frames that are as they were written again. */
  readonly corrected: number
  /** Frames of which nobody can tell what they were: they are left as they are. */
  readonly doubtful: number
}

/**
 * A log whose damaged frames are corrected where that is possible, and whose checksums are right from end to end.
 * `before` gives a page (from 1) as it is in the database file: among several answers the one counts that leaves a page
 * most like what it was.
 */
export const mend = (damagedLog: Uint8Array, before: (page: number) => Uint8Array | null = () => null): Mended => {
  const log = Uint8Array.from(damagedLog)
  const found = scan(log)
  if (found === null) return { log, corrected: 0, doubtful: 0 }
  const view = new DataView(log.buffer)
  if (found.headerDamaged) {
    view.setUint32(0, 0x377f0682)
    view.setUint32(4, 3_007_000)
    view.setUint32(8, 4_096)
    view.setUint32(16, view.getUint32(32 + 8))
    view.setUint32(20, view.getUint32(32 + 12))
  }
  const littleEndian = (view.getUint32(0) & 1) === 0
  const frameSize = view.getUint32(8) + 24
  const at = (frame: number): number => 32 + frame * frameSize
  /** Where a word of what is summed lies: two of the frame's header, then the page. */
  const wordAt = (frame: number, word: number): number => at(frame) + (word < 2 ? word * 4 : 24 + (word - 2) * 4)
  const words = 2 + (frameSize - 24) / 4
  const summed = (frame: number, seed: Sum): Sum => {
    let [a, b] = seed
    for (let word = 0; word < words; word += 2) {
      a = (a + view.getUint32(wordAt(frame, word), littleEndian) + b) | 0
      b = (b + view.getUint32(wordAt(frame, word + 1), littleEndian) + a) | 0
    }
    return [a, b]
  }
  const stored = (frame: number): Sum => [view.getUint32(at(frame) + 16) | 0, view.getUint32(at(frame) + 20) | 0]

  let corrected = 0
  let doubtful = 0
  const salts = [view.getUint32(16), view.getUint32(20)] as const
  const bad = new Set(found.damaged)
  // First what was written, by the checksums that were written; a header's own damage hides the seed of the first.
  let seed: Sum = [view.getUint32(24) | 0, view.getUint32(28) | 0]
  for (let frame = 0; frame < found.frames; frame++) {
    if (bad.has(frame)) {
      const is = summed(frame, seed)
      const should = stored(frame)
      const off: Sum = [(should[0] - is[0]) | 0, (should[1] - is[1]) | 0]
      const nextSeedIsComputed = frame + 1 < found.frames && !bad.has(frame + 1) && nextAgrees(frame, is)
      const error =
        off[0] === 0 && off[1] === 0 ? null : nextSeedIsComputed ? null : likeliest(frame, solve(words, off))
      if (error !== null) {
        const where = wordAt(frame, error.word)
        view.setUint32(where, (view.getUint32(where, littleEndian) + error.by) >>> 0, littleEndian)
        corrected += 1
      } else if (nextSeedIsComputed || (off[0] === 0 && off[1] === 0)) corrected += 1
      else doubtful += 1
      view.setUint32(at(frame) + 8, salts[0])
      view.setUint32(at(frame) + 12, salts[1])
      if (nextSeedIsComputed) {
        view.setUint32(at(frame) + 16, is[0] >>> 0)
        view.setUint32(at(frame) + 20, is[1] >>> 0)
      }
    }
    seed = stored(frame)
  }
  /** The page of a frame as it was before: in an earlier frame, or in the database file. */
  function previous(frame: number): DataView | null {
    const page = view.getUint32(at(frame))
    for (let earlier = frame - 1; earlier >= 0; earlier--)
      if (view.getUint32(at(earlier)) === page) return new DataView(log.buffer, at(earlier) + 24, frameSize - 24)
    const found = before(page)
    return found === null || found.byteLength < frameSize - 24
      ? null
      : new DataView(found.buffer, found.byteOffset, found.byteLength)
  }
  function likeliest(frame: number, errors: ReturnType<typeof solve>): (typeof errors)[number] | null {
    if (errors.length <= 1) return errors[0] ?? null
    const old = previous(frame)
    if (old === null) return null
    const fitting = errors.filter(({ by, word }) => {
      if (word < 2) return false
      const is = view.getUint32(wordAt(frame, word), littleEndian)
      return (is + by) >>> 0 === old.getUint32((word - 2) * 4, littleEndian)
    })
    return fitting.length === 1 ? (fitting[0] ?? null) : null
  }
  function nextAgrees(frame: number, sum: Sum): boolean {
    const [a, b] = summed(frame + 1, sum)
    const next = stored(frame + 1)
    return a === next[0] && b === next[1]
  }
  // Then the chain anew, from the header on.
  let chain: Sum = [0, 0]
  for (let word = 0; word < 6; word += 2) {
    const a = (chain[0] + view.getUint32(word * 4, littleEndian) + chain[1]) | 0
    chain = [a, (chain[1] + view.getUint32(word * 4 + 4, littleEndian) + a) | 0]
  }
  view.setUint32(24, chain[0] >>> 0)
  view.setUint32(28, chain[1] >>> 0)
  for (let frame = 0; frame < found.frames; frame++) {
    chain = summed(frame, chain)
    view.setUint32(at(frame) + 16, chain[0] >>> 0)
    view.setUint32(at(frame) + 20, chain[1] >>> 0)
  }
  return { log, corrected, doubtful }
}
