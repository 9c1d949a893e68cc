/** From a tree to the script it stands for. What is not surely understood is said, and read as well as can be. */
import * as Doubts from "./Doubts.js"
import * as HereDocument from "./HereDocument.js"
import type { Assignment, ReadScript, Redirect, Script, Statement, Word } from "./Script.js"
import type { Parsed, SyntaxNode } from "./SyntaxTree.js"
import { isWord, WordReader } from "./WordReader.js"

const redirectTypes = new Set(["file_redirect", "heredoc_redirect", "herestring_redirect"])

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
  readonly #words: WordReader

  constructor(source: string) {
    this.#source = source
    this.#words = new WordReader(source, (reason) => this.problem(reason), {
      script: (nodes) => this.script(nodes),
      redirects: (nodes) => this.collect(nodes).redirects
    })
  }

  problem(text: string): void {
    if (!this.problems.includes(text)) this.problems.push(text)
  }

  assignment(node: SyntaxNode): Assignment {
    const [target, operator, value] = node.children
    const scripts = target === undefined ? [] : this.#words.scriptsIn(target)
    const name = target?.type === "subscript" ? target.children[0] : target
    const elements =
      value?.type === "array"
        ? value.children
            .filter((child) => child.named && child.type !== "comment")
            .map((child) => this.#words.word(child))
        : null
    const read = value === undefined || elements !== null ? empty : this.#words.word(value)
    return {
      name: name === undefined ? "" : this.#words.text(name),
      appends: operator?.type === "+=" || target?.type === "subscript",
      value: { pieces: [...read.pieces, ...this.#words.hidden(scripts)] },
      elements
    }
  }

  redirect(node: SyntaxNode, into: Collected): void {
    const descriptor = node.children.find((child) => child.type === "file_descriptor")
    const operator = node.children.find((child) => !child.named)
    const words = node.children.filter((child) => child.named && child.type !== "file_descriptor")
    const common = {
      operator: operator?.type ?? ">",
      descriptor: descriptor === undefined ? null : this.#words.text(descriptor)
    }
    const [first, ...rest] = words
    if (node.type === "herestring_redirect") {
      into.redirects.push({ ...common, target: null, text: first === undefined ? empty : this.#words.word(first) })
    } else {
      into.redirects.push({ ...common, target: first === undefined ? null : this.#words.word(first), text: null })
    }
    // The grammar takes the words behind a redirection for more of its targets; the shell takes them as arguments.
    for (const word of rest) into.words.push(this.#words.word(word))
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
            ? [{ _tag: "Text", text: this.#words.text(document.body), quoted: true, escaped: false }]
            : this.#words.interpolated(document.body, document.body.start, document.body.end)
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
      } else if (redirectTypes.has(child.type) || isWord(child)) this.take(child, into)
      else into.after.push({ operator, statement: this.statement(child) })
    }
  }

  take(node: SyntaxNode, into: Collected): void {
    if (node.type === "variable_assignment") into.assignments.push(this.assignment(node))
    else if (node.type === "variable_assignments") for (const child of node.children) this.take(child, into)
    else if (node.type === "heredoc_redirect") this.hereDocument(node, into)
    else if (redirectTypes.has(node.type)) this.redirect(node, into)
    else into.words.push(this.#words.word(node))
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
    const words = node.children.filter((child) => isWord(child) && child !== variable)
    const rest = node.children.filter((child) => !isWord(child))
    const binds: ReadonlyArray<Statement> =
      node.type === "for_statement" && variable !== undefined
        ? [
            {
              _tag: "Simple",
              assignments: (words.length === 0
                ? [{ pieces: [{ _tag: "Unknown", quoted: false, scripts: [] }] } satisfies Word]
                : words.map((word) => this.#words.word(word))
              ).map((value) => ({
                name: this.#words.text(variable),
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
        this.#words.literal(":"),
        ...nodes.map((node) => ({ pieces: this.#words.hidden(this.#words.scriptsIn({ ...node, children: [node] })) }))
      ],
      redirects: []
    }
  }

  definition(node: SyntaxNode): Statement {
    const name = node.children.find((child) => child.type === "word")
    const body = node.children.filter((child) => child !== name && child.named)
    return { _tag: "Function", name: name === undefined ? "" : this.#words.text(name), script: this.script(body) }
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
        if (isWord(node) || redirectTypes.has(node.type)) {
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
}

/** The script of a parsed text, with every reason why it is not surely what a shell would make of it. */
export const read = ({ source, tree }: Parsed): ReadScript => {
  if (tree === null) return { script: [], problems: ["it is too long or too deep to be understood"] }
  const reader = new Reader(source)
  Doubts.tell(source, tree, (reason) => reader.problem(reason))
  const script = reader.script(tree.children)
  return { script, problems: reader.problems }
}
