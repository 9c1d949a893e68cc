import { Either, Option, type ParseResult, Schema } from "effect"
import * as Misfit from "../Misfit.js"
import { shortened } from "../Shortened.js"
import * as Spelling from "../Spelling.js"
import { expecting, named, shape } from "./Value.js"

/** What is wrong with one entry of a group, at its own path; `entry` is left out for it, `null` where only what stands at the path is. */
export interface EntryIssue {
  readonly path: string
  readonly problem: string
  readonly entry: string | null
}

/** What is said of a path that is none, with the nearest one. */
export const noSuchSetting = (closest: string | null): string =>
  `no such setting${closest === null ? "" : `; did you mean ${closest}?`}`

const isRecord = Schema.is(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const isList = Schema.is(Schema.Array(Schema.Unknown))

export interface Entries<out A> {
  /** Those that fit. */
  readonly value: A
  readonly issues: ReadonlyArray<EntryIssue>
}

/** One setting: where it stands, what it takes, what is used without it. */
export interface ConfigKey<out A = unknown> {
  readonly path: string
  readonly env: string | null
  readonly decode: (input: unknown) => Either.Either<A, ParseResult.ParseError>
  /** Of a group, each entry decoded by itself; null where there are none, or the key is no group. */
  readonly entries: (input: unknown) => Entries<A> | null
  /** What is odd about a value that fits, in words; it is used all the same. */
  readonly doubt: (input: unknown) => string | null
  readonly fallback: A
  /** Used instead of a value that does not fit: the fallback, unless that would open what the owner meant to shut. */
  readonly refused: A
  readonly doc: string
  /** What a person writes, for the commented file: an example, or the fallback. */
  readonly example: string
}

/** A key whose value its own schema decodes; what does not fit is reported and `refused` is used. */
export const key = <A, I>(options: {
  readonly path: string
  readonly env?: string
  readonly schema: Schema.Schema<A, I>
  readonly fallback: NoInfer<A>
  readonly refused?: NoInfer<A>
  readonly doubt?: (value: NoInfer<A>) => string | null
  readonly doc: string
  readonly example?: string
}): ConfigKey<A> => {
  const decode = Misfit.decoder(options.schema)
  return {
    path: options.path,
    env: options.env ?? null,
    decode,
    entries: () => null,
    doubt: (input) => Either.match(decode(input), { onLeft: () => null, onRight: options.doubt ?? (() => null) }),
    fallback: options.fallback,
    refused: options.refused ?? options.fallback,
    doc: options.doc,
    example: options.example ?? JSON.stringify(options.fallback)
  }
}

/** What one entry of a group may be. */
interface EntryOptions<A, I> {
  readonly path: string
  readonly entry: Schema.Schema<A, I>
  /** All keys that an entry may have; absent where it has none. */
  readonly inner?: ReadonlyArray<string>
  /** Is an entry with a key that is none of them left out? What was meant by it may say where a key or a token goes. */
  readonly strict?: boolean
  /** For the group as a whole, with an example. */
  readonly expected: string
  readonly doc: string
  readonly example?: string
}

/** Reads one entry by its name, and as it is told: what it says, or nothing, and all that is wrong with it at its own place. */
const entryReader = <A, I>({ entry, inner, path, strict = false }: EntryOptions<A, I>) => {
  const decode = Misfit.decoder(entry, { errors: "all" })
  const misspelt = (place: string, told: string, written: unknown): ReadonlyArray<EntryIssue> =>
    inner === undefined || !isRecord(written)
      ? []
      : Object.keys(written)
          .filter((key) => !inner.includes(key))
          .map((key) => {
            const closest = Spelling.closest(key, inner)
            const problem = noSuchSetting(closest === null ? null : `${place}.${closest}`)
            return { path: `${place}.${shortened(key)}`, problem, entry: strict ? told : null }
          })
  return (name: string, told: string, written: unknown): Entries<Option.Option<A>> => {
    const place = `${path}.${name}`
    const unknown = misspelt(place, told, written)
    const decoded = decode(written)
    if (Either.isLeft(decoded)) {
      const wrong = Misfit.issues(decoded.left).map((issue) => ({
        path: [place, ...(issue.path === "" ? [] : [issue.path])].join("."),
        problem: issue.problem,
        entry: told
      }))
      return { value: Option.none(), issues: [...unknown, ...wrong] }
    }
    return { value: strict && unknown.length > 0 ? Option.none() : Option.some(decoded.right), issues: unknown }
  }
}

/** A key whose value holds entries by names of the owner's own: one that does not fit leaves the others as they are. */
export const group = <A, I>(
  options: EntryOptions<A, I> & {
    readonly names: { readonly fits: (name: string) => boolean; readonly expected: string }
  }
): ConfigKey<{ readonly [name: string]: A }> => {
  const { entry, expected, names, path, ...rest } = options
  const read = entryReader(options)
  const schema = Schema.Record({ key: Schema.String, value: entry }).pipe(named(names.fits))
  return {
    ...key({ ...rest, path, schema: expecting(schema, expected, shape), fallback: {} }),
    entries: (input) => {
      if (!isRecord(input)) return null
      const issues: Array<EntryIssue> = []
      const value = Object.entries(input).flatMap(([name, written]) => {
        const told = shortened(name)
        const one = read(told, told, written)
        const fits = names.fits(name)
        issues.push(...one.issues)
        if (!fits) issues.push({ path: `${path}.${told}`, problem: `expected ${names.expected}`, entry: told })
        return fits && Option.isSome(one.value) ? [[name, one.value.value] as const] : []
      })
      return { value: Object.fromEntries(value), issues }
    }
  }
}

/** A key whose value is a list: an entry that does not fit leaves the others as they are, in their order. */
export const series = <A, I>(options: EntryOptions<A, I>): ConfigKey<ReadonlyArray<A>> => {
  const { entry, expected, path, ...rest } = options
  const read = entryReader(options)
  return {
    ...key({ ...rest, path, schema: expecting(Schema.Array(entry), expected, shape), fallback: [] }),
    entries: (input) => {
      if (!isList(input)) return null
      const all = input.map((written, index) => read(String(index), `entry ${index}`, written))
      return { value: all.flatMap(({ value }) => Option.toArray(value)), issues: all.flatMap(({ issues }) => issues) }
    }
  }
}
