/** Walks a script and finds every command that it may run, with values as far as the line itself tells them. */
import * as path from "node:path/posix"
import * as Expansion from "./Expansion.js"
import { callsItself } from "./ForkBomb.js"
import { type Invocation, nameOf, nothing, type Opened, type Source } from "./Invocation.js"
import * as Marked from "./Marked.js"
import { OtherNames } from "./OtherNames.js"
import { peel } from "./Peeling.js"
import type { Assignment, Redirect, Script, Simple, Statement, Word } from "./Script.js"
import * as ScriptReader from "./ScriptReader.js"
import * as StaticOutput from "./StaticOutput.js"
import type { Parse } from "./SyntaxTree.js"

export interface Options {
  readonly parse: Parse
  readonly home: string
  readonly agentHome: string
  readonly directory: string
  /** Where a program that is named by its path really lies. */
  readonly follow: (file: string) => string
  /** Every command that may run, in the order of the text. */
  readonly visit: (invocation: Invocation) => void
  /** Has it taken too long? A few commands are always looked at. */
  readonly late: () => boolean
  /** What hides what would run. */
  readonly report: (rule: string, text: string) => void
}

interface Context {
  readonly stdin: Source
  readonly positional: ReadonlyArray<string> | null
  readonly through: ReadonlyArray<string>
  readonly depth: number
}

/** Words that are no commands: where the parser takes one for a command, it and the shell disagree. */
const reserved = /^(?:[{}!]|\[\[|\]\]|if|then|elif|else|fi|for|while|until|do|done|case|esac|select|function|in|[()]+)$/

/**
 * The shell runs what stands in a subscript when it counts, tests or sets: `x='a[$(rm y)]'; echo $((x))`. A name is
 * looked for at its beginning alone: from each of its letters a long one would be read to its end.
 */
