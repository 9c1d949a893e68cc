/** The output of a command that the line itself tells: `echo rm`, `printf '%s' x`, a here-document to `cat`, `pwd`. */
import * as AnsiC from "./AnsiC.js"
import * as Expansion from "./Expansion.js"
import * as Marked from "./Marked.js"
import type { Script, Simple } from "./Script.js"

const echo = (args: ReadonlyArray<string>): string => {
  const first = args.findIndex((argument) => !/^-[neE]+$/.test(argument))
  const options = first < 0 ? args : args.slice(0, first)
  const text = (first < 0 ? [] : args.slice(first)).join(" ")
  return options.some((option) => option.includes("e")) ? AnsiC.decode(text) : text
}

const printf = (args: ReadonlyArray<string>): string | null => {
  const [format, ...values] = args[0] === "--" ? args.slice(1) : args
  if (format === undefined || format.startsWith("-")) return null
  const rest = [...values]
  const once = (): string =>
    AnsiC.decode(format).replace(/%%|%[-#+ 0]*\d*(?:\.\d+)?([a-zA-Z])/g, (whole: string, kind: string | undefined) => {
      if (whole === "%%") return "%"
      const value = rest.shift() ?? ""
      return kind === "b" ? AnsiC.decode(value) : value
    })
  let text = once()
  for (let round = 0; rest.length > 0 && round < 64; round++) {
    const before = rest.length
    text += once()
    if (rest.length === before) break
  }
  return text
}

const simple = (command: Simple, around: Expansion.Surroundings): string | null => {
  const argv = command.words.flatMap((word) => Expansion.fields(word, around)[0] ?? []).map((argument) => argument.text)
  const [name, ...args] = argv
  if (name === "pwd" && args.length === 0) return around.directory
  if (name === "cat" && (args.length === 0 || args[0] === "-")) {
    const text = command.redirects.find((redirect) => redirect.text !== null)?.text
    return text === undefined || text === null ? null : (Expansion.texts(text, around)[0] ?? null)
  }
  if (name === "echo") return echo(args)
  if (name === "printf") return printf(args)
  if ((name === "which" || name === "command" || name === "type") && args.length > 0) return args.at(-1) ?? null
  return null
}

/** With marks; null when it is not known. */
export const of = (script: Script, around: Expansion.Surroundings): string | null => {
  const [only, ...more] = script
  if (only === undefined || more.length > 0) return null
  if (only._tag === "Group") return of(only.script, around)
  if (only._tag !== "Simple") return null
  const text = simple(only, around)
  return text === null
    ? null
    : Marked.show(text.replaceAll(Marked.unknown, "\u0000")).replaceAll("\u0000", Marked.unknown)
}
