/** A syntax tree of a shell text, whoever parsed it: what the rules are written against. */

export interface SyntaxNode {
  /** The grammar's name of it; for a token, its text. */
  readonly type: string
  /** Where its text begins and ends, in UTF-16 units of the source. */
  readonly start: number
  readonly end: number
  readonly named: boolean
  /** Not in the source: the parser put it in to go on. */
  readonly missing: boolean
  readonly children: ReadonlyArray<SyntaxNode>
}

/** A text and its tree; `tree` is null when it was not parsed in time or is too deep to be looked at. */
export interface Parsed {
  readonly source: string
  readonly tree: SyntaxNode | null
}

export type Parse = (source: string) => Parsed

const textual = new Set([
  "string",
  "translated_string",
  "raw_string",
  "ansi_c_string",
  "heredoc_body",
  "regex",
  "comment",
  "extglob_pattern"
])

const blank = /^(?:[ \t\n]|\\\n)*$/

const isBlank = (source: string, from: number, to: number): boolean => from >= to || blank.test(source.slice(from, to))

const accounted = (source: string, node: SyntaxNode): boolean => {
  if (node.children.length === 0 || textual.has(node.type))
    return node.children.every((child) => accounted(source, child))
  let at = node.start
  for (const child of node.children) {
    if (!isBlank(source, at, child.start) || !accounted(source, child)) return false
    at = Math.max(at, child.end)
  }
  return isBlank(source, at, node.end)
}

/** Is every character of the text part of the tree, but for blanks? The grammar drops some (decision 26). */
export const accountsForAll = (source: string, tree: SyntaxNode): boolean =>
  isBlank(source, 0, tree.start) && isBlank(source, tree.end, source.length) && accounted(source, tree)

export const textOf = (source: string, node: SyntaxNode): string => source.slice(node.start, node.end)