const runningSubscript = /(?<!\w)\d*[A-Za-z_]\w*\[[^\][]*(?:\$\(|`)/
const takesSubscripts =
  /^(?:let|test|\[|\[\[|printf|read|mapfile|readarray|unset|declare|typeset|local|export|readonly|wait|getopts)$/

const maxDepth = 12
const maxCommands = 2_000
const fewCommands = 48
const fewWords = 1_024
const maxValues = 16
const maxCharacters = 65_536

export class Interpreter {
  readonly #options: Options
  readonly #values = new Map<string, ReadonlyArray<string>>()
  readonly #pending = new Map<string, Array<Assignment>>()
  readonly #functions = new Map<string, Array<Script>>()
  readonly #aliases = new Map<string, Array<string>>()
  readonly #outputs = new Map<Script, string>()
  readonly #otherNames: OtherNames
  /** Functions and aliases that are being looked at: what they call again is known already. */
  readonly #active = new Set<string>()
  #directory: string | null
  /** What `set -- …` made of `$1` and the others. */
  #positional: ReadonlyArray<string> | null = null
  /** `$_`: the last word of the command before. */
  #lastWord: string | null = null
  #programs: Set<string> | null = null
  #commands = 0
  #words = 0
  #characters = 0
  #stopped = false

  constructor(options: Options) {
    this.#options = options
    this.#directory = options.directory
    this.#otherNames = new OtherNames(options.follow, (file) => this.#absolute(file))
  }

  /** Judges a whole text. */
  text(source: string, context: Context = { stdin: nothing, positional: null, through: [], depth: 0 }): void {
    if (context.depth > maxDepth) {
      this.#options.report("depth", "is nested too deeply to be understood")
      return
    }
    const { problems, script } = ScriptReader.read(this.#options.parse(source))
    for (const problem of problems) this.#options.report("unparsable", problem)
    this.#collect(script)
    this.#script(script, context)
  }

  /** Assignments and functions count from wherever they stand: a loop or a branch may run them first. */
  #collect(script: Script): void {
    const word = ({ pieces }: Word): void => {
      for (const piece of pieces) {
        if (piece._tag === "Output" || piece._tag === "Process") this.#collect(piece.script)
        if (piece._tag === "Unknown") for (const inner of piece.scripts) this.#collect(inner)
        if (piece._tag === "Variable" && piece.argument !== null) {
          word(piece.argument)
          if (piece.operator?.endsWith("=") === true)
            this.#assign({ name: piece.name, appends: false, value: piece.argument, elements: null })
        }
      }
    }
    for (const statement of script) {
      switch (statement._tag) {
        case "Simple":
          for (const assignment of statement.assignments) {
            this.#assign(assignment)
            word(assignment.value)
            assignment.elements?.forEach(word)
          }
          statement.words.forEach(word)
          for (const { target, text } of statement.redirects) {
            if (target !== null) word(target)
            if (text !== null) word(text)
          }
          this.#binds(statement)
          break
        case "Pipeline":
          this.#collect(statement.parts)
          break
        case "Group":
          this.#collect(statement.script)
          for (const { target, text } of statement.redirects) {
            if (target !== null) word(target)
            if (text !== null) word(text)
          }
          break
        case "Function": {
          const known = this.#functions.get(statement.name)
          if (known === undefined) this.#functions.set(statement.name, [statement.script])
          else known.push(statement.script)
          this.#collect(statement.script)
        }
      }
    }
  }

  #assign(assignment: Assignment): void {
    const known = this.#pending.get(assignment.name)
    if (known === undefined) this.#pending.set(assignment.name, [assignment])
    else if (known.length <= maxValues) known.push(assignment)
    this.#values.clear()
  }

  /** `read x`, `declare x=…`, `printf -v x`: variables set by a command's words. */
  #binds({ words }: Simple): void {
    const [name, ...args] = words.map((word) =>
      word.pieces.map((piece) => (piece._tag === "Text" ? piece.text : Marked.unknown)).join("")
    )
    const unknown = (variable: string): void =>
      this.#assign({
        name: variable,
        appends: false,
        value: { pieces: [{ _tag: "Unknown", quoted: false, scripts: [] }] },
        elements: null
      })
    if (name === "read" || name === "mapfile" || name === "readarray" || name === "getopts")
      for (const argument of [...args, "REPLY", "MAPFILE"]) if (/^[A-Za-z_]\w*$/.test(argument)) unknown(argument)
    if (name === "printf" && args[0]?.startsWith("-v") === true)
      unknown(args[0].length > 2 ? args[0].slice(2) : (args[1] ?? ""))
    if (name === "let") for (const argument of args) unknown(/^[A-Za-z_]\w*/.exec(argument)?.[0] ?? "")
  }

  #valuesOf(name: string): ReadonlyArray<string> | null {
    const known = this.#values.get(name)
    if (known !== undefined) return known
    const pending = this.#pending.get(name)
    if (pending === undefined) return null
    // Whoever names itself on the way gets an unknown value, not an endless loop.
    this.#values.set(name, [Marked.unknown])
    let values: ReadonlyArray<string> = []
    for (const { appends, elements, expanded, value } of pending) {
      const own =
        expanded === true
          ? Expansion.fields(value, this.#around(null, name)).flatMap((fields) => fields.map(({ text }) => text))
          : elements === null
            ? Expansion.texts(value, this.#around(null, name)).map((text) => this.#plain(text))
            : this.#elements(elements)
      values = appends
        ? [...values, ...values.flatMap((before) => own.map((after) => before + after)), ...own]
        : [...values, ...own]
      if (values.length > maxValues) values = [Marked.unknown]
    }
    this.#values.set(name, values)
    return values
  }

  #elements(elements: ReadonlyArray<Word>): ReadonlyArray<string> {
    const texts = elements.map((element) =>
      Expansion.texts(element, this.#around(null)).map((text) => this.#plain(text))
    )
    const first = texts.map((alternatives) => alternatives[0] ?? "")
    // `"${a[*]}"` is one word of them, `"${a[@]}"` is all of them.
    return [first.join(" "), first.join(Marked.split), ...texts.flat()]
  }

  /** A value keeps its letters: `*` in it is a glob again where it is used without quotes. */
  #plain(text: string): string {
    return text
      .split(Marked.unknown)
      .map((part) =>
        Marked.show(part.startsWith(Marked.tilde) ? part.replace(/^\ue007(?=\/|$)/, this.#options.home) : part)
      )
      .join(Marked.unknown)
  }

  #around(positional: ReadonlyArray<string> | null, except?: string): Expansion.Surroundings {
    return {
      home: this.#options.home,
      agentHome: this.#options.agentHome,
      directory: this.#directory,
      valuesOf: (name) => (name === except ? (this.#values.get(name) ?? null) : this.#valuesOf(name)),
      outputOf: (script, reads) => this.#output(script, reads ?? false),
      argumentsOf: positional ?? this.#positional,
      lastWord: this.#lastWord,
      allows: (characters) => this.#allows(characters)
    }
  }

  #allows(characters: number): boolean {
    this.#characters += characters
    if (this.#characters <= maxCharacters) return true
    if (!this.#stopped) this.#options.report("depth", "makes too much text to be understood")
    this.#stopped = true
    return false
  }

  /** Runs through a substitution once and gives its text when the line tells it. */
  #output(script: Script, reads: boolean): string {
    const known = this.#outputs.get(script)
    if (known !== undefined) return known
    this.#outputs.set(script, Marked.unknown)
    const directory = this.#directory
    const stdin: Source = reads ? { kind: "pipe", text: null, programs: [] } : nothing
    this.#script(script, { stdin, positional: null, through: ["$("], depth: 1 })
    this.#directory = directory
    const text = StaticOutput.of(script, this.#around(null)) ?? Marked.unknown
    this.#outputs.set(script, text)
    return text
  }

  #script(script: Script, context: Context): void {
    for (const statement of script) {
      if (this.#stopped) return
      this.#statement(statement, context)
    }
  }

  #statement(statement: Statement, context: Context): void {
    switch (statement._tag) {
      case "Simple":
        return this.#simple(statement, context)
      case "Pipeline":
        return this.#pipeline(statement.parts, context)
      case "Group": {
        const before = this.#directory
        const { source } = this.#open(statement.redirects, context, true)
        this.#script(statement.script, { ...context, stdin: source })
        if (statement.subshell && before !== this.#directory) this.#directory = before
        return
      }
      case "Function":
        if (callsItself(statement.name, statement.script))
          this.#options.report("fork-bomb", `\`${statement.name}\` starts itself without end`)
        this.#script(statement.script, { ...context, positional: null })
    }
  }

  #pipeline(parts: ReadonlyArray<Statement>, context: Context): void {
    const outer = this.#programs
    let stdin = context.stdin
    const programs = new Set<string>()
    parts.forEach((part, index) => {
      const before = this.#directory
      const mine = new Set<string>()
      this.#programs = mine
      this.#statement(part, { ...context, stdin })
      this.#directory = before
      mine.forEach((program) => programs.add(program))
      const text = StaticOutput.of([part], this.#around(context.positional), stdin.text)
      if (index + 1 < parts.length) stdin = { kind: "pipe", text, programs: [...programs] }
    })
    this.#programs = outer
    programs.forEach((program) => outer?.add(program))
  }

  #open(redirects: ReadonlyArray<Redirect>, context: Context, reports: boolean) {
    const opened: Array<Opened> = []
    let source = context.stdin
    const around = this.#around(context.positional)
    for (const { descriptor, operator, target, text } of redirects) {
      if (text !== null) {
        const [value = ""] = Expansion.texts(text, around)
        if (descriptor === null || descriptor === "0")
          source = { kind: "text", text: Marked.hasUnknown(value) ? null : Marked.show(value), programs: [] }
        opened.push({ operator, descriptor, target: null })
        continue
      }
      if (target === null) continue
      const programs = new Set<string>()
      const outer = this.#programs
      this.#programs = programs
      const alternatives = Expansion.fields(target, around)
      this.#programs = outer
      const process = alternatives.some((fields) => fields.some((field) => field.process))
      for (const fields of alternatives)
        opened.push({ operator, descriptor, target: process ? null : (fields[0]?.text ?? "") })
      if (operator.startsWith("<") && (descriptor === null || descriptor === "0"))
        source = process
          ? { kind: "pipe", text: null, programs: [...programs] }
          : { kind: "file", text: null, programs: [] }
    }
    if (reports && opened.length > 0)
      this.#options.visit({
        name: ":",
        program: ":",
        args: [],
        assignments: [],
        opened,
        stdin: source,
        directory: this.#directory,
        through: context.through,
        moreOperands: false
      })
    return { opened, source }
  }

  #simple({ assignments, redirects, words }: Simple, context: Context): void {
    if (this.#stopped) return
    const around = this.#around(context.positional)
    const bound = assignments.flatMap(({ elements, name, value }) => [
      ...Expansion.texts(value, around).map((text) => ({ name, value: this.#plain(text) })),
      ...(elements ?? []).flatMap((element) =>
        Expansion.texts(element, around).map((text) => ({ name, value: this.#plain(text) }))
      )
    ])
    const { opened, source } = this.#open(redirects, context, false)
    if (bound.some(({ value }) => runningSubscript.test(value)))
      this.#options.report("hidden-command", "gives a variable a text that the shell would run where it counts")
    let argvs: ReadonlyArray<Array<Expansion.Argument>> = [[]]
    for (const word of words) {
      const [first = [], ...others] = Expansion.fields(word, around)
      if (argvs.length * (others.length + 1) > 32) {
        this.#options.report("hidden-command", "has too many forms to look at them one by one")
        argvs = argvs.slice(0, 1)
      } else if (others.length > 0) {
        argvs = argvs.flatMap((head) => [first, ...others].map((tail) => [...head, ...tail]))
        continue
      }
      for (const argv of argvs) argv.push(...first)
    }
    if (this.#stopped) return
    for (const argv of argvs) this.#command(argv, bound, opened, { ...context, stdin: source }, false)
  }

  #command(
    argv: ReadonlyArray<Expansion.Argument>,
    assignments: Invocation["assignments"],
    opened: ReadonlyArray<Opened>,
    context: Context,
    moreOperands: boolean
  ): void {
    this.#commands += 1
    this.#words += argv.length
    const many = this.#commands > fewCommands || this.#words > fewWords
    if (this.#commands > maxCommands || context.depth > maxDepth || (many && this.#options.late())) {
      this.#options.report("depth", "does too much to be understood")
      this.#stopped ||= context.depth <= maxDepth
      return
    }
    const [first, ...args] = argv
    const program = first?.text ?? ""
    if (reserved.test(program) && first?.quoted === false)
      this.#options.report("unparsable", `\`${program}\` stands where a command is expected`)
    if (first !== undefined && first.hidden !== null)
      this.#options.report("hidden-command", `\`${Marked.show(program)}\` as a command ${first.hidden}`)
    else if (/[^\x20-\x7e]/.test(Marked.show(program).replaceAll("…", "")))
      this.#options.report("look-alike", `the command \`${Marked.show(program)}\` has letters that look like others`)
    const name = first === undefined ? "" : nameOf(program)
    const invocation: Invocation = {
      name,
      program,
      args,
      assignments,
      opened,
      stdin: context.stdin,
      directory: this.#directory,
      through: context.through,
      moreOperands
    }
    const deeper = { ...context, depth: context.depth + 1 }
    this.#programs?.add(name)
    if (takesSubscripts.test(name) && args.some(({ text }) => runningSubscript.test(Marked.show(text))))
      this.#options.report("hidden-command", `\`${name}\` would run what stands in a subscript`)
    this.#options.visit(invocation)
    this.#follow(invocation, context)
    if (first !== undefined)
      for (const text of this.#otherNames.of(program))
        this.#command([{ ...first, text }, ...args], assignments, opened, deeper, moreOperands)
    this.#otherNames.learn(invocation)
    this.#changeDirectory(invocation)
    this.#lastWord = argv.at(-1)?.text ?? this.#lastWord
    if (name === "alias") this.#define(args)
    if (name === "set") {
      const texts = args.map(({ text }) => text)
      const from = texts.indexOf("--") + 1 || texts.findIndex((text) => !/^[-+]/.test(text))
      if (from >= 0 && from < texts.length) this.#positional = texts.slice(from)
    }
    if (this.#active.has(program)) return
    this.#active.add(program)
    for (const script of program.includes("/") ? [] : (this.#functions.get(program) ?? []))
      this.#script(script, { ...deeper, positional: args.map((argument) => argument.text) })
    for (const text of this.#aliases.get(program) ?? [])
      this.text(`${text} ${args.map((argument) => quoted(argument.text)).join(" ")}`, deeper)
    this.#active.delete(program)
  }

  #absolute(file: string): string | null {
    if (file.startsWith("/")) return path.normalize(file)
    return this.#directory === null ? null : path.resolve(this.#directory, file)
  }

  #follow(invocation: Invocation, context: Context): void {
    const inner = { ...context, depth: context.depth + 1, through: [...context.through, invocation.name] }
    for (const peeled of peel(invocation)) {
      if (peeled._tag === "Command") {
        const before = this.#directory
        if (peeled.directory !== undefined) this.#enter(peeled.directory)
        this.#command(
          peeled.argv,
          [...invocation.assignments, ...peeled.assignments],
          [],
          inner,
          peeled.moreOperands || invocation.moreOperands
        )
        if (peeled.directory !== undefined) this.#directory = before
      } else if (peeled.text === null) {
        this.#options.report("hidden-command", `what \`${invocation.name}\` would run is not known before it runs`)
      } else {
        this.text(peeled.text, { ...inner, positional: peeled.args })
      }
    }
  }

  /** Where the rest of the line runs; both places when a `cd` may or may not have been. */
  #changeDirectory({ args, name }: Invocation): void {
    if (name === "popd") this.#directory = null
    if (name !== "cd" && name !== "pushd" && name !== "chdir") return
    const target = args.find((argument) => !/^-[LPe@]+$/.test(argument.text) && argument.text !== "--")?.text
    if (target === undefined) this.#directory = this.#options.home
    else this.#enter(target)
  }

  #enter(target: string): void {
    if (target === "-" || !Marked.isKnown(target)) this.#directory = null
    else if (target.startsWith("/")) this.#directory = path.normalize(target)
    else this.#directory = this.#directory === null ? null : path.resolve(this.#directory, target)
  }

  #define(args: ReadonlyArray<Expansion.Argument>): void {
    for (const { text } of args) {
      const [, name, value] = /^([^=\s]+)=([^]*)$/.exec(text) ?? []
      if (name === undefined || value === undefined) continue
      this.#aliases.set(name, [...(this.#aliases.get(name) ?? []), Marked.show(value)])
      this.text(Marked.show(value), { stdin: nothing, positional: null, through: ["alias"], depth: 1 })
    }
  }
}

const quoted = (text: string): string => `'${Marked.show(text).replaceAll("'", `'\\''`)}'`
