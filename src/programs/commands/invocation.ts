/** How the command was called: where its home is, and how it answers. */
import { Context, Effect, Either, LogLevel } from "effect"
import type { Environment } from "../../fibers/AmbientEnvironment.js"

export interface InvocationShape {
  /** Absolute. Whether it exists is another question. */
  readonly home: string
  /** One JSON document on stdout and nothing else there. */
  readonly json: boolean
  /** Asked for with `--log-level`; null leaves it to the command. */
  readonly logLevel: LogLevel.LogLevel | null
  /** The process environment as it was at start. */
  readonly environment: Environment
}

export class Invocation extends Context.Tag("hermes/programs/Invocation")<Invocation, InvocationShape>() {}

const levels: ReadonlyMap<string, LogLevel.LogLevel> = new Map(
  LogLevel.allLevels.map((level) => [level._tag.toLowerCase(), level])
)

/** Options whose value is a person's text: whatever follows one of them is that text. */
const takesText: ReadonlySet<string> = new Set([
  "-q",
  "--query",
  "-z",
  "--oneshot",
  "--reason",
  "--title",
  "--name",
  "--prompt",
  "--paused-reason"
])

export interface Globals {
  readonly home: string | null
  readonly json: boolean
  readonly logLevel: LogLevel.LogLevel | null
  /** The arguments without the global options. */
  readonly rest: ReadonlyArray<string>
}

/** Takes the global options out, wherever they stand before a `--`. The left side says what is wrong. */
export const globalsOf = (args: ReadonlyArray<string>): Either.Either<Globals, string> => {
  const rest: Array<string> = []
  let home: string | null = null
  let json = false
  let logLevel: LogLevel.LogLevel | null = null
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? ""
    if (argument === "--") return Either.right({ home, json, logLevel, rest: [...rest, ...args.slice(index)] })
    const [name, inline] = /^(--(?:home|log-level))=(.*)$/s.exec(argument)?.slice(1) ?? [argument, undefined]
    if (takesText.has(argument)) {
      if (args[index + 1] === undefined) return Either.left(`${argument} needs a text behind it`)
      rest.push(...args.slice(index, index + 2))
      index += 1
    } else if (argument === "--json") json = true
    else if (name === "--home" || name === "--log-level") {
      const value = inline ?? args[++index]
      if (value === undefined || value === "") return Either.left(`${name} needs a value`)
      if (name === "--home") home = value
      else {
        const level = levels.get(value.toLowerCase())
        if (level === undefined)
          return Either.left(`--log-level is one of ${[...levels.keys()].join(", ")}, not "${value}"`)
        logLevel = level
      }
    } else rest.push(argument)
  }
  return Either.right({ home, json, logLevel, rest })
}

/** Is this call meant for a program? */
export const json: Effect.Effect<boolean, never, Invocation> = Effect.map(Invocation, (invocation) => invocation.json)
