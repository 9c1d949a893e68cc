/** Where what the grammar made of a text is not surely what a shell makes of it. */
import { accountsForAll, type SyntaxNode, textOf } from "./SyntaxTree.js"
import { isWord } from "./WordReader.js"

/** Tokens that a shell acts on wherever they stand. */
const hasOperator = (node: SyntaxNode): boolean =>
  node.children.some((child) =>
    isWord(child) ? false : /^(?:&&|\|\||[<>|;&()])$/.test(child.type) || hasOperator(child)
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

/** Goes through a whole tree and tells each reason to doubt it; one may be told more than once. */
export const tell = (source: string, tree: SyntaxNode, doubt: (reason: string) => void): void => {
  const look = (node: SyntaxNode, inString: boolean): void => {
    // Between double quotes a single quote is a letter, and what stands behind it is expanded.
    if (inString && /^(?:raw_string|ansi_c_string)$/.test(node.type) && /[`$]/.test(textOf(source, node).slice(1)))
      doubt("a quote in a quoted expansion is not understood")
    // `[ a || b ]` is two commands, and `[ a > b ]` writes a file.
    if (node.type === "test_command" && node.children[0]?.type === "[" && hasOperator(node))
      doubt("an operator between single brackets is the shell's own")
    if (node.type === "comment" && source.slice(0, node.start).endsWith("\\\n")) doubt("a comment is not understood")
    if (node.missing) doubt("it ends too early or a quote, bracket or word is missing")
    if (node.type === "ERROR") doubt("a part of it is not understood")
    if (node.type === "comment" && !/(?:^|[\s;&|()])$/.test(source.slice(Math.max(0, node.start - 1), node.start)))
      doubt("a comment is not understood")
    // What the grammar took for plain text, a shell would run.
    if (node.children.length === 0 && node.named && !data.has(node.type) && starts.test(textOf(source, node)))
      doubt("a substitution in it is not understood")
    const quoted =
      (inString && node.type !== "command_substitution") ||
      /^(?:string|heredoc_body|translated_string)$/.test(node.type)
    let before: SyntaxNode | null = null
    for (const child of node.children) {
      // The grammar cuts a word where a line is joined to the next one; a shell does not.
      if (before?.named === true && child.named && /^(?:\\\n)+$/.test(source.slice(before.end, child.start)))
        doubt("a word goes on in the next line")
      before = child
      look(child, quoted)
    }
  }
  look(tree, false)
  if (!accountsForAll(source, tree)) doubt("a part of it is not understood")
}
