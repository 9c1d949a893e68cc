/** Here-documents are found again by their lines, as a shell does it: the grammar's idea of where one ends must be the same. */
import { type SyntaxNode, textOf } from "./SyntaxTree.js"

export interface HereDocument {
  readonly body: SyntaxNode
  /** Is its text data, with nothing expanded? */
  readonly quoted: boolean
}

const unquote = (start: string): string =>
  start.replace(
    /'([^']*)'|"([^"]*)"|\\([^])/g,
    (_, single?: string, double?: string, escaped?: string) => single ?? double ?? escaped ?? ""
  )

/** Null when the text between the delimiters is not surely what a shell takes for it. */
export const read = (source: string, node: SyntaxNode): HereDocument | null => {
  const start = node.children.find((child) => child.type === "heredoc_start")
  const end = node.children.find((child) => child.type === "heredoc_end")
  const body = node.children.find((child) => child.type === "heredoc_body")
  if (start === undefined || end === undefined) return null
  const delimiter = unquote(textOf(source, start))
  const strips = node.children.some((child) => child.type === "<<-")
  const clean = (line: string): string => (strips ? line.replace(/^\t+/, "") : line)
  const lineStart = source.lastIndexOf("\n", end.start - 1) + 1
  const lineEnd = source.indexOf("\n", end.start)
  const lastLine = source.slice(lineStart, lineEnd < 0 ? source.length : lineEnd)
  if (clean(lastLine) !== delimiter || delimiter === "") return null
  const first = source.indexOf("\n", start.end) + 1
  const text = source.slice(first, lineStart)
  if (first === 0 || first > lineStart) return null
  // A line that goes on behind its end moves the document's beginning.
  const line = source.slice(start.end, first)
  if (/\\\n$/.test(line) || (line.match(/'/g)?.length ?? 0) % 2 === 1 || (line.match(/"/g)?.length ?? 0) % 2 === 1)
    return null
  if (text.split("\n").some((line) => clean(line) === delimiter)) return null
  if (body !== undefined && (body.start < first || body.end > lineStart)) return null
  return {
    body:
      body === undefined
        ? { ...end, type: "heredoc_body", start: first, end: lineStart, children: [] }
        : { ...body, start: first, end: lineStart },
    quoted: /['"\\]/.test(textOf(source, start))
  }
}
