/**
 * A model's thoughts that its server left in the text: a block in tags that opens the answer (gateway.md 3.8), or one
 * whose opening tag stands in the prompt, so that only its end comes. Anywhere else such a tag is a word like others.
 * Plain state: one object per answer.
 */
import type { Spoken } from "./Wire.js"

/** What a piece of the text turns out to be. */
export interface Sorted extends Spoken {
  /** What was said of the answer before it was thought after all. */
  readonly unsaid: boolean
}

const tags = ["think", "thinking", "thought", "reasoning"]
const anyTag = new RegExp(`</?(?:${tags.join("|")})>`, "i")
const longestTag = Math.max(...tags.map((name) => name.length)) + "</>".length

const said = (text: string): Sorted => ({ text, reasoning: "", unsaid: false })
const thought = (reasoning: string): Sorted => ({ text: "", reasoning, unsaid: false })
const nothing = said("")

/** How much of the end of `text` may be the beginning of `tag`. */
const begunAtEnd = (text: string, tag: string): number => {
  let length = Math.min(text.length, tag.length - 1)
  while (length > 0 && !tag.startsWith(text.slice(-length).toLowerCase())) length -= 1
  return length
}

/** How much of the end of `text` may be the beginning of any tag. */
const anyBegunAtEnd = (text: string): number => {
  const from = text.lastIndexOf("<")
  if (from < 0 || text.length - from >= longestTag) return 0
  return Math.max(...tags.flatMap((name) => [begunAtEnd(text, `<${name}>`), begunAtEnd(text, `</${name}>`)]))
}

/** Does `text` end inside of code, or of a quotation? There a tag is spoken of. */
const isQuoting = (text: string): boolean => /[`'"]$/.test(text) || text.split("```").length % 2 === 0

export class OpeningThoughts {
  /** What is not told apart yet. */
  private held = ""
  /** The tag that ends the block that is read; null outside of one. */
  private close: string | null = null
  private thought = false
  /** The answer itself has begun: no block opens any more. */
  private speaking = false
  /** What has been said, for as long as the end of a block may show that it was thought. */
  private before: string | null = ""
  /** Did the end of a block come that nothing had opened? */
  private wasOpened = false

  /** Is such an end expected? Then nothing is said before it. */
  private readonly expectsEnd: boolean

  constructor(expectsEnd: boolean) {
    this.expectsEnd = expectsEnd
  }

  /** Had the prompt opened the block? */
  get wasOpenedByPrompt(): boolean {
    return this.wasOpened
  }

  /** What of the text so far is known to be said, and what to be thought. */
  feed(text: string): Sorted {
    if (text === "") return nothing
    if (this.speaking) return this.before === null ? said(text) : this.saying(this.before, text)
    this.held += text
    return this.close === null ? this.opening() : this.thinking(this.close)
  }

  /** What was held back, once nothing more comes. */
  end(): Sorted {
    const rest = this.untold + this.held
    this.held = ""
    this.before = null
    if (this.close !== null) return thought(rest)
    return this.thought && rest.trim() === "" ? nothing : said(rest)
  }

  private opening(): Sorted {
    const begun = this.held.trimStart()
    const lower = begun.toLowerCase()
    const tag = tags.find((name) => lower.startsWith(`<${name}>`))
    if (tag !== undefined) {
      this.thought = true
      this.before = null
      this.close = `</${tag}>`
      this.held = begun.slice(tag.length + 2)
      return this.thinking(this.close)
    }
    if (tags.some((name) => `<${name}>`.startsWith(lower))) return nothing
    const text = this.thought ? begun : this.held
    this.held = ""
    this.speaking = true
    return this.before === null ? said(text) : this.saying(this.before, text)
  }

  private thinking(close: string): Sorted {
    const end = this.held.search(new RegExp(close, "i"))
    if (end < 0) {
      const known = this.held.length - begunAtEnd(this.held, close)
      const reasoning = this.held.slice(0, known)
      this.held = this.held.slice(known)
      return thought(reasoning)
    }
    const reasoning = this.held.slice(0, end)
    this.held = this.held.slice(end + close.length)
    this.close = null
    const after = this.opening()
    return { ...after, reasoning: reasoning + after.reasoning }
  }

  /** Looks for a tag in what comes: the end of a block makes a thought of all before it, a beginning ends the search. */
  private saying(before: string, text: string): Sorted {
    this.held += text
    let from = 0
    for (;;) {
      const found = anyTag.exec(this.held.slice(from))
      if (found === null) break
      const at = from + found.index
      if (!found[0].startsWith("</")) return this.sayAll()
      if (!isQuoting(before + this.held.slice(0, at))) return this.thoughtSoFar(before, at, found[0].length)
      from = at + found[0].length
    }
    const known = this.held.length - anyBegunAtEnd(this.held)
    const read = this.held.slice(0, known)
    this.before = before + read
    this.held = this.held.slice(known)
    return this.expectsEnd ? nothing : said(read)
  }

  /** What was read of the answer and not told yet. */
  private get untold(): string {
    return this.expectsEnd ? (this.before ?? "") : ""
  }

  private sayAll(): Sorted {
    const text = this.untold + this.held
    this.before = null
    this.held = ""
    return said(text)
  }

  private thoughtSoFar(before: string, at: number, length: number): Sorted {
    const reasoning = this.untold + this.held.slice(0, at)
    this.held = this.held.slice(at + length)
    this.before = null
    this.thought = true
    this.wasOpened = true
    this.speaking = false
    const after = this.opening()
    return { ...after, reasoning: reasoning + after.reasoning, unsaid: !this.expectsEnd && before !== "" }
  }
}
