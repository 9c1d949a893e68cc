import { Effect, Schema } from "effect"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import type { Language, Parser, Tree, TreeCursor } from "web-tree-sitter"
import * as Shared from "../../fibers/Shared.js"
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

interface Loaded {
  readonly parser: Parser
  readonly language: Language
}

const wasm = async (file: string): Promise<Uint8Array> => readFile(createRequire(import.meta.url).resolve(file))

const load: Effect.Effect<Loaded, ParserMissing> = Effect.tryPromise({
  try: async () => {
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
    return { parser, language }
  },
  catch: (cause) => new ParserMissing({ detail: String(cause) })
})

/** Our own copy of a tree; null when it is too deep or too large. */
const copy = (cursor: TreeCursor, language: Language): SyntaxNode | null => {
  let nodes = 0
  const node = (depth: number): SyntaxNode | null => {
    nodes += 1
    if (depth > maxDepth || nodes > maxNodes) return null
    const named = cursor.nodeIsNamed
    const type = cursor.nodeTypeId
    const start = cursor.startIndex
    const end = cursor.endIndex
    const missing = cursor.nodeIsMissing
    const children: Array<SyntaxNode> = []
    if (cursor.gotoFirstChild()) {
      do {
        const child = node(depth + 1)
        if (child === null) return null
        children.push(child)
      } while (cursor.gotoNextSibling())
      cursor.gotoParent()
    }
    return { type: type === 65_535 ? "ERROR" : (language.types[type] ?? "ERROR"), start, end, named, missing, children }
  }
  return node(0)
}

/** Gives a parser for one judgement: `now` in milliseconds; its texts together get {@link parseMillis}. */
export const make: Effect.Effect<Effect.Effect<(now: () => number) => Parse, ParserMissing>> = Effect.map(
  Shared.cached(load),
  Effect.map(({ language, parser }) => (now: () => number): Parse => {
    let left = parseMillis
    let again = false
    const parsed = (source: string): Tree | null => {
      const from = now()
      parser.reset()
      const tree = parser.parse(source, null, { progressCallback: () => now() - from > left })
      left -= now() - from
      return tree
    }
    return (source) => {
      let tree = left > 0 ? parsed(source) : null
      if (tree === null && source.length < shortText && !again) {
        // A short text takes no such time: the machine was busy with something else.
        again = true
        left = parseMillis
        tree = parsed(source)
      }
      if (tree === null) return { source, tree: null }
      const cursor = tree.walk()
      const copied = copy(cursor, language)
      cursor.delete()
      tree.delete()
      return { source, tree: copied }
    }
  })
)
