/**
 * A model's thoughts that its server left in the text: a block in tags that opens the answer (gateway.md 3.8). Anywhere
 * else such a tag is a word like others. Plain state: one object per answer.
 */
import type { Spoken } from "./Wire.js"

const tags = ["think", "thinking", "thought", "reasoning"]

const nothing: Spoken = { text: "", reasoning: "" }

/** How much of the end of `text` may be the beginning of `tag`. */
const begunAtEnd = (text: string, tag: string): number => {
  let length = Math.min(text.length, tag.length - 1)
  while (length > 0 && !tag.startsWith(text.slice(-length).toLowerCase())) length -= 1
  return length
}

export class OpeningThoughts {
  /** What is not told apart yet. */
  private held = ""
  /** The tag that ends the block that is read; null outside of one. */
  private close: string | null = null
  private thought = false
  /** The answer itself has begun: no block opens any more. */
  private speaking = false

  /** What of the text so far is known to be said, and what to be thought. */
  feed(text: string): Spoken {
    if (this.speaking) return { text, reasoning: "" }
    if (text === "") return nothing
    this.held += text
    return this.close === null ? this.opening() : this.thinking(this.close)
  }

  /** What was held back, once nothing more comes. */
  end(): Spoken {
    const rest = this.held
    this.held = ""
    if (this.close !== null) return { text: "", reasoning: rest }
    return this.thought && rest.trim() === "" ? nothing : { text: rest, reasoning: "" }
  }

  private opening(): Spoken {
    const begun = this.held.trimStart()
    const lower = begun.toLowerCase()
    const tag = tags.find((name) => lower.startsWith(`<${name}>`))
    if (tag !== undefined) {
      this.thought = true
      this.close = `</${tag}>`
      this.held = begun.slice(tag.length + 2)
      return this.thinking(this.close)
    }
    if (tags.some((name) => `<${name}>`.startsWith(lower))) return nothing
    const text = this.thought ? begun : this.held
    this.held = ""
    this.speaking = true
    return { text, reasoning: "" }
  }

  private thinking(close: string): Spoken {
    const end = this.held.search(new RegExp(close, "i"))
    if (end < 0) {
      const known = this.held.length - begunAtEnd(this.held, close)
      const reasoning = this.held.slice(0, known)
      this.held = this.held.slice(known)
      return { text: "", reasoning }
    }
    const reasoning = this.held.slice(0, end)
    this.held = this.held.slice(end + close.length)
    this.close = null
    const after = this.opening()
    return { text: after.text, reasoning: reasoning + after.reasoning }
  }
}
