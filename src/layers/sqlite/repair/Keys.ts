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

/**
 * A first key column in the middle between two keys, neither of which may be it; null when there is no room. An end that
 * is not known is the end of everything.
 */
export const between = (low: Key | null, high: Key | null, text: boolean): unknown => {
  if (!text) {
    const [a, b] = [low?.[0], high?.[0]]
    const least = typeof a === "bigint" ? a : integers.least
    const most = typeof b === "bigint" ? b : integers.most
    return most - least < 2n ? null : (least + most) / 2n
  }
  const [a, b] = [low?.[0], high?.[0]]
  const least = typeof a === "string" ? numberOf(a) : 0n
  const most = typeof b === "string" ? numberOf(b) : (1n << BigInt(textBytes * 8)) - 1n
  const middle = textOf((least + most) / 2n)
  const inside =
    (typeof a !== "string" || compareValues(middle, a) > 0) && (typeof b !== "string" || compareValues(middle, b) < 0)
  return inside ? middle : null
}
