/** A message's text with its code, emphasis and links. Everything becomes an element of ours: no text ever becomes markup. */
import type { ComponentChildren, VNode } from "preact"

const inline = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|(https?:\/\/[^\s<>()]+[^\s<>().,;:!?])/g

const words = (text: string): ReadonlyArray<ComponentChildren> => {
  const parts: Array<ComponentChildren> = []
  let last = 0
  for (const match of text.matchAll(inline)) {
    if (match.index > last) parts.push(text.slice(last, match.index))
    const [whole, code, strong] = match
    if (code !== undefined) parts.push(<code>{code.slice(1, -1)}</code>)
    else if (strong !== undefined) parts.push(<strong>{strong.slice(2, -2)}</strong>)
    else
      parts.push(
        <a href={whole} target="_blank" rel="noreferrer noopener">
          {whole}
        </a>
      )
    last = match.index + whole.length
  }
  if (last < text.length) parts.push(text.slice(last))
  return parts
}

const fence = /```([\w+-]*)\n?([\s\S]*?)(?:```|$)/g

export const Markdown = ({ text }: { readonly text: string }): VNode => {
  const blocks: Array<VNode> = []
  let last = 0
  const prose = (part: string): void => {
    for (const paragraph of part.split(/\n{2,}/))
      if (paragraph.trim() !== "") blocks.push(<p>{words(paragraph.trim())}</p>)
  }
  for (const match of text.matchAll(fence)) {
    prose(text.slice(last, match.index))
    blocks.push(
      <pre tabIndex={0}>
        <code>{match[2]?.replace(/\n$/, "")}</code>
      </pre>
    )
    last = match.index + match[0].length
  }
  prose(text.slice(last))
  return <div class="markdown">{blocks}</div>
}
