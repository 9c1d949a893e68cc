/** What a program of `awk` does besides reading its input: it can run commands, load code, and read and write files. */
import { has, optionsOf, valuesOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"

export interface AwkProgram {
  /** Does it run a command, or read from where its text does not say? */
  readonly runs: boolean
  readonly reads: ReadonlyArray<string>
  readonly writes: ReadonlyArray<string>
  /** Does it write where its text does not say? */
  readonly hides: boolean
}

interface Token {
  readonly kind: "text" | "pattern" | "name" | "number" | "sign" | "end"
  readonly text: string
}

const token =
  /(?<space>[ \t\r]+|\\\r?\n|#[^\n]*)|(?<text>"(?:\\[^]|[^"\\])*"?)|(?<number>\d[\w.]*|\.\d+)|(?<name>@?[A-Za-z_…][\w…:]*)|(?<end>[;\n{}])|(?<sign>\|\||&&|\|&|>>|\+\+|--|[^])/gy
const pattern = /\/(?:\\[^\n]|[^\\\n/])*\//y
/** As some read it, a slash in a set is a letter. A set begins in one way only, or many of them would be tried in all ways. */
const patternWithSets = /\/(?:\\[^\n]|\[(?=(\^?\]?))\1[^\]\n]*\]|[^\\\n/[])*\//y

/** Behind these a slash begins a pattern. */
const expectsOperand = ({ kind, text }: Token): boolean =>
  kind === "end" ||
  (kind === "sign" && !/^(?:\)|\]|\$|\+\+|--)$/.test(text)) ||
  (kind === "name" && /^(?:print|printf|return|else|do|case)$/.test(text))

const kinds = ["text", "number", "name", "end"] as const

const tokensOf = (program: string, slash: RegExp): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  let last: Token = { kind: "end", text: "" }
  for (let at = 0; at < program.length;) {
    const begins = program.charAt(at) === "/" && expectsOperand(last)
    slash.lastIndex = at
    const found = begins ? slash.exec(program)?.[0] : undefined
    if (found !== undefined) {
      at += found.length
      last = { kind: "pattern", text: found }
      tokens.push(last)
      continue
    }
    token.lastIndex = at
    const { 0: text = "", groups = {} } = token.exec(program) ?? {}
    at += Math.max(text.length, 1)
    if (groups["space"] !== undefined) continue
    last = { kind: kinds.find((kind) => groups[kind] !== undefined) ?? "sign", text }
    tokens.push(last)
  }
  return tokens
}

const unquoted = ({ text }: Token): string => text.replace(/^"|"$/g, "")

type Statement = ReadonlyArray<Token>

const statementsOf = (tokens: ReadonlyArray<Token>): ReadonlyArray<Statement> => {
  const statements: Array<Array<Token>> = [[]]
  for (const token of tokens) {
    if (token.kind === "end") statements.push([])
    else statements.at(-1)?.push(token)
  }
  return statements
}

const isText = (token: Token | undefined): boolean => token?.kind === "text"

/** What a statement prints into: `print x > "f"`; null when it prints into nothing. */
const targetOf = (statement: Statement): Statement | null => {
  const print = statement.findIndex(({ kind, text }) => kind === "name" && /^printf?$/.test(text))
  if (print < 0) return null
  let depth = 0
  const at = statement.findIndex(({ text }, index) => {
    if (index < print) return false
    // In parentheses it compares.
    if (text === "(") depth++
    else if (text === ")") depth--
    return depth === 0 && (text === ">" || text === ">>")
  })
  return at < 0 ? null : statement.slice(at + 1)
}

/** Does it run a command, or read a file that its text does not name? */
const starts = (statement: Statement): boolean =>
  statement.some(({ kind, text }, at) => {
    if (kind === "sign") return text === "|" || text === "|&"
    if (kind === "text") return text.includes("/inet")
    if (kind !== "name") return false
    if (text === "system") return statement[at + 1]?.text === "("
    return text.startsWith("@") && text !== "@namespace"
  }) || readsUnnamed(statement)

const readsUnnamed = (statement: Statement): boolean => {
  const getline = statement.findIndex(({ text }) => text === "getline")
  return getline >= 0 && statement.some(({ text }, at) => at > getline && text === "<" && !isText(statement[at + 1]))
}

interface Reading extends AwkProgram {
  /** Does it write to what a variable names? */
  readonly opens: boolean
}

const read = (program: string, slash: RegExp): Reading => {
  const tokens = tokensOf(program, slash)
  const statements = statementsOf(tokens)
  const texts = tokens.filter(isText).map(unquoted)
  const targets = statements.map(targetOf).filter((target) => target !== null)
  const written = targets.filter((target) => target.length === 1 && isText(target[0]))
  const builds =
    texts.some((text) => /[/~]/.test(text)) ||
    tokens.some(({ text }) => /^(?:ENVIRON|ARGV)$/.test(text)) ||
    targets.some((target) => target.length > 1 && isText(target[0]))
  return {
    runs: statements.some(starts),
    reads: texts.filter((text) => /^[/~.]/.test(text)),
    writes: written.flatMap((target) => target.map(unquoted)),
    opens: written.length < targets.length,
    hides: builds && written.length < targets.length
  }
}

const valued = "f v F e i l E file assign field-separator source include load exec".split(" ")

/** What the words of a call tell `awk` to do; what stands in a file of its own is not looked at. */
export const of = (words: ReadonlyArray<string>): AwkProgram => {
  const options = optionsOf(words, valued)
  const given = valuesOf(options, "e", "source")
  const isGiven = has(options, "f", "file", "e", "source", "E", "exec")
  const program = Marked.show(isGiven ? given.join("\n") : (options.operands[0] ?? ""))
  // What is put into a variable may be what it opens.
  const values = [...valuesOf(options, "v", "assign"), ...options.operands.slice(isGiven ? 0 : 1)].flatMap((word) => {
    const [, value] = /^[A-Za-z_]\w*=([^]*)$/.exec(Marked.show(word)) ?? []
    return value === undefined ? [] : [value]
  })
  const found = [pattern, patternWithSets].map((slash) => read(program, slash))
  const opened = found.some((one) => one.opens) ? values : []
  return {
    runs: found.some((one) => one.runs) || has(options, "l", "load"),
    reads: [...found.flatMap((one) => one.reads), ...values.filter((value) => /^[/~.]/.test(value))],
    writes: [...found.flatMap((one) => one.writes), ...opened],
    hides: found.some((one) => one.hides)
  }
}
