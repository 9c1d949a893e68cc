/** From a tree to the script it stands for. What is not surely understood is said, and read as well as can be. */
import * as AnsiC from "./AnsiC.js"
import * as Arithmetic from "./Arithmetic.js"
import type { Assignment, Piece, ReadScript, Redirect, Script, Statement, Word } from "./Script.js"
import * as HereDocument from "./HereDocument.js"
import { accountsForAll, type Parsed, type SyntaxNode, textOf } from "./SyntaxTree.js"

const wordTypes = new Set([
  "word",
  "number",
  "string",
  "raw_string",
  "ansi_c_string",
  "translated_string",
  "concatenation",
  "simple_expansion",
  "expansion",
  "command_substitution",
  "process_substitution",
  "arithmetic_expansion",
  "brace_expression",
  "special_variable_name",
  "variable_name",
  "file_descriptor"
])

const redirectTypes = new Set(["file_redirect", "heredoc_redirect", "herestring_redirect"])

/** Tokens that a shell acts on wherever they stand. */
const hasOperator = (node: SyntaxNode): boolean =>
  node.children.some((child) =>
    wordTypes.has(child.type) ? false : /^(?:&&|\|\||[<>|;&()])$/.test(child.type) || hasOperator(child)
  )

/** Leaves whose text is data, or is looked through where it is read. */
const data = new Set([
  "raw_string",
  "ansi_c_string",
  "comment",
  "heredoc_body",
  "heredoc_content",
  "heredoc_start",
  "heredoc_end",
  "string_content"
])
const starts = /(?<!\\)(?:\\\\)*(?:`|\$\(|[<>]\()/

const plainWord = /^(?:[^\s'"\\$`;&|<>()]|\\[^])+$/

interface Collected {
  readonly assignments: Array<Assignment>
  readonly words: Array<Word>
  readonly redirects: Array<Redirect>
  /** What a here-document's line goes on with: `| sh`, `&& rm x`. */
  readonly after: Array<{ readonly operator: string; readonly statement: Statement }>
}

const empty: Word = { pieces: [] }

class Reader {
  readonly problems: Array<string> = []
  readonly #source: string

  constructor(source: string) {
    this.#source = source
  }

  problem(text: string): void {
    if (!this.problems.includes(text)) this.problems.push(text)
  }

