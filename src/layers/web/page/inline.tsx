/** Emphasis, code and links within a text. Every construct becomes an element of ours, so that no text ever becomes markup. */
import type { ComponentChildren, VNode } from "preact"

/** Takes time in proportion to the text, whoever wrote it: no part can match the same text in two ways. */
const pattern = new RegExp(
  [
    /(?<!`)(?<code>`+)(?!`)(?<coded>[^\n]*?[^`\n])\k<code>(?!`)/,
    /\*\*(?<strong>(?:[^*\n]|\*(?!\*))+)\*\*/,
    /(?<![\p{L}\p{M}\p{N}_*])\*(?=\S)(?<star>[^*\n]*[^*\s])\*(?![\p{L}\p{M}\p{N}_*])/u,
    /(?<![\p{L}\p{M}\p{N}_])_(?=\S)(?<line>[^_\n]*[^_\s])_(?![\p{L}\p{M}\p{N}_])/u,
    /~~(?<struck>[^~\n]+)~~/,
    /\[(?<label>[^[\]\n]+)\]\((?<target>https?:\/\/[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*)\)/,
    /(?<url>https?:\/\/[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*[^\s()<>.,;:!?'"*\]])/,
    /\\(?<escaped>[\\`*_~[\]#>-])/
  ]
    .map((part) => part.source)
    .join("|"),
  "gu"
)

const anchor = (target: string, label: ComponentChildren): VNode => (
  <a href={target} target="_blank" rel="noreferrer noopener">
    {label}
  </a>
)

const element = (found: { readonly [name: string]: string | undefined }): ComponentChildren => {
  const { coded } = found
  if (coded !== undefined) return <code>{/^ .+ $/.test(coded) ? coded.slice(1, -1) : coded}</code>
  if (found["strong"] !== undefined) return <strong>{words(found["strong"])}</strong>
  const emphasized = found["star"] ?? found["line"]
  if (emphasized !== undefined) return <em>{words(emphasized)}</em>
  if (found["struck"] !== undefined) return <s>{words(found["struck"])}</s>
  if (found["target"] !== undefined) return anchor(found["target"], found["label"])
  if (found["url"] !== undefined) return anchor(found["url"], found["url"])
  return found["escaped"]
}

/** The text of a line or paragraph, with its emphasis, code and links. */
export const words = (text: string): ReadonlyArray<ComponentChildren> => {
  const parts: Array<ComponentChildren> = []
  let last = 0
  for (const match of text.matchAll(pattern)) {
    if (match.index > last) parts.push(text.slice(last, match.index))
    parts.push(element(match.groups ?? {}))
    last = match.index + match[0].length
  }
  if (last < text.length) parts.push(text.slice(last))
  return parts
}
