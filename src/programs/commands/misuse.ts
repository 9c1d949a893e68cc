/** What is wrong with the arguments of a call, in words that name what was typed: the framework's own often name another part of it. */
import type { ValidationError } from "@effect/cli/ValidationError"
import * as Spelling from "../../services/operation/Spelling.js"
import { type Ended, usage, wordsOf } from "./failure.js"
import * as Help from "./help.js"

/** An option as it was typed: unknown without `option`; `value` is null where there is none. */
interface Given {
  readonly name: string
  readonly option: Help.Option | undefined
  readonly value: string | null
}

const givenIn = (args: ReadonlyArray<string>, options: ReadonlyArray<Help.Option>): ReadonlyArray<Given> => {
  const end = args.indexOf("--")
  const before = end === -1 ? args : args.slice(0, end)
  const found: Array<Given> = []
  for (let index = 0; index < before.length; index++) {
    const [, name, inline] = /^(-\w|--[\w-]+)(?:=(.*))?$/s.exec(before[index] ?? "") ?? []
    if (name === undefined) continue
    const option = options.find(({ names }) => names.includes(name))
    if (inline !== undefined || option === undefined || option.value === null) {
      found.push({ name, option, value: inline ?? null })
    } else found.push({ name, option, value: before[++index] ?? null })
  }
  return found
}

const orMeant = (typed: string, known: ReadonlyArray<string>, shown: (word: string) => string): string => {
  const closest = Spelling.closest(typed, known)
  return closest === null ? "" : ` (did you mean ${shown(closest)}?)`
}

const optionProblem = ({ name, option, value }: Given, options: ReadonlyArray<Help.Option>): string | null => {
  if (option === undefined) {
    const known = options.flatMap(({ names }) => names.map((known) => known.replace(/^-+/, "")))
    // One letter is as near to any other.
    const hint = name.startsWith("--") ? orMeant(name.slice(2), known, (word) => `--${word}`) : ""
    return `there is no option ${name} here${hint}`
  }
  if (option.value === null) return null
  if (value === null) return `${name} needs a value`
  const choices = option.value.split("|")
  return choices.length > 1 && !choices.includes(value)
    ? `${name} is one of ${choices.join(", ")}, not "${value}"`
    : null
}

const notANumber = /^'(.*)' is not a (?:integer|float)$/s

/** The words of a call, without its options. */
export const wordsIn = (args: ReadonlyArray<string>): ReadonlyArray<string> =>
  args.filter((word) => !word.startsWith("-"))

/** Wrong usage: what it is, and where it is said how the arguments are meant. */
export const of = (args: ReadonlyArray<string>, top: ReadonlyArray<Help.Place>, error: ValidationError): Ended => {
  const words = wordsIn(args)
  const place = Help.find(top, words)
  const path = place?.path ?? []
  const options = Help.optionsOf(place)
  const given = givenIn(args, options)

  const commandProblem = (): string => {
    const known = (place === null ? top : Help.childrenOf(place)).map((child) => child.path.at(-1) ?? "")
    const called = (word: string) => `\`${["hermes", ...path, word].join(" ")}\``
    const [word = args[0] ?? ""] = words.slice(path.length)
    return `there is no command ${called(word)}${orMeant(word, known, called)}`
  }
  const otherProblem = (): string => {
    const text = wordsOf(error)
    const [, typed] = notANumber.exec(text) ?? []
    const name = given.find(({ value }) => value === typed)?.name
    return typed === undefined ? text : `${name === undefined ? "" : `${name}: `}"${typed}" is no number`
  }
  const [wrong] = given.flatMap((each) => optionProblem(each, options) ?? [])
  const what = wrong ?? (error._tag === "CommandMismatch" ? commandProblem() : otherProblem())
  return usage(`${what}; \`${["hermes", ...path, "--help"].join(" ")}\` shows what there is`)
}
