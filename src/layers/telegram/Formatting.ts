/**
 * Text as Telegram takes it: plain, with its code fences as entities. Nothing is parsed on the other side, so no text of
 * a model's can fail to be sent. Pure.
 */
import * as Markup from "../../services/delivery/Markup.js"

export interface Entity {
  readonly type: "pre"
  /** UTF-16 units, as JavaScript counts. */
  readonly offset: number
  readonly length: number
  readonly language?: string
}

export interface Formatted {
  readonly text: string
  readonly entities: ReadonlyArray<Entity>
}

const loneSurrogate = /\p{Surrogate}/gu

const language = (info: string): { readonly language?: string } => {
  const [, word] = /^([\w+#.-]{1,32})(\s|$)/.exec(info) ?? []
  return word === undefined ? {} : { language: word }
}

export const format = (input: string): Formatted => {
  const text = input.replace(loneSurrogate, "\uFFFD")
  if (!text.includes("```") && !text.includes("~~~")) return { text, entities: [] }
  const entities: Array<Entity> = []
  let out = ""
  let at = 0
  for (const fence of Markup.parse(text).fences) {
    const content = text.slice(fence.contentStart, fence.contentEnd).replace(/\r?\n$/, "")
    if (content.trim() === "") continue
    out += text.slice(at, fence.start)
    if (out.trim() === "") out = ""
    entities.push({ type: "pre", offset: out.length, length: content.length, ...language(fence.info) })
    out += content
    at = fence.end
  }
  return { text: out + text.slice(at), entities }
}
