/** Numbers from a seed: the same seed and words give the same numbers, in whatever order they are asked for. */

export interface Seed {
  /** At least 0 and below 1. */
  readonly next: () => number
  /** At least `from` and at most `to`. */
  readonly between: (from: number, to: number) => number
  readonly chance: (share: number) => boolean
}

const hash = (text: string): number => {
  let value = 2_166_136_261
  for (let index = 0; index < text.length; index++) value = Math.imul(value ^ text.charCodeAt(index), 16_777_619)
  return value >>> 0
}

export const of = (...words: ReadonlyArray<string | number>): Seed => {
  let state = hash(words.join("\n"))
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    next,
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    chance: (share) => next() < share
  }
}
