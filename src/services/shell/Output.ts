/** What a command printed, kept within bounds and made readable: head and tail, without what only a terminal needs. */

/** Bytes of the beginning and of the end that are kept. */
export interface Bounds {
  readonly head: number
  readonly tail: number
}

export const bounds: Bounds = { head: 16_384, tail: 32_768 }

/** Collects chunks of any total size in memory of at most twice the bounds. */
export class HeadTail {
  readonly #bounds: Bounds
  readonly #head: Array<Uint8Array> = []
  #headBytes = 0
  #tail: Array<Uint8Array> = []
  #tailBytes = 0
  #total = 0

  constructor(limits: Bounds = bounds) {
    this.#bounds = limits
  }

  /** Bytes seen so far. */
  get total(): number {
    return this.#total
  }

  push(chunk: Uint8Array): void {
    this.#total += chunk.length
    let rest = chunk
    const room = this.#bounds.head - this.#headBytes
    if (room > 0) {
      const taken = rest.subarray(0, room)
      this.#head.push(taken)
      this.#headBytes += taken.length
      rest = rest.subarray(taken.length)
    }
    if (rest.length === 0) return
    if (rest.length >= this.#bounds.tail) {
      this.#tail = [rest.slice(rest.length - this.#bounds.tail)]
      this.#tailBytes = this.#bounds.tail
      return
    }
    this.#tail.push(rest)
    this.#tailBytes += rest.length
    if (this.#tailBytes > 2 * this.#bounds.tail) this.#compact()
  }

  #compact(): void {
    const joined = Buffer.concat(this.#tail)
    const kept = joined.subarray(Math.max(0, joined.length - this.#bounds.tail))
    this.#tail = [Uint8Array.from(kept)]
    this.#tailBytes = kept.length
  }

  /** The beginning and, after `omitted` bytes, the end; both whole characters. */
  read(): { readonly head: string; readonly tail: string; readonly omitted: number } {
    this.#compact()
    const tail = Buffer.concat(this.#tail)
    const omitted = this.#total - this.#headBytes - tail.length
    const head = Buffer.concat(this.#head)
    if (omitted === 0) return { head: decode(Buffer.concat([head, tail])), tail: "", omitted }
    const headEnd = wholeEnd(head)
    const tailStart = wholeStart(tail)
    return {
      head: decode(head.subarray(0, headEnd)),
      tail: decode(tail.subarray(tailStart)),
      omitted: omitted + (head.length - headEnd) + tailStart
    }
  }
}

const decode = (bytes: Uint8Array): string => new TextDecoder("utf-8").decode(bytes)

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** Where the last whole character ends. */
export const wholeEnd = (bytes: Uint8Array): number => {
  let start = bytes.length - 1
  while (start > 0 && bytes.length - start < 4 && isContinuation(bytes[start])) start -= 1
  const lead = bytes[start] ?? 0
  const length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return start + length > bytes.length ? start : bytes.length
}

/** Where the first whole character begins. */
export const wholeStart = (bytes: Uint8Array): number => {
  let start = 0
  while (start < 3 && isContinuation(bytes[start])) start += 1
  return start
}

const sequences =
  // eslint-disable-next-line no-control-regex -- terminal sequences are what is taken out
  /\u001b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)|[PX^_][^\u001b]{0,4096}\u001b\\|[ -/]{0,8}[0-~])/g
const controls = /(?![\n\t])\p{Cc}/gu

/** Without terminal sequences and control characters; of a line that was written over, what stood there last. */
export const readable = (text: string): string =>
  text
    .replace(sequences, "")
    .replace(/(?<!\r)\r+\n/g, "\n")
    .split("\n")
    .map((line) => (line.includes("\r") ? (line.split("\r").findLast((part) => part !== "") ?? "") : line))
    .join("\n")
    .replace(controls, "")
