/** Words of a shell's text in pieces: what stands there, and what is put there when it runs. */
import * as AnsiC from "./AnsiC.js"
import * as Arithmetic from "./Arithmetic.js"
import type { Piece, Redirect, Script, Word } from "./Script.js"
import { type SyntaxNode, textOf } from "./SyntaxTree.js"

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

export const isWord = (node: SyntaxNode): boolean => wordTypes.has(node.type)

const plainWord = /^(?:[^\s'"\\$`;&|<>()]|\\[^])+$/

/** Reads the commands inside of words. */
export interface Nested {
  readonly script: (nodes: ReadonlyArray<SyntaxNode>) => Script
  readonly redirects: (nodes: ReadonlyArray<SyntaxNode>) => ReadonlyArray<Redirect>
}

export class WordReader {
  readonly #source: string
  readonly #doubt: (reason: string) => void
  readonly #nested: Nested

  /** `doubt` hears why a word is not surely what a shell makes of it. */
  constructor(source: string, doubt: (reason: string) => void, nested: Nested) {
    this.#source = source
    this.#doubt = doubt
    this.#nested = nested
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
      if (/(?<!\\)(?:\\\\)*(?:`|\$(?=[A-Za-z_{(0-9@*]))/.test(raw)) this.#doubt("an expansion in it is not understood")
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
    if (/@P\}$/.test(this.text(node))) this.#doubt("a value that is expanded once more is not understood")
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
        return [this.#nested.script(this.within(child))]
      return this.scriptsIn(child)
    })
  }

  within(node: SyntaxNode): ReadonlyArray<SyntaxNode> {
    return node.children.filter((child) => !["$(", "`", ")", "<(", ">("].includes(child.type.trim()))
  }

  substitution(node: SyntaxNode, quoted: boolean): ReadonlyArray<Piece> {
    if (node.children[0]?.type.trim() === "`" && this.text(node).includes("\\"))
      this.#doubt("has a backslash between backticks")
    const inner = this.within(node)
    const redirects = inner.filter((child) => child.type === "file_redirect")
    if (redirects.length > 0 && redirects.length === inner.length) {
      return [
        {
          _tag: "Output",
          quoted,
          script: [
            { _tag: "Simple", assignments: [], words: [this.literal("cat")], redirects: this.#nested.redirects(inner) }
          ]
        }
      ]
    }
    return [{ _tag: "Output", script: this.#nested.script(inner), quoted }]
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
        if (!quoted && !plainWord.test(text) && text !== "$") this.#doubt(`the word \`${text}\` is not understood`)
        return quoted ? [{ _tag: "Text", text, quoted, escaped: false }] : this.unquoted(text)
      case "string":
        return this.interpolated(node, node.start + 1, node.end - 1)
      case "translated_string":
        return node.children.filter((child) => child.named).flatMap((child) => [...this.pieces(child, true)])
      case "raw_string":
        if (!/^'[^']*'$/.test(text)) this.#doubt("a quoted text is not understood")
        return [{ _tag: "Text", text: text.slice(1, -1), quoted: true, escaped: false }]
      case "ansi_c_string": {
        if (!/^\$'(?:[^'\\]|\\[^])*'$/.test(text)) this.#doubt("a quoted text is not understood")
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
        return [
          { _tag: "Process", script: this.#nested.script(this.within(node)), writes: node.children[0]?.type === ">(" }
        ]
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
        this.#doubt(`\`${text.slice(0, 40)}\` is not understood`)
        return [{ _tag: "Unknown", quoted, scripts: this.scriptsIn(node) }]
    }
  }

  word(node: SyntaxNode): Word {
    return { pieces: this.pieces(node, false) }
  }
}
