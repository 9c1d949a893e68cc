/** The keys of rows, in SQLite's order, and what lies between two of them. */

/** The key columns of a row, in order. */
export type Key = ReadonlyArray<unknown>

const rank = (value: unknown): number =>
  value === null ? 0 : typeof value === "bigint" || typeof value === "number" ? 1 : typeof value === "string" ? 2 : 3

const bytes = (value: unknown): Buffer =>
  typeof value === "string" ? Buffer.from(value) : Buffer.isBuffer(value) ? value : Buffer.alloc(0)

/** As SQLite sorts values: null, numbers, text by its bytes, blobs. */
const compareValues = (a: unknown, b: unknown): number => {
  const ranks = rank(a) - rank(b)
  if (ranks !== 0) return ranks
  if ((typeof a === "bigint" || typeof a === "number") && (typeof b === "bigint" || typeof b === "number"))
    return a < b ? -1 : a > b ? 1 : 0
  return Buffer.compare(bytes(a), bytes(b))
}

export const compare = (a: Key, b: Key): number => {
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const found = compareValues(a[index] ?? null, b[index] ?? null)
    if (found !== 0) return found
  }
  return 0
}

/** How finely text is divided: more bytes than two keys of one prefix share. */
const textBytes = 48

const numberOf = (text: string): bigint => {
  const padded = Buffer.alloc(textBytes)
  Buffer.from(text).copy(padded)
  return BigInt(`0x${padded.toString("hex")}`)
}

/** A text for a number; what is no UTF-8 there becomes a plain letter, which is near enough for a place to look at. */
const textOf = (number: bigint): string => {
  const raw = Buffer.from(number.toString(16).padStart(textBytes * 2, "0"), "hex")
  return Buffer.from(raw.map((byte) => (byte >= 0x80 ? 0x7e : byte < 0x20 ? 0x20 : byte))).toString("latin1")
}

/** The whole span of integer keys, as far as this program ever counts. */
const integers = { least: -1n, most: 1n << 53n }

/** A value of one column in the middle between two that it may not be; null when there is no room. An unknown end is the end of everything. */
const middleOf = (low: unknown, high: unknown, text: boolean): unknown => {
  if (!text) {
    const least = typeof low === "bigint" ? low : integers.least
    const most = typeof high === "bigint" ? high : integers.most
    return most - least < 2n ? null : (least + most) / 2n
  }
  const least = typeof low === "string" ? numberOf(low) : 0n
  const most = typeof high === "string" ? numberOf(high) : (1n << BigInt(textBytes * 8)) - 1n
  const middle = textOf((least + most) / 2n)
  const inside =
    (typeof low !== "string" || compareValues(middle, low) > 0) &&
    (typeof high !== "string" || compareValues(middle, high) < 0)
  return inside ? middle : null
}

/**
 * The first columns of a key between two keys: as few as leave room, for rows may have the first ones in common. Null when
 * there is no room in any. An end that is not known is the end of everything.
 */
export const between = (low: Key | null, high: Key | null, texts: ReadonlyArray<boolean>): Key | null => {
  const prefix: Array<unknown> = []
  let upper = high
  for (const [column, text] of texts.entries()) {
    const [from, to] = [low?.[column], upper?.[column]]
    const middle = middleOf(from, to, text)
    if (middle !== null) return [...prefix, middle]
    const shared = from !== undefined && to !== undefined && compareValues(from, to) === 0
    // Behind all rows that begin as the lower end, before all that begin as the upper one.
    if (!shared && to !== undefined && (upper?.length ?? 0) > column + 1) return [...prefix, to]
    if (from === undefined) return null
    if (!shared) upper = null
    prefix.push(from)
  }
  return null
}
