/** Numbers that follow from a seed (mulberry32): the story of a seed is the same wherever it is told. */
export class Chance {
  private state: number

  constructor(seed: number) {
    this.state = (seed * 0x9e3779b1) >>> 0
  }

  /** In [0, 1). */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0
    let mixed = this.state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  below(bound: number): number {
    return Math.floor(this.next() * bound)
  }

  /** One of `choices`, as often as its weight says. */
  weighted<A>(choices: ReadonlyArray<readonly [weight: number, choice: A]>): A {
    let left = this.next() * choices.reduce((sum, [weight]) => sum + weight, 0)
    for (const [weight, choice] of choices) {
      left -= weight
      if (left < 0) return choice
    }
    const last = choices.at(-1)
    if (last === undefined) throw new Error("nothing to choose from")
    return last[1]
  }
}
