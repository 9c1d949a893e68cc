/** The text of `config.yaml`: what it says of each setting, and how one is changed with its comments kept (contract §3). */
import { Either } from "effect"
import { isMap, isScalar, LineCounter, parseDocument, type Scalar, visit } from "yaml"
import type { Environment } from "../../fibers/AmbientEnvironment.js"
import { closestPath, type Configured, decodeText, UnknownKey, ValueRefused } from "../../services/operation/Config.js"
import { type ConfigKey, type EntryIssue, noSuchSetting } from "../../services/operation/config/Key.js"
import { all, keys } from "../../services/operation/ConfigKey.js"
import * as Misfit from "../../services/operation/Misfit.js"
import * as Nesting from "../../services/operation/Nesting.js"
import { SettingIssue, SettingsUnusable } from "../../services/operation/Settings.js"
import { shortened } from "../../services/operation/Shortened.js"

const known = new Map(all.map((key) => [key.path, key]))

/** The settings and the sections that they stand in. */
const places = new Set(
  all.flatMap(({ path }) => path.split(".").map((_, index, names) => names.slice(0, index + 1).join(".")))
)

/** To look for the nearest name takes a while: a file with more unknown keys than these has no mistyped ones. */
const mostLookedFor = 100

const unknown = (path: string, isLookedFor: boolean): SettingIssue => {
  const closest = isLookedFor ? closestPath(path, [...places]) : null
  return new SettingIssue({ path: shortened(path), problem: noSuchSetting(closest), used: "" })
}

/** A whole key, where one is meant to be looked at or changed. */
export const noSuchKey = (path: string): UnknownKey =>
  new UnknownKey({ path, closest: closestPath(path, [...known.keys()]) })

/** What stands where no key is: a leaf that none has, or a value where a section is. Below a key it is the key's own. */
const misplaced = (node: unknown, prefix = "", count = { unknown: 0 }): ReadonlyArray<SettingIssue> => {
  if (node === undefined || node === null) return []
  if (typeof node !== "object" || Array.isArray(node))
    return [new SettingIssue({ path: prefix, problem: "expected a section of settings", used: "their defaults" })]
  return Object.entries(node).flatMap(([name, value]) => {
    const path = prefix === "" ? name : `${prefix}.${name}`
    if (known.has(path)) return []
    return places.has(path) ? misplaced(value, path, count) : [unknown(path, count.unknown++ < mostLookedFor)]
  })
}

export interface Read {
  readonly values: ReadonlyMap<string, Configured>
  readonly issues: ReadonlyArray<SettingIssue>
}

export interface Parsed {
  /** With its comments, to be changed. */
  readonly document: ReturnType<typeof parseDocument>
  /** What it says. */
  readonly value: unknown
}

/** Levels that one line opens: the time of the parser and of who reads its result grows with a power of them. */
const mostInLine = 64
const chained = new RegExp(`(?:[?-][ \\t]+){${mostInLine + 1}}`)

/** A key that its map holds already. The parser compares each with all before it: 20,000 keys take it seven seconds. */
const keptTwice = (document: ReturnType<typeof parseDocument>): Scalar | null => {
  let twice: Scalar | null = null
  visit(document, {
    Map: (_, { items }) => {
      const seen = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) continue
        if (seen.has(key.value)) {
          twice = key
          return visit.BREAK
        }
        seen.add(key.value)
      }
      return undefined
    }
  })
  return twice
}

/** The file, or where it is no YAML of settings. */
export const parse = (file: string, text: string): Either.Either<Parsed, SettingsUnusable> => {
  const lines = new LineCounter()
  const unusable = (detail: string, offset: number | null) => {
    const place = offset === null ? null : lines.linePos(offset)
    return Either.left(new SettingsUnusable({ file, line: place?.line ?? null, column: place?.col ?? null, detail }))
  }
  const tooDeep = `nested more than ${Nesting.deepest} deep`
  if (chained.test(text)) return unusable(`a line of it is nested more than ${mostInLine} deep`, null)
  // What is nested deeply enough ends the parser itself, and an alias without end what reads its result.
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      logLevel: "error",
      uniqueKeys: false
    })
    const [error] = document.errors
    if (error?.code === "MULTIPLE_DOCS")
      return unusable("only one document of settings is read: a line `---` begins another", error.pos[0])
    if (error !== undefined) return unusable(error.message, error.pos[0])
    const twice = keptTwice(document)
    if (twice !== null) return unusable("Map keys must be unique", twice.range?.[0] ?? null)
    const { contents } = document
    if (contents !== null && !isMap(contents) && !(isScalar(contents) && contents.value === null))
      return unusable("expected `key: value` lines", 0)
    const value: unknown = document.toJS()
    if (Nesting.isTooDeep(value)) return unusable(tooDeep, null)
    return Either.right({ document, value })
  } catch (thrown) {
    return unusable(thrown instanceof Error ? thrown.message : String(thrown), null)
  }
}

