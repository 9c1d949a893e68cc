import { Either, type ParseResult, Schema } from "effect"
import * as Misfit from "../Misfit.js"
import * as Spelling from "../Spelling.js"
import { expecting, named } from "./Value.js"

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
  /** What a person writes, for the commented file; null leaves the key out of it. */
  readonly example: string | null
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
    example: options.example ?? null
  }
}

/** A key whose value holds entries by names of the owner's own: one that does not fit leaves the others as they are. */
export const group = <A, I>(options: {
  readonly path: string
  readonly names: { readonly fits: (name: string) => boolean; readonly expected: string }
  readonly entry: Schema.Schema<A, I>
  /** All keys that an entry may have. */
  readonly inner: ReadonlyArray<string>
  readonly expected: string
  readonly doc: string
  readonly example?: string
}): ConfigKey<{ readonly [name: string]: A }> => {
  const { inner, names, path } = options
  const decodeEntry = Misfit.decoder(options.entry, { errors: "all" })
  const misspelt = (place: string, written: unknown): ReadonlyArray<EntryIssue> =>
    isRecord(written)
      ? Object.keys(written)
          .filter((name) => !inner.includes(name))
          .map((name) => {
            const closest = Spelling.closest(name, inner)
            const problem = noSuchSetting(closest === null ? null : `${place}.${closest}`)
            return { path: `${place}.${name}`, problem, entry: null }
          })
      : []
  return {
    ...key({
      path,
      schema: expecting(
        Schema.Record({ key: Schema.String, value: options.entry }).pipe(named(names.fits)),
        options.expected
      ),
      fallback: {},
      doc: options.doc,
      ...(options.example === undefined ? {} : { example: options.example })
    }),
    entries: (input) => {
      if (!isRecord(input)) return null
      const issues: Array<EntryIssue> = []
      const value = Object.entries(input).flatMap(([entry, written]) => {
        const place = `${path}.${entry}`
        issues.push(...misspelt(place, written))
        if (!names.fits(entry)) {
          issues.push({ path: place, problem: `expected ${names.expected}`, entry })
          return []
        }
        const decoded = decodeEntry(written)
        if (Either.isRight(decoded)) return [[entry, decoded.right] as const]
        for (const issue of Misfit.issues(decoded.left))
          issues.push({
            path: [place, ...(issue.path === "" ? [] : [issue.path])].join("."),
            problem: issue.problem,
            entry
          })
        return []
      })
      return { value: Object.fromEntries(value), issues }
    }
  }
}
