/** How deep a value is nested. Most of what reads or writes JSON calls itself for each level, and a deep value ends it. Pure. */

/** More than anything that is meant. */
export const deepest = 200

/** Without calling itself; ends at the first place that is too deep. */
export const isTooDeep = (value: unknown, limit = deepest): boolean => {
  const pending: Array<readonly [value: unknown, depth: number]> = [[value, 0]]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const [here, depth] = next
    if (typeof here !== "object" || here === null) continue
    if (depth >= limit) return true
    for (const inner of Object.values(here)) pending.push([inner, depth + 1])
  }
  return false
}

/** Why a value would end what reads it by its members: how deep it is, or an object in it that has no text. */
export const problemOf = (value: unknown): string | null => {
  if (isTooDeep(value)) return `it is nested more than ${deepest} deep`
  const pending: Array<unknown> = [value]
  for (let here = pending.pop(); here !== undefined; here = pending.pop()) {
    if (typeof here !== "object" || here === null) continue
    if (Object.hasOwn(here, "toString")) return 'it has a key "toString"'
    for (const inner of Object.values(here)) pending.push(inner)
  }
  return null
}

/** As JSON; what is too deep for that as a word about it. */
export const json = (value: unknown): string =>
  isTooDeep(value) ? '"(nested too deeply)"' : (JSON.stringify(value) ?? "null")
