/** How the calls of one answer run: which belong together, which may overlap (state-agent.md 3.4). Pure. */
import * as path from "node:path/posix"
import type { ToolCallPart } from "../session/Transcript.js"
import type { Parallelism } from "./Tool.js"

const isWithin = (parent: string, child: string): boolean =>
  parent === "." || parent === child || child.startsWith(parent.endsWith("/") ? parent : `${parent}/`)

/** Could the two name the same file, or one lie in the other? Where that cannot be told it is so. */
export const overlaps = (a: string, b: string): boolean => {
  const [one, two] = [path.normalize(a), path.normalize(b)]
  const uncertain = [one, two].some((file) => file.startsWith("..") || file.startsWith("~"))
  if (uncertain || path.isAbsolute(one) !== path.isAbsolute(two)) return true
  const [first, second] = [one, two].map((file) => (file.length > 1 ? file.replace(/\/$/, "") : file))
  return first === undefined || second === undefined || isWithin(first, second) || isWithin(second, first)
}

/** May two calls run at the same time? */
export const together = (a: Parallelism, b: Parallelism): boolean => {
  if (a._tag === "Never" || b._tag === "Never") return false
  if (a._tag === "Safe" || b._tag === "Safe" || (a._tag === "Reads" && b._tag === "Reads")) return true
  return !overlaps(a.path, b.path)
}

/** Cuts a list, in its order, into segments whose members may all run at the same time. */
export const segments = <A>(
  items: ReadonlyArray<A>,
  parallelism: (item: A) => Parallelism
): ReadonlyArray<ReadonlyArray<A>> => {
  const cut: Array<Array<A>> = []
  let modes: Array<Parallelism> = []
  for (const item of items) {
    const mode = parallelism(item)
    const last = cut.at(-1)
    if (last !== undefined && modes.every((other) => together(other, mode))) {
      last.push(item)
      modes.push(mode)
    } else {
      cut.push([item])
      modes = [mode]
    }
  }
  return cut
}

/** The same JSON with its keys in order; a text that is no JSON stays as it is. */
const canonical = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text.trim() === "" ? "{}" : text), (_key, value: unknown) =>
      typeof value === "object" && value !== null && !Array.isArray(value)
        ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
        : value
    )
  } catch {
    return text
  }
}

/** Identical calls, each list in call order: the first of each runs, and its result is that of all. */
export const merged = (calls: ReadonlyArray<ToolCallPart>): ReadonlyArray<ReadonlyArray<number>> => {
  const groups = new Map<string, Array<number>>()
  for (const [index, call] of calls.entries()) {
    const same = `${call.name}\u0000${canonical(call.arguments)}`
    const group = groups.get(same)
    if (group === undefined) groups.set(same, [index])
    else group.push(index)
  }
  return [...groups.values()]
}

const letters = (name: string): string => name.toLowerCase().replace(/[^a-z0-9]/g, "")

/** The tool that a name means: exactly, or the only one whose letters are the same (`ReadFile`, `read-file`). */
export const named = <A extends { readonly name: string }>(name: string, tools: ReadonlyArray<A>): A | undefined => {
  const exact = tools.find((tool) => tool.name === name)
  if (exact !== undefined) return exact
  const close = tools.filter((tool) => letters(tool.name) === letters(name))
  return close.length === 1 ? close[0] : undefined
}
