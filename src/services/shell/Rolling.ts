/** The newest output of a long running command: bounded, and each reader can go on where it stopped. */
import { wholeEnd, wholeStart } from "./Output.js"

/** Bytes kept of one process (gateway.md 8.3). */
export const rollingBytes = 200_000

export interface Piece {
  readonly text: string
  /** Bytes that were printed since and are gone already. */
  readonly lost: number
  /** Where the next piece begins. */
  readonly next: number
}

const decoder = new TextDecoder("utf-8")

export class Rolling {
  readonly #limit: number
  #chunks: Array<Uint8Array> = []
  #held = 0
  #total = 0

  constructor(limit: number = rollingBytes) {
    this.#limit = limit
  }

  /** Bytes seen so far. */
  get total(): number {
    return this.#total
  }

  push(chunk: Uint8Array): void {
    this.#total += chunk.length
    this.#chunks.push(chunk.length > this.#limit ? chunk.slice(chunk.length - this.#limit) : chunk)
    this.#held += Math.min(chunk.length, this.#limit)
    if (this.#held > 2 * this.#limit) this.#join()
  }

  #join(): Buffer {
    const joined = Buffer.concat(this.#chunks)
    const kept = joined.length > this.#limit ? Buffer.from(joined.subarray(joined.length - this.#limit)) : joined
    this.#chunks = [kept]
    this.#held = kept.length
    return kept
  }

  /** What came behind a position, in whole characters; a character that is not complete yet comes with the next piece. */
  since(position: number): Piece {
    const kept = this.#join()
    const first = this.#total - kept.length
    const from = Math.max(position, first)
    const bytes = kept.subarray(from - first)
    const start = from === position ? 0 : wholeStart(bytes)
    const end = Math.max(start, wholeEnd(bytes))
    return { text: decoder.decode(bytes.subarray(start, end)), lost: from - position + start, next: from + end }
  }

  /** Everything that is still there. */
  all(): Piece {
    return this.since(0)
  }
}
