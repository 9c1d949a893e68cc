/** The output of a command that the line itself tells: `echo rm`, `printf '%s' x`, a here-document to `cat`, `pwd`. */
import { Either, Encoding } from "effect"
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

/** What a program makes of a text that it is given; null when that is not known. */
const filtered = (name: string, args: ReadonlyArray<string>, text: string): string | null => {
  if (name === "base64" && /^(?:-[di]*[dD][di]*|--decode)$/.test(args[0] ?? "") && args.length === 1)
    return Either.getOrNull(Encoding.decodeBase64String(text.replace(/\s/g, "")))
  if (name === "xxd" && args.includes("-r") && args.includes("-p") && args.length === 2)
    return Either.match(Encoding.decodeHex(text.replace(/\s/g, "").toLowerCase()), {
      onLeft: () => null,
      onRight: (bytes) => new TextDecoder().decode(bytes)
    })
  if (name === "rev" && args.length === 0)
    return text
      .split("\n")
      .map((line) => [...line].toReversed().join(""))
      .join("\n")
  return null
}

const simple = (command: Simple, around: Expansion.Surroundings, stdin: string | null): string | null => {
  const argv = command.words.flatMap((word) => Expansion.fields(word, around)[0] ?? []).map((argument) => argument.text)
  const [name, ...args] = argv
  if (name === "pwd" && args.length === 0) return around.directory
  const own = command.redirects.find((redirect) => redirect.text !== null)?.text
  const given = own === undefined || own === null ? stdin : (Expansion.texts(own, around)[0] ?? null)
  if (name === "cat" && (args.length === 0 || args[0] === "-")) return given
  if (name === "echo") return echo(args)
  if (name === "printf") return printf(args)
  if ((name === "which" || name === "command" || name === "type") && args.length > 0) return args.at(-1) ?? null
  return name === undefined || given === null || Marked.hasUnknown(given) ? null : filtered(name, args, given)
}

/** With marks; null when it is not known. `stdin` is the text that it reads, where the line tells that. */
export const of = (script: Script, around: Expansion.Surroundings, stdin: string | null = null): string | null => {
  const [only, ...more] = script
  if (only === undefined || more.length > 0) return null
  if (only._tag === "Group") return of(only.script, around, stdin)
  if (only._tag === "Pipeline")
    return only.parts.reduce<string | null>(
      (text, part, at) => (at > 0 && text === null ? null : of([part], around, text)),
      stdin
    )
  if (only._tag !== "Simple") return null
  const text = simple(only, around, stdin)
  return text === null
    ? null
    : Marked.show(text.replaceAll(Marked.unknown, "\u0000")).replaceAll("\u0000", Marked.unknown)
}
