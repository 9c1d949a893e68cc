/** What is wrong with a world, a line each; the word before the first colon says what kind of thing. */
export type Wrong = ReadonlyArray<string>

export const each = <A>(all: Iterable<A>, wrong: (one: A) => string | null): Wrong =>
  [...all].flatMap((one) => {
    const found = wrong(one)
    return found === null ? [] : [found]
  })

export const grouped = <A, K>(all: ReadonlyArray<A>, key: (one: A) => K): ReadonlyMap<K, ReadonlyArray<A>> => {
  const groups = new Map<K, Array<A>>()
  for (const one of all) groups.set(key(one), [...(groups.get(key(one)) ?? []), one])
  return groups
}