  text(node: SyntaxNode): string {
    return textOf(this.#source, node)
  }

  /** `r\m` in pieces: what stands after a backslash is quoted, the rest is not. */
  unquoted(text: string): ReadonlyArray<Piece> {
    const pieces: Array<Piece> = []
    let first = true
    for (const [part, escaped, plain] of text.matchAll(/\\([^])|([^\\]+)/g)) {
      if (escaped === "\n") continue
      pieces.push(
        plain === undefined
          ? { _tag: "Text", text: escaped ?? part, quoted: true, escaped: !first && /[A-Za-z]/.test(escaped ?? "") }
          : { _tag: "Text", text: plain, quoted: false, escaped: false }
      )
      first = false
    }
    return pieces
  }

  /** Text inside double quotes or of a here-document, with the expansions in it. */
  interpolated(node: SyntaxNode, from: number, to: number): ReadonlyArray<Piece> {
    const pieces: Array<Piece> = []
    const literal = (start: number, end: number): void => {
      if (start >= end) return
      const raw = this.#source.slice(start, end)
      if (/(?<!\\)(?:\\\\)*(?:`|\$(?=[A-Za-z_{(0-9@*]))/.test(raw)) this.problem("an expansion in it is not understood")
      pieces.push({
        _tag: "Text",
        text: raw.replace(/\\([$`"\\\n])/g, (_, letter: string) => (letter === "\n" ? "" : letter)),
        quoted: true,
        escaped: false
      })
    }
    let at = from
    for (const child of node.children) {
      if (!child.named || child.type === "string_content" || child.type === "heredoc_content") continue
      // In a string the grammar takes the blanks before an expansion for a part of it.
      literal(at, child.start + (/^\s+(?=[$`])/.exec(this.text(child))?.[0].length ?? 0))
      pieces.push(...this.pieces(child, true))
      at = child.end
    }
    literal(at, to)
    return pieces.length === 0 ? [{ _tag: "Text", text: "", quoted: true, escaped: false }] : pieces
  }

  expansion(node: SyntaxNode, quoted: boolean): ReadonlyArray<Piece> {
    const inner = node.children.filter((child) => !["$", "${", "}"].includes(child.type.trim()))
    const [first, second, ...more] = inner
    const scripts = this.scriptsIn(node)
    const unknown: ReadonlyArray<Piece> = [{ _tag: "Unknown", quoted, scripts }]
    if (/@P\}$/.test(this.text(node))) this.problem("a value that is expanded once more is not understood")
    if (first === undefined) return unknown
    if (first.type === "subscript" && second === undefined) {
      const name = first.children[0]
      return name === undefined
        ? unknown
        : [{ _tag: "Variable", name: this.text(name), quoted, operator: "[", argument: null }, ...this.hidden(scripts)]
    }
    if (first.type !== "variable_name" && first.type !== "special_variable_name") return unknown
    const name = this.text(first)
    if (second === undefined) return [{ _tag: "Variable", name, quoted, operator: null, argument: null }]
    const operator = this.text(second)
    if (!/^:?[-=+?]$/.test(operator)) return unknown
    const argument = { pieces: more.flatMap((child) => [...this.pieces(child, quoted)]) }
    return [{ _tag: "Variable", name, quoted, operator, argument }]
  }

  /** Scripts whose output cannot be followed, without a text of their own. */
  hidden(scripts: ReadonlyArray<Script>): ReadonlyArray<Piece> {
    return scripts.length === 0 ? [] : [{ _tag: "Unknown", quoted: true, scripts }]
  }

  /** The commands that run inside of a node that is not read further, such as arithmetic. */
  scriptsIn(node: SyntaxNode): ReadonlyArray<Script> {
    return node.children.flatMap((child) => {
      if (child.type === "command_substitution" || child.type === "process_substitution")
        return [this.script(this.within(child))]
      return this.scriptsIn(child)
    })
  }

  within(node: SyntaxNode): ReadonlyArray<SyntaxNode> {
    return node.children.filter((child) => !["$(", "`", ")", "<(", ">("].includes(child.type.trim()))
  }

  substitution(node: SyntaxNode, quoted: boolean): ReadonlyArray<Piece> {
    if (node.children[0]?.type.trim() === "`" && this.text(node).includes("\\"))
      this.problem("has a backslash between backticks")
    const inner = this.within(node)
    const redirects = inner.filter((child) => child.type === "file_redirect")
    if (redirects.length > 0 && redirects.length === inner.length) {
      const collected = this.collect(inner)
      return [
        {
          _tag: "Output",
          quoted,
          script: [{ _tag: "Simple", assignments: [], words: [this.literal("cat")], redirects: collected.redirects }]
        }
      ]
    }
    return [{ _tag: "Output", script: this.script(inner), quoted }]
  }

  literal(text: string): Word {
    return { pieces: [{ _tag: "Text", text, quoted: false, escaped: false }] }
  }

  pieces(node: SyntaxNode, quoted: boolean): ReadonlyArray<Piece> {
    const text = this.text(node)
    switch (node.type) {
      case "word":
      case "number":
      case "variable_name":
      case "special_variable_name":
      case "file_descriptor":
        if (node.children.length > 0) {
          if (node.children.some((child) => child.named))
            return node.children.flatMap((child) => [...this.pieces(child, quoted)])
        }
        if (!quoted && !plainWord.test(text) && text !== "$") this.problem(`the word \`${text}\` is not understood`)
        return quoted ? [{ _tag: "Text", text, quoted, escaped: false }] : this.unquoted(text)
      case "string":
        return this.interpolated(node, node.start + 1, node.end - 1)
      case "translated_string":
        return node.children.filter((child) => child.named).flatMap((child) => [...this.pieces(child, true)])
      case "raw_string":
        if (!/^'[^']*'$/.test(text)) this.problem("a quoted text is not understood")
        return [{ _tag: "Text", text: text.slice(1, -1), quoted: true, escaped: false }]
      case "ansi_c_string": {
        if (!/^\$'(?:[^'\\]|\\[^])*'$/.test(text)) this.problem("a quoted text is not understood")
        const inner = text.slice(2, -1)
        return [{ _tag: "Text", text: AnsiC.decode(inner), quoted: true, escaped: inner.includes("\\") }]
      }
      case "concatenation":
        return node.children.flatMap((child) => [...this.pieces(child, quoted)])
      case "command_name":
        return node.children.length === 0
          ? this.unquoted(text)
          : node.children.flatMap((child) => [...this.pieces(child, quoted)])
      case "simple_expansion":
      case "expansion":
        return this.expansion(node, quoted)
      case "command_substitution":
        return this.substitution(node, quoted)
      case "process_substitution":
        return [{ _tag: "Process", script: this.script(this.within(node)), writes: node.children[0]?.type === ">(" }]
      case "arithmetic_expansion": {
        const value = Arithmetic.constant(text.trim())
        return value === null
          ? [{ _tag: "Unknown", quoted, scripts: this.scriptsIn(node) }]
          : [{ _tag: "Text", text: String(value), quoted: true, escaped: false }]
      }
      case "subscript":
        return [{ _tag: "Unknown", quoted, scripts: this.scriptsIn(node) }]
      case "brace_expression":
      case "extglob_pattern":
      case "regex":
      case "test_operator":
        return [{ _tag: "Text", text, quoted: node.type !== "brace_expression", escaped: false }]
      case "array":
        return [{ _tag: "Unknown", quoted, scripts: this.scriptsIn(node) }]
      default:
        if (!node.named) return [{ _tag: "Text", text, quoted, escaped: false }]
        this.problem(`\`${text.slice(0, 40)}\` is not understood`)
        return [{ _tag: "Unknown", quoted, scripts: this.scriptsIn(node) }]
    }
  }

  word(node: SyntaxNode): Word {
    return { pieces: this.pieces(node, false) }
  }

  assignment(node: SyntaxNode): Assignment {
    const [target, operator, value] = node.children
    const scripts = target === undefined ? [] : this.scriptsIn(target)
    const name = target?.type === "subscript" ? target.children[0] : target
    const elements =
      value?.type === "array"
        ? value.children.filter((child) => child.named && child.type !== "comment").map((child) => this.word(child))
        : null
    const read = value === undefined || elements !== null ? empty : this.word(value)
    return {
      name: name === undefined ? "" : this.text(name),
      appends: operator?.type === "+=" || target?.type === "subscript",
      value: { pieces: [...read.pieces, ...this.hidden(scripts)] },
      elements
    }
  }

  redirect(node: SyntaxNode, into: Collected): void {
    const descriptor = node.children.find((child) => child.type === "file_descriptor")
    const operator = node.children.find((child) => !child.named)
    const words = node.children.filter((child) => child.named && child.type !== "file_descriptor")
    const common = {
      operator: operator?.type ?? ">",
      descriptor: descriptor === undefined ? null : this.text(descriptor)
    }
    const [first, ...rest] = words
    if (node.type === "herestring_redirect") {
      into.redirects.push({ ...common, target: null, text: first === undefined ? empty : this.word(first) })
    } else {
      into.redirects.push({ ...common, target: first === undefined ? null : this.word(first), text: null })
    }
    // The grammar takes the words behind a redirection for more of its targets; the shell takes them as arguments.
    for (const word of rest) into.words.push(this.word(word))
  }

  hereDocument(node: SyntaxNode, into: Collected): void {
    const document = HereDocument.read(this.#source, node)
    if (document === null) {
      this.problem("a here-document is not understood")
    } else {
      into.redirects.push({
        operator: "<<",
        descriptor: null,
        target: null,
        text: {
          pieces: document.quoted
            ? [{ _tag: "Text", text: this.text(document.body), quoted: true, escaped: false }]
            : this.interpolated(document.body, document.body.start, document.body.end)
        }
      })
    }
    const known = new Set(["<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end", "file_descriptor"])
    let operator = ""
    for (const child of node.children) {
      if (known.has(child.type)) continue
      if (child.type === "&&" || child.type === "||") operator = child.type
      else if (child.type === "pipeline" && child.children[0]?.type === "|") {
        for (const part of child.children.slice(1))
          if (part.named) into.after.push({ operator: "|", statement: this.statement(part) })
      } else if (redirectTypes.has(child.type) || wordTypes.has(child.type)) this.take(child, into)
      else into.after.push({ operator, statement: this.statement(child) })
    }
  }

  take(node: SyntaxNode, into: Collected): void {
    if (node.type === "variable_assignment") into.assignments.push(this.assignment(node))
    else if (node.type === "variable_assignments") for (const child of node.children) this.take(child, into)
    else if (node.type === "heredoc_redirect") this.hereDocument(node, into)
    else if (redirectTypes.has(node.type)) this.redirect(node, into)
    else into.words.push(this.word(node))
  }

  collect(nodes: ReadonlyArray<SyntaxNode>): Collected {
    const into: Collected = { assignments: [], words: [], redirects: [], after: [] }
    let end = -1
    for (const node of nodes) {
      if (node.type === "ERROR") this.problem("a part of it is not understood")
      const apart = node.start > end || redirectTypes.has(node.type) || end < 0
      if (!apart && node.type === "string" && this.#source[node.start - 1] === "$") {
        // `$"…"`, a translated text: the grammar reads its dollar as a word
        into.words.pop()
      } else if (!apart && node.type !== "comment") this.problem("words are glued in a way that is not understood")
      if (node.type !== "comment") this.take(node, into)
      end = node.end
    }
    return into
  }

  /** A command with what its here-document's line goes on with. */
  withRest(first: Statement, after: Collected["after"]): Statement {
    const piped = after.filter(({ operator }) => operator === "|").map(({ statement }) => statement)
    const others = after.filter(({ operator }) => operator !== "|").map(({ statement }) => statement)
    const line: Statement = piped.length === 0 ? first : { _tag: "Pipeline", parts: [first, ...piped] }
    return others.length === 0 ? line : { _tag: "Group", script: [line, ...others], subshell: false, redirects: [] }
  }

  simple(nodes: ReadonlyArray<SyntaxNode>): Statement {
    const { after, ...simple } = this.collect(nodes)
    return this.withRest({ _tag: "Simple", ...simple }, after)
  }

  group(nodes: ReadonlyArray<SyntaxNode>, subshell: boolean): Statement {
    return { _tag: "Group", script: this.script(nodes), subshell, redirects: [] }
  }

  redirected(node: SyntaxNode, more: ReadonlyArray<SyntaxNode> = []): Statement {
    const body = node.children.find((child) => !redirectTypes.has(child.type) && child.named)
    const around = [...node.children.filter((child) => child !== body), ...more]
    return body === undefined ? this.simple(around) : this.opened(body, around)
  }

  /** A statement with redirections behind it: of a list or a pipeline, the shell redirects the last command. */
  opened(body: SyntaxNode, around: ReadonlyArray<SyntaxNode>): Statement {
    switch (body.type) {
      case "command":
        return this.simple([...body.children, ...around].toSorted((a, b) => a.start - b.start))
      case "variable_assignment":
        return this.simple([body, ...around].toSorted((a, b) => a.start - b.start))
      case "redirected_statement":
        return this.redirected(body, around)
      case "list":
      case "pipeline":
      case "negated_command": {
        const parts = body.children.filter((child) => child.named && child.type !== "comment")
        const statements = parts.map((part, index) =>
          index + 1 === parts.length ? this.opened(part, around) : this.statement(part)
        )
        return body.type === "pipeline"
          ? { _tag: "Pipeline", parts: statements }
          : { _tag: "Group", script: statements, subshell: false, redirects: [] }
      }
      default: {
        const { after, assignments, redirects, words } = this.collect(around)
        if (words.length > 0 || assignments.length > 0) this.problem("a redirection is not understood")
        return this.withRest({ _tag: "Group", script: [this.statement(body)], subshell: false, redirects }, after)
      }
    }
  }

  /** Loops and branches: everything in them may run. */
  block(node: SyntaxNode): Statement {
    const variable = node.children.find((child) => child.type === "variable_name")
    const words = node.children.filter((child) => wordTypes.has(child.type) && child !== variable)
    const rest = node.children.filter((child) => !wordTypes.has(child.type))
    const binds: ReadonlyArray<Statement> =
      node.type === "for_statement" && variable !== undefined
        ? [
            {
              _tag: "Simple",
              assignments: (words.length === 0
                ? [{ pieces: [{ _tag: "Unknown", quoted: false, scripts: [] }] } satisfies Word]
                : words.map((word) => this.word(word))
              ).map((value) => ({
                name: this.text(variable),
                appends: false,
                expanded: true,
                value,
                elements: null
              })),
              words: [],
              redirects: []
            }
          ]
        : words.length > 0
          ? [this.data(words)]
          : []
    return { _tag: "Group", script: [...binds, ...this.script(rest)], subshell: false, redirects: [] }
  }

  /** Words that are looked at and never run; commands in them do run. */
  data(nodes: ReadonlyArray<SyntaxNode>): Statement {
    return {
      _tag: "Simple",
      assignments: [],
      words: [
        this.literal(":"),
        ...nodes.map((node) => ({ pieces: this.hidden(this.scriptsIn({ ...node, children: [node] })) }))
      ],
      redirects: []
    }
  }

  definition(node: SyntaxNode): Statement {
    const name = node.children.find((child) => child.type === "word")
    const body = node.children.filter((child) => child !== name && child.named)
    return { _tag: "Function", name: name === undefined ? "" : this.text(name), script: this.script(body) }
  }

  statement(node: SyntaxNode): Statement {
    switch (node.type) {
      case "command":
      case "variable_assignment":
      case "variable_assignments":
        return this.simple(node.type === "command" ? node.children : [node])
      case "declaration_command":
      case "unset_command":
        return this.simple(node.children)
      case "redirected_statement":
        return this.redirected(node)
      case "pipeline":
        return {
          _tag: "Pipeline",
          parts: node.children
            .filter((child) => child.named && child.type !== "comment")
            .map((child) => this.statement(child))
        }
      case "subshell":
        return this.group(node.children.slice(1, -1), true)
      case "compound_statement":
        return node.children[0]?.type === "((" ? this.data([node]) : this.group(node.children, false)
      case "test_command":
      case "binary_expression":
      case "unary_expression":
      case "postfix_expression":
      case "ternary_expression":
      case "parenthesized_expression":
        return this.data([node])
      case "for_statement":
      case "c_style_for_statement":
      case "while_statement":
      case "if_statement":
      case "elif_clause":
      case "else_clause":
      case "case_statement":
      case "case_item":
      case "do_group":
        return this.block(node)
      case "function_definition":
        return this.definition(node)
      case "list":
      case "negated_command":
      case "program":
        return this.group(node.children, false)
      case "extglob_pattern":
        return this.data([node])
      default:
        if (wordTypes.has(node.type) || redirectTypes.has(node.type)) {
          this.problem("a part of it is not understood")
          return this.simple([node])
        }
        this.problem("a part of it is not understood")
        return this.group(node.children, false)
    }
  }

  script(nodes: ReadonlyArray<SyntaxNode>): Script {
    return nodes.filter((node) => node.named && node.type !== "comment").map((node) => this.statement(node))
  }

  look(node: SyntaxNode, inString = false): void {
    // Between double quotes a single quote is a letter, and what stands behind it is expanded.
    if (inString && /^(?:raw_string|ansi_c_string)$/.test(node.type) && /[`$]/.test(this.text(node).slice(1)))
      this.problem("a quote in a quoted expansion is not understood")
    // `[ a || b ]` is two commands, and `[ a > b ]` writes a file.
    if (node.type === "test_command" && node.children[0]?.type === "[" && hasOperator(node))
      this.problem("an operator between single brackets is the shell's own")
    if (node.type === "comment" && this.#source.slice(0, node.start).endsWith("\\\n"))
      this.problem("a comment is not understood")
    if (node.missing) this.problem("it ends too early or a quote, bracket or word is missing")
    if (node.type === "ERROR") this.problem("a part of it is not understood")
    if (
      node.type === "comment" &&
      !/(?:^|[\s;&|()])$/.test(this.#source.slice(Math.max(0, node.start - 1), node.start))
    )
      this.problem("a comment is not understood")
    // What the grammar took for plain text, a shell would run.
    if (node.children.length === 0 && node.named && !data.has(node.type) && starts.test(this.text(node)))
      this.problem("a substitution in it is not understood")
    const quoted =
      (inString && node.type !== "command_substitution") ||
      /^(?:string|heredoc_body|translated_string)$/.test(node.type)
    let before: SyntaxNode | null = null
    for (const child of node.children) {
      // The grammar cuts a word where a line is joined to the next one; a shell does not.
      if (before?.named === true && child.named && /^(?:\\\n)+$/.test(this.#source.slice(before.end, child.start)))
        this.problem("a word goes on in the next line")
      before = child
      this.look(child, quoted)
    }
  }
}

/** The script of a parsed text, with every reason why it is not surely what a shell would make of it. */
export const read = ({ source, tree }: Parsed): ReadScript => {
  if (tree === null) return { script: [], problems: ["it is too long or too deep to be understood"] }
  const reader = new Reader(source)
  reader.look(tree)
  if (!accountsForAll(source, tree)) reader.problem("a part of it is not understood")
  const script = reader.script(tree.children)
  return { script, problems: reader.problems }
}
