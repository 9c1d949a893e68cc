import { Effect, Schema } from "effect"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import type { Language, Parser, TreeCursor } from "web-tree-sitter"
import type { Parse, SyntaxNode } from "../../services/approval/shell/SyntaxTree.js"

/** The parser's files cannot be read, or are not what they should be. */
export class ParserMissing extends Schema.TaggedError<ParserMissing>()("ParserMissing", { detail: Schema.String }) {
  override get message(): string {
    return `the shell parser cannot be loaded (${this.detail}); install hermes-effect again`
  }
}

/** Parsing of one text and all that is nested in it is given up after this long (decision 26). */
const parseMillis = 15

const shortText = 4_096

const maxDepth = 250
const maxNodes = 40_000

/** What the parser calls a node that fits nothing; it is named. */
const errorType = 65_535

interface Loaded {
  readonly parser: Parser
  readonly language: Language
  /** By the number of a type: is it one of the grammar's names? */
  readonly named: ReadonlyArray<boolean>
}

const wasm = async (file: string): Promise<Uint8Array> => readFile(createRequire(import.meta.url).resolve(file))

const load = async (): Promise<Loaded> => {
  const { Language, Parser } = await import("web-tree-sitter")
  const [runtime, grammar] = await Promise.all([
    wasm("web-tree-sitter/web-tree-sitter.wasm"),
    wasm("tree-sitter-bash/tree-sitter-bash.wasm")
  ])
  await Parser.init({ wasmBinary: runtime })
  const language = await Language.load(grammar)
  const parser = new Parser().setLanguage(language)
  // The first parse is the slow one.
  parser.parse(`if x; then y "$z" | w > v; fi`)?.delete()
  return { parser, language, named: language.types.map((_, type) => language.nodeTypeIsNamed(type)) }
}

/** One for the whole process: a grammar takes a megabyte that the parser's memory never gives back. */
let loading: Promise<Loaded> | null = null

/** What could not be loaded is tried again by the next who asks. */
const loaded = Effect.tryPromise({
  try: () =>
    (loading ??= load().catch((cause) => {
      loading = null
      throw cause
    })),
  catch: (cause) => new ParserMissing({ detail: String(cause) })
})

/** The clock is asked once in so many nodes: a fraction of a millisecond of copying. */
const nodesBetweenLooks = 64

/** Our own copy of a tree; null when it is too deep, too large or not copied in time. Each question to a cursor costs. */
const copy = (cursor: TreeCursor, { named, language }: Loaded, late: () => boolean): SyntaxNode | null => {
  let nodes = 0
  const node = (depth: number): SyntaxNode | null => {
    nodes += 1
    if (depth > maxDepth || nodes > maxNodes || (nodes % nodesBetweenLooks === 0 && late())) return null
    const type = cursor.nodeTypeId
    const start = cursor.startIndex
    const end = cursor.endIndex
    // Only what takes no room can be missing.
    const missing = start === end && cursor.nodeIsMissing
    const children: Array<SyntaxNode> = []
    if (cursor.gotoFirstChild()) {
      do {
        const child = node(depth + 1)
        if (child === null) return null
        children.push(child)
      } while (cursor.gotoNextSibling())
      cursor.gotoParent()
    }
    return {
      type: type === errorType ? "ERROR" : (language.types[type] ?? "ERROR"),
      start,
      end,
      named: named[type] ?? true,
      missing,
      children
    }
  }
  return node(0)
}

/** Gives a parser for one judgement: `now` in milliseconds; its texts together get {@link parseMillis}, trees and all. */
export const parser: Effect.Effect<(now: () => number) => Parse, ParserMissing> = Effect.map(
  loaded,
  (grammar) =>
    (now: () => number): Parse => {
      let left = parseMillis
      let again = false
      const read = (source: string): SyntaxNode | null => {
        const from = now()
        const late = (): boolean => now() - from > left
        grammar.parser.reset()
        const parsed = grammar.parser.parse(source, null, { progressCallback: late })
        const cursor = parsed?.walk()
        const tree = cursor === undefined ? null : copy(cursor, grammar, late)
        cursor?.delete()
        parsed?.delete()
        left -= now() - from
        return tree
      }
      return (source) => {
        const short = source.length < shortText
        const tree = left > 0 ? read(source) : null
        if (tree !== null || left > 0 || !short || again) {
          // What is nested in a long text has no more time than the whole.
          again ||= !short
          return { source, tree }
        }
        // A short text takes no such time: the machine was busy with something else.
        again = true
        left = parseMillis
        return { source, tree: read(source) }
      }
    }
)
