/** One command that a line may run, with all that the line says about it. */
import type { Argument } from "./Expansion.js"
import * as Marked from "./Marked.js"

/** What a command reads on its stdin. */
export interface Source {
  readonly kind: "none" | "file" | "pipe" | "text"
  /** Known from the line itself, else null. */
  readonly text: string | null
  /** The programs whose output it is. */
  readonly programs: ReadonlyArray<string>
}

export interface Opened {
  readonly operator: string
  readonly descriptor: string | null
  /** With marks; null for a here-document. */
  readonly target: string | null
}

export interface Invocation {
  /** Lower case, without folders and `.exe`; empty when it is not known. */
  readonly name: string
  /** As written, folders included, with marks. */
  readonly program: string
  readonly args: ReadonlyArray<Argument>
  readonly assignments: ReadonlyArray<{ readonly name: string; readonly value: string }>
  readonly opened: ReadonlyArray<Opened>
  readonly stdin: Source
  /** Null when it is not known where it runs. */
  readonly directory: string | null
  /** Programs that it was started through, outermost first. */
  readonly through: ReadonlyArray<string>
  /** Are there more operands that are not known from the line (`xargs`, `find -exec`)? */
  readonly moreOperands: boolean
}

export const nothing: Source = { kind: "none", text: null, programs: [] }

/** `/usr/bin/RM` is `rm` where the file system does not tell case apart. */
export const nameOf = (program: string): string =>
  Marked.isKnown(program)
    ? (program.split(/[/\\]/).at(-1) ?? "")
        .normalize("NFKC")
        .toLowerCase()
        .replace(/\.(exe|cmd|bat)$/, "")
    : Marked.hasUnknown(program.split("/").at(-1) ?? "")
      ? ""
      : ""

/** As a person would write it. */
export const shown = (invocation: Invocation): string =>
  [invocation.program, ...invocation.args.map((argument) => argument.text)].map(Marked.show).join(" ")

export const textsOf = (invocation: Invocation): ReadonlyArray<string> =>
  invocation.args.map((argument) => argument.text)

export interface Options {
  /** Short letters and long names that are given, with their values. */
  readonly given: ReadonlyArray<readonly [name: string, value: string | null]>
  readonly operands: ReadonlyArray<string>
}

/** A long name may be shortened, as getopt allows: `--expr` is `--expression`. */
const wholeName = (name: string, takes: ReadonlySet<string>): string => {
  if (name.length < 2 || takes.has(name)) return name
  for (const known of takes) if (known.length > 1 && known.startsWith(name)) return known
  return name
}

/** Reads arguments as getopt does: clusters, `--name=value`, `--`, options behind operands. `valued` take the next word. */
export const optionsOf = (args: ReadonlyArray<string>, valued: ReadonlyArray<string> = []): Options => {
  const given: Array<readonly [string, string | null]> = []
  const operands: Array<string> = []
  const takes = new Set(valued)
  for (let at = 0; at < args.length; at++) {
    const argument = args[at] ?? ""
    if (argument === "--") {
      operands.push(...args.slice(at + 1))
      break
    }
    if (argument.startsWith("--")) {
      const equals = argument.indexOf("=")
      const name = wholeName(equals < 0 ? argument.slice(2) : argument.slice(2, equals), takes)
      if (equals >= 0) given.push([name, argument.slice(equals + 1)])
      else if (takes.has(name)) given.push([name, args[++at] ?? null])
      else given.push([name, null])
    } else if (argument.length > 1 && argument.startsWith("-")) {
      for (let letter = 1; letter < argument.length; letter++) {
        const name = argument.charAt(letter)
        if (!takes.has(name)) {
          given.push([name, null])
          continue
        }
        const rest = argument.slice(letter + 1)
        given.push([name, rest === "" ? (args[++at] ?? null) : rest])
        break
      }
    } else operands.push(argument)
  }
  return { given, operands }
}

/** Is one of these given? A long name may be shortened, as getopt allows. */
export const has = (options: Options, ...names: ReadonlyArray<string>): boolean =>
  options.given.some(([given]) =>
    names.some((name) => given === name || (name.length > 1 && given.length > 1 && name.startsWith(given)))
  )

export const valuesOf = (options: Options, ...names: ReadonlyArray<string>): ReadonlyArray<string> =>
  options.given.flatMap(([given, value]) => (value !== null && names.includes(given) ? [value] : []))

/** Does it only ask a program for its help or version? */
export const isQuery = (invocation: Invocation): boolean =>
  invocation.args.length === 1 && /^(--help|--version|-V|--usage|-\?)$/.test(invocation.args[0]?.text ?? "")
