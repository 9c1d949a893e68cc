/** A message's text as it was meant: its headings, lists, tables and code. Patterns take time in proportion to the text, whoever wrote it. */
import { Component, type VNode } from "preact"
import { words } from "./inline.js"

/** Longer texts are shown as they are. */
const longest = 200_000

const patterns = {
  fence: /^ {0,3}(`{3,}|~{3,})/,
  heading: /^ {0,3}(#{1,6})\s+(\S.*)$/,
  rule: /^ {0,3}(?:-\s*){3,}$|^ {0,3}(?:\*\s*){3,}$|^ {0,3}(?:_\s*){3,}$/,
  quote: /^ {0,3}> ?/,
  item: /^( {0,3})([-*+]|\d{1,9}[.)])(\s+)(?=\S)/,
  divider: /^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$/
} as const

/** Quotes and lists within each other; what is deeper is a line like any other. */
const deepest = 8

const headings = ["h3", "h4", "h5", "h6"] as const

const begins = (line: string): boolean =>
  patterns.fence.test(line) ||
  patterns.heading.test(line) ||
  patterns.rule.test(line) ||
  patterns.quote.test(line) ||
  patterns.item.test(line)

const cells = (line: string): ReadonlyArray<string> =>
  line
    .trim()
    .replace(/^\||(?<!\\)\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll("\\|", "|"))

/** Lines from `from` on while they are wanted. */
const taken = (lines: ReadonlyArray<string>, from: number, wanted: (line: string, index: number) => boolean) => {
  let end = from
  while (end < lines.length && wanted(lines[end] ?? "", end)) end += 1
  return end
}

/** A block and the line after it. */
type Read = readonly [VNode, number]

const fenced = (lines: ReadonlyArray<string>, from: number, mark: string): Read => {
  const end = taken(
    lines,
    from + 1,
    (line) => !line.trimStart().startsWith(mark) || line.trim().replaceAll(mark.charAt(0), "") !== ""
  )
  const code = lines.slice(from + 1, end).join("\n")
  return [
    <pre tabIndex={0} aria-label="Code">
      <code>{code}</code>
    </pre>,
    end + 1
  ]
}

const quoted = (lines: ReadonlyArray<string>, from: number, depth: number): Read => {
  const end = taken(lines, from, (line) => patterns.quote.test(line))
  const inner = lines.slice(from, end).map((line) => line.replace(patterns.quote, ""))
  return [<blockquote>{blocks(inner, depth + 1)}</blockquote>, end]
}

const listed = (lines: ReadonlyArray<string>, from: number, first: RegExpExecArray, depth: number): Read => {
  const isOrdered = /\d/.test(first[2] ?? "")
  const items: Array<VNode> = []
  let at = from
  while (at < lines.length) {
    const item = patterns.item.exec(lines[at] ?? "")
    if (item === null || /\d/.test(item[2] ?? "") !== isOrdered) break
    const indent = (item[1]?.length ?? 0) + 2
    const end = taken(lines, at + 1, (line, index) =>
      line.trim() === ""
        ? (lines[index + 1] ?? "").search(/\S/) >= indent
        : line.search(/\S/) >= indent || !(begins(line) || (lines[index - 1] ?? "").trim() === "")
    )
    const inner = lines
      .slice(at, end)
      .map((line, index) =>
        index === 0 ? line.slice(item[0].length) : line.slice(Math.min(Math.max(0, line.search(/\S/)), item[0].length))
      )
    items.push(<li>{blocks(inner, depth + 1, true)}</li>)
    at = end
    const next = taken(lines, at, (line) => line.trim() === "")
    if (patterns.item.test(lines[next] ?? "")) at = next
  }
  const start = Number.parseInt(first[2] ?? "1", 10)
  return [isOrdered ? <ol start={start}>{items}</ol> : <ul>{items}</ul>, at]
}

const tabled = (lines: ReadonlyArray<string>, from: number): Read => {
  const end = taken(lines, from + 2, (line) => line.includes("|"))
  const row =
    (Cell: "th" | "td") =>
    (line: string): VNode => (
      <tr>
        {cells(line).map((cell) => (
          <Cell>{words(cell)}</Cell>
        ))}
      </tr>
    )
  return [
    <div class="table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>{lines.slice(from, from + 1).map(row("th"))}</thead>
        <tbody>{lines.slice(from + 2, end).map(row("td"))}</tbody>
      </table>
    </div>,
    end
  ]
}

const isTable = (line: string, next: string): boolean =>
  line.includes("|") &&
  next.includes("-") &&
  patterns.divider.test(next.trim()) &&
  cells(line).length === cells(next).length

const block = (lines: ReadonlyArray<string>, at: number, depth: number, tight: boolean): Read => {
  const line = lines[at] ?? ""
  const fence = patterns.fence.exec(line)
  if (fence !== null) return fenced(lines, at, fence[1] ?? "```")
  const heading = patterns.heading.exec(line)
  if (heading !== null) {
    const Heading = headings[(heading[1]?.length ?? 1) - 1] ?? "h6"
    return [<Heading>{words(heading[2] ?? "")}</Heading>, at + 1]
  }
  if (patterns.rule.test(line)) return [<hr />, at + 1]
  if (depth < deepest && patterns.quote.test(line)) return quoted(lines, at, depth)
  const item = depth < deepest ? patterns.item.exec(line) : null
  if (item !== null) return listed(lines, at, item, depth)
  if (isTable(line, lines[at + 1] ?? "")) return tabled(lines, at)
  const end = Math.max(
    at + 1,
    taken(lines, at, (next, index) => next.trim() !== "" && !begins(next) && !isTable(next, lines[index + 1] ?? ""))
  )
  const text = words(lines.slice(at, end).join("\n").trim())
  return [tight ? <div class="line">{text}</div> : <p>{text}</p>, end]
}

/** `tight`: as the content of an item, where a line is no paragraph. */
const blocks = (lines: ReadonlyArray<string>, depth = 0, tight = false): ReadonlyArray<VNode> => {
  const made: Array<VNode> = []
  let at = 0
  while (at < lines.length) {
    if ((lines[at] ?? "").trim() === "") {
      at += 1
      continue
    }
    const [node, next] = block(lines, at, depth, tight)
    made.push(node)
    at = next
  }
  return made
}

/** Not read again while the text stays the same. */
export class Markdown extends Component<{ readonly text: string }> {
  override shouldComponentUpdate({ text }: { readonly text: string }): boolean {
    return text !== this.props.text
  }

  override render(): VNode {
    const { text } = this.props
    return text.length > longest ? (
      <p class="said">{text}</p>
    ) : (
      <div class="markdown">{blocks(text.split(/\r?\n/))}</div>
    )
  }
}
