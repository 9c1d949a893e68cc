import { Either, type ParseResult, type Schema } from "effect"
import * as Misfit from "../Misfit.js"

/** One setting: where it stands, what it takes, what is used without it. */
export interface ConfigKey<out A = unknown> {
  readonly path: string
  readonly env: string | null
  readonly decode: (input: unknown) => Either.Either<A, ParseResult.ParseError>
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
    doubt: (input) => Either.match(decode(input), { onLeft: () => null, onRight: options.doubt ?? (() => null) }),
    fallback: options.fallback,
    refused: options.refused ?? options.fallback,
    doc: options.doc,
    example: options.example ?? null
  }
}
