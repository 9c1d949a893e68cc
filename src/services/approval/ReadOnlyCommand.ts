/**
 * The read-only rule of `terminal` (issue rule: what runs unasked is one simple command of a short read-only list, with
 * every path inside the working directory). Pure: whether a path leads elsewhere through a symlink is for the layer.
 */
import { Either } from "effect"
import * as path from "node:path/posix"
import type { Reason } from "./CommandJudge.js"
import * as List from "./ReadOnlyList.js"
import * as SimpleCommand from "./SimpleCommand.js"

/** What a command of the list would look at. */
export interface ReadOnlyCommand {
  readonly name: string
  /** As written, each without a step outwards; relative to the working directory. */
  readonly paths: ReadonlyArray<string>
  readonly reads: boolean
  readonly descends: boolean
  readonly filesOnly: boolean
}

type Checked<A> = Either.Either<A, Reason>

const refuse = (rule: string, text: string): Checked<never> => Either.left({ rule, text })

const includes = (names: ReadonlyArray<string> | undefined, name: string): boolean => names?.includes(name) ?? false

/** Does `child` lie in `parent` or is it the same? Both absolute. */
export const isInside = (parent: string, child: string): boolean => {
  const way = path.relative(parent, child)
  return way === "" || (way !== ".." && !way.startsWith("../") && !path.isAbsolute(way))
}

interface Found {
  readonly operands: Array<string>
  readonly paths: Array<string>
  readonly options: Array<string>
}

/** Sorts the arguments by the grammar; anything it does not know is refused. */
const sort = (name: string, grammar: List.Grammar, args: ReadonlyArray<string>): Checked<Found> => {
  const found: Found = { operands: [], paths: [], options: [] }
  const unknown = (option: string) => refuse("option", `\`${name} ${option}\` is not known to only read`)
  const rest = [...args]
  const take = (option: string, kind: List.Kind, inline: string | undefined): boolean => {
    const value = inline ?? rest.shift()
    if (value === undefined) return false
    if (kind === "path") found.paths.push(value)
    found.options.push(option)
    return true
  }
  for (let arg = rest.shift(); arg !== undefined; arg = rest.shift()) {
    if (arg === "--") {
      found.operands.push(...rest)
      break
    }
    if (arg === "-" || !arg.startsWith("-")) {
      found.operands.push(arg)
    } else if (arg.startsWith("--")) {
      const equals = arg.indexOf("=")
      const option = equals < 0 ? arg.slice(2) : arg.slice(2, equals)
      const value = equals < 0 ? undefined : arg.slice(equals + 1)
      const kind = grammar.longValues?.[option]
      if (kind !== undefined && Object.hasOwn(grammar.longValues ?? {}, option)) {
        if (!take(`--${option}`, kind, value)) return unknown(arg)
      } else if (includes(grammar.longOptional, option) || (value === undefined && includes(grammar.long, option))) {
        found.options.push(`--${option}`)
      } else return unknown(arg)
    } else if (!(grammar.counts === true && /^-\d+$/.test(arg))) {
      for (let at = 1; at < arg.length; at++) {
        const letter = arg.charAt(at)
        const kind = grammar.values?.[letter]
        if (kind !== undefined) {
          const inline = arg.slice(at + 1)
          if (!take(`-${letter}`, kind, inline === "" ? undefined : inline)) return unknown(arg)
          break
        }
        if (!(grammar.flags ?? "").includes(letter)) return unknown(`-${letter}`)
        found.options.push(`-${letter}`)
      }
    }
  }
  return Either.right(found)
}

const byGrammar = (name: string, grammar: List.Grammar, args: ReadonlyArray<string>): Checked<ReadOnlyCommand> =>
  Either.flatMap(sort(name, grammar, args), ({ operands, options, paths }) => {
    if (grammar.operands === "none" && operands.length > 0)
      return refuse("operand", `\`${name} ${operands[0] ?? ""}\` may do more than read`)
    if (grammar.maxOperands !== undefined && operands.length > grammar.maxOperands)
      return refuse("operand", `\`${name}\` with ${operands.length} operands may do more than read`)
    const odd = operands.find((operand) => grammar.operandShape?.test(operand) === false)
    if (odd !== undefined) return refuse("operand", `\`${name} ${odd}\` may do more than read`)
    const patternGiven = options.some((option) => includes(grammar.patternOptions, option))
    const operandPaths =
      grammar.operands === "path"
        ? operands
        : grammar.operands === "pattern"
          ? operands.slice(patternGiven ? 0 : 1)
          : []
    const descends =
      grammar.descends === "always" ||
      options.some((option) => includes(grammar.descends as ReadonlyArray<string>, option))
    return Either.right({
      name,
      paths: [...paths, ...(operandPaths.length === 0 && descends ? ["."] : operandPaths)],
      reads: grammar.reads,
      descends,
      filesOnly: grammar.filesOnly ?? false
    })
  })

const byFind = (args: ReadonlyArray<string>): Checked<ReadOnlyCommand> => {
  const isStart = (arg: string): boolean => !arg.startsWith("-") && arg !== "!"
  const firstTest = args.findIndex((arg) => !isStart(arg))
  const starts = firstTest < 0 ? args : args.slice(0, firstTest)
  const tests = firstTest < 0 ? [] : args.slice(firstTest)
  const paths = starts.length === 0 ? ["."] : [...starts]
  for (let index = 0; index < tests.length; index++) {
    const test = tests[index] ?? ""
    if (List.find.alone.has(test)) continue
    const value = tests[++index]
    if (List.find.withPath.has(test) && value !== undefined) paths.push(value)
    else if (!((List.find.withText.has(test) || /^-newer[aBcm]t$/.test(test)) && value !== undefined))
      return refuse("option", `\`find ${test}\` is not known to only look`)
  }
  return Either.right({ name: "find", paths, reads: false, descends: true, filesOnly: false })
}

const byGit = (args: ReadonlyArray<string>): Checked<ReadOnlyCommand> => {
  const [subcommand = "", ...rest] = args[0] === "--no-pager" ? args.slice(1) : args
  const grammar = Object.hasOwn(List.git, subcommand) ? List.git[subcommand] : undefined
  if (grammar === undefined) return refuse("command", `\`git ${subcommand}\` is not on the read-only list`)
  return byGrammar(`git ${subcommand}`, grammar, rest)
}

const byName = (name: string, args: ReadonlyArray<string>): Checked<ReadOnlyCommand> => {
  if (name === "echo") return Either.right({ name, paths: [], reads: false, descends: false, filesOnly: false })
  if (name === "find") return byFind(args)
  if (name === "git") return byGit(args)
  const grammar = Object.hasOwn(List.commands, name) ? List.commands[name] : undefined
  return grammar === undefined
    ? refuse("command", `\`${name}\` is not on the read-only list`)
    : byGrammar(name, grammar, args)
}

/** The command if it is read-only by its words alone, else the reason why a person must be asked. */
export const parse = (command: string, workingDirectory: string): Checked<ReadOnlyCommand> =>
  Either.flatMap(SimpleCommand.words(command), ([name = "", ...args]) =>
    Either.flatMap(byName(name, args), (found) => {
      const outside = found.paths.find(
        (written) =>
          written.split("/").includes("..") || !isInside(workingDirectory, path.resolve(workingDirectory, written))
      )
      return outside === undefined
        ? Either.right(found)
        : refuse("path", `\`${outside}\` is outside of the working directory`)
    })
  )
