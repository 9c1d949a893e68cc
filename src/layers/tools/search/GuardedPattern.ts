import { Effect, Schema } from "effect"
import { createContext, Script } from "node:vm"

/** The pattern is no regular expression. */
export class BadPattern extends Schema.TaggedError<BadPattern>()("BadPattern", { detail: Schema.String }) {}

/** The pattern goes over one text in so many ways that it does not end; a few such texts would stop the whole gateway. */
export class EndlessPattern extends Schema.TaggedError<EndlessPattern>()("EndlessPattern", {}) {}

/** Finds the lines that a regular expression matches, for which it has a bounded time. */
export interface GuardedPattern {
  /** For each text the numbers of its lines, from 1. */
  readonly lines: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<ReadonlyArray<number>>, EndlessPattern>
}

const limitMillis = 500

/**
 * In a context of its own, because that is where V8 can be told to give up: nothing else ends a regular expression
 * that backtracks. First over the whole text, which is quick to say no; a pattern that looks around sees only lines.
 */
const script = new Script(`(() => {
  const ofLine = new RegExp(source, flags)
  const ofText = /\\(\\?<?[=!]/.test(source) ? null : new RegExp(source, flags + "m")
  return texts.map((text) => {
    if (ofText !== null && !ofText.test(text)) return ""
    const found = []
    const lines = text.split("\\n")
    for (let at = 0; at < lines.length; at++) if (ofLine.test(lines[at])) found.push(at + 1)
    return found.join(" ")
  }).join("\\n")
})()`)

export const make = (source: string, ignoreCase: boolean): Effect.Effect<GuardedPattern, BadPattern> =>
  Effect.gen(function* () {
    const flags = ignoreCase ? "iu" : "u"
    const plain = ignoreCase ? "i" : ""
    const compiles = (tried: string) =>
      Effect.try({
        try: () => new RegExp(source, tried),
        catch: (error) => new BadPattern({ detail: error instanceof Error ? error.message : String(error) })
      })
    // what is no expression by the strict rules (`\\_`, a lone `{`) is often one by the old ones
    const taken = yield* compiles(flags).pipe(
      Effect.as(flags),
      Effect.orElse(() => Effect.as(compiles(plain), plain))
    )
    const surroundings: { source: string; flags: string; texts: ReadonlyArray<string> } = {
      source,
      flags: taken,
      texts: []
    }
    const context = createContext(surroundings)
    return {
      lines: (texts) =>
        Effect.try(() => {
          surroundings.texts = texts
          const found = String(script.runInContext(context, { timeout: limitMillis }))
          surroundings.texts = []
          return found.split("\n").map((numbers) => (numbers === "" ? [] : numbers.split(" ").map(Number)))
        }).pipe(
          Effect.catchAll(({ error }) =>
            // it is an Error of the other context
            typeof error === "object" &&
            error !== null &&
            "code" in error &&
            error.code === "ERR_SCRIPT_EXECUTION_TIMEOUT"
              ? Effect.fail(new EndlessPattern())
              : Effect.die(error)
          )
        )
    }
  })