/** What stands at a path; undefined when nothing does. */
const at = (value: unknown, path: ReadonlyArray<string>): unknown => {
  const [name, ...rest] = path
  if (name === undefined) return value
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? at(Reflect.get(value, name), rest)
    : undefined
}

const shown = (value: unknown): string => JSON.stringify(value) ?? "nothing"

const entryIssue = (key: ConfigKey, { entry, path, problem }: EntryIssue): SettingIssue =>
  new SettingIssue({ path, problem, used: entry === null ? "" : `${key.path} without ${entry}` })

/**
 * Every setting: the environment's over the file's over its default, and what was refused on the way. A model and an
 * address count only for the provider that they were written for, so that no key goes to another vendor's host (state-agent.md 3.8).
 */
export const read = (file: unknown, environment: Environment): Read => {
  const issues: Array<SettingIssue> = [...misplaced(file)]
  /** Not what a lower source says: that was meant to be overruled, perhaps to shut what it opens. */
  const refuse = (key: ConfigKey, path: string, problem: string): Configured => {
    issues.push(new SettingIssue({ path, problem, used: shown(key.refused) }))
    return { key, value: key.refused, from: "default" }
  }
  const valueOf = (key: ConfigKey): Configured => {
    const variable = key.env === null ? undefined : environment[key.env]
    if (key.env !== null && variable !== undefined && variable !== "") {
      const decoded = decodeText(key, variable)
      if (Either.isRight(decoded)) return { key, value: decoded.right, from: "environment" }
      return refuse(key, key.env, decoded.left)
    }
    const written = at(file, key.path.split("."))
    if (written === undefined || written === null) return { key, value: key.fallback, from: "default" }
    const entries = key.entries(written)
    if (entries !== null) {
      issues.push(...entries.issues.map((issue) => entryIssue(key, issue)))
      return { key, value: entries.value, from: "file" }
    }
    const decoded = key.decode(written)
    if (Either.isRight(decoded)) {
      const problem = key.doubt(written)
      if (problem !== null) issues.push(new SettingIssue({ path: key.path, problem, used: shown(decoded.right) }))
      return { key, value: decoded.right, from: "file" }
    }
    return refuse(key, key.path, Misfit.innermost(decoded.left))
  }
  const values = new Map(all.map((key) => [key.path, valueOf(key)]))
  const provider = values.get(keys.modelProvider.path)
  const writtenFor = at(file, keys.modelProvider.path.split("."))
  if (provider?.from === "environment" && typeof writtenFor === "string" && writtenFor !== provider.value)
    for (const key of [keys.modelName, keys.modelBaseUrl])
      if (values.get(key.path)?.from === "file") {
        const problem = `it is ${writtenFor}'s, and ${keys.modelProvider.env} says ${shown(provider.value)}`
        // The built-in ones have neither, so nobody misses them.
        if (provider.value !== "offline" && provider.value !== "scripted")
          issues.push(new SettingIssue({ path: key.path, problem, used: "that provider's own" }))
        values.set(key.path, { key, value: key.fallback, from: "default" })
      }
  return { values, issues }
}

/** One key's new value; null takes the key out of the file. */
export interface SettingChange {
  readonly path: string
  readonly value: unknown
}

/** The text of the file with these changes, all or none of them; its comments are kept. */
export const revised = (
  file: string,
  text: string,
  changes: ReadonlyArray<SettingChange>
): Either.Either<string, UnknownKey | ValueRefused | SettingsUnusable> =>
  Either.gen(function* () {
    const { document } = yield* parse(file, text)
    // `null` alone is a file without settings, and a scalar takes none.
    if (isScalar(document.contents)) document.contents = null
    let touched = false
    for (const { path, value } of changes) {
      const key = known.get(path)
      if (key === undefined) return yield* Either.left(noSuchKey(path))
      const names = path.split(".")
      if (value === null) {
        if (!document.hasIn(names)) continue
        touched = true
        document.deleteIn(names)
        continue
      }
      const [wrong] = key.entries(value)?.issues ?? []
      if (wrong !== undefined) return yield* Either.left(new ValueRefused({ path: wrong.path, problem: wrong.problem }))
      const decoded = key.decode(value)
      if (Either.isLeft(decoded))
        return yield* Either.left(new ValueRefused({ path, problem: Misfit.innermost(decoded.left) }))
      touched = true
      document.setIn(names, value)
    }
    return touched ? document.toString() : text
  })
