/** The readable part of a page, as Markdown: linear in its length, whatever it holds. */
import { Effect } from "effect"
import { Parser } from "htmlparser2"

export interface PageText {
  readonly title: string
  readonly text: string
}

/** Nobody reads these, or they are not what the page is about. */
const unread = new Set(
  "script style noscript template svg math iframe object canvas video audio nav footer aside button select textarea dialog".split(
    " "
  )
)
const blocks = new Set(
  "p div section article main header ul ol dl dd dt figure figcaption table thead tbody tfoot form fieldset address details summary body".split(
    " "
  )
)
/** Characters of a page's own words; with fewer of them all is taken. */
const enough = 250
const longestText = 1_000_000
/** Characters between two looks at what else there is to do. */
const step = 32_768
const deepestList = 6
/** Elements in each other; the parser's time grows with them, and no page of words has so many. */
const deepest = 1_000

interface Open {
  readonly name: string
  readonly unread: boolean
  readonly main: boolean
}

interface List {
  readonly ordered: boolean
  count: number
}

class Reader {
  title = ""
  #out: Array<{ readonly text: string; readonly main: boolean }> = []
  #length = 0
  #open: Array<Open> = []
  #lists: Array<List> = []
  /** In pieces: a long line that is joined and cut at every word takes the square of its length. */
  #line: Array<string> = []
  #spaced = true
  #start = ""
  #links: Array<{ readonly from: number; readonly to: string | null }> = []
  #cells = 0
  #rows = 0
  #pres = 0
  #quotes = 0
  readonly #base: string

  constructor(base: string) {
    this.#base = base
  }

  get #now(): Open {
    return this.#open.at(-1) ?? { name: "", unread: false, main: false }
  }

  get #raw(): boolean {
    return this.#pres > 0
  }

  get full(): boolean {
    return this.#length > longestText || this.#open.length > deepest
  }

  #flush(): void {
    const raw = this.#start === "```\n"
    const line = this.#line.join("")
    const text = raw ? line.trimEnd().replace(/^\n+/, "") : line.trim()
    if (text !== "") {
      const quoted = this.#quotes > 0 ? "> " : ""
      const block = `${quoted}${this.#start}${text}${raw ? "\n```" : ""}`
      this.#out.push({ text: block, main: this.#now.main })
      this.#length += block.length
    }
    this.#line = []
    this.#spaced = true
    this.#start = ""
    this.#links = []
  }

  #put(text: string): void {
    if (text === "") return
    this.#line.push(text)
    this.#spaced = /\s/.test(text.charAt(text.length - 1))
  }

  #address(written: string | undefined): string | null {
    if (written === undefined || !URL.canParse(written, this.#base)) return null
    const { href, protocol } = new URL(written, this.#base)
    return /^(https?|mailto):$/.test(protocol) && href.length < 2_000 ? href : null
  }

  open(name: string, attributes: { readonly [name: string]: string }): void {
    const hidden =
      "hidden" in attributes ||
      attributes["aria-hidden"] === "true" ||
      /display:\s*none|visibility:\s*hidden/i.test(attributes["style"] ?? "")
    const outside = this.#now
    const main = outside.main || name === "main" || name === "article" || attributes["role"] === "main"
    const isUnread = outside.unread || hidden || unread.has(name) || (name === "header" && !main)
    if (!isUnread) this.#enter(name, attributes)
    this.#open.push({ name, unread: isUnread, main })
  }

  #enter(name: string, attributes: { readonly [name: string]: string }): void {
    if (blocks.has(name) && this.#cells === 0) this.#flush()
    if (/^h[1-6]$/.test(name)) {
      this.#flush()
      this.#start = `${"#".repeat(Number(name[1]))} `
    } else if (name === "br") this.#put(this.#cells > 0 ? " " : "\n")
    else if (name === "hr") this.#flush()
    else if (name === "pre") {
      this.#flush()
      this.#start = "```\n"
      this.#pres += 1
    } else if (name === "code" && !this.#raw) this.#put("`")
    else if (name === "blockquote") {
      this.#flush()
      this.#quotes += 1
    } else if (name === "ul" || name === "ol") this.#lists.push({ ordered: name === "ol", count: 0 })
    else if (name === "li") {
      this.#flush()
      const list = this.#lists.at(-1)
      if (list !== undefined) list.count += 1
      const indent = "  ".repeat(Math.min(deepestList, Math.max(0, this.#lists.length - 1)))
      this.#start = `${indent}${list?.ordered === true ? `${list.count}.` : "-"} `
    } else if (name === "a") this.#links.push({ from: this.#line.length, to: this.#address(attributes["href"]) })
    else if (name === "img" && (attributes["alt"] ?? "").trim() !== "") this.#put(`[picture: ${attributes["alt"]}]`)
    else if (name === "table") this.#rows = 0
    else if (name === "tr") {
      this.#flush()
      this.#cells = 0
    } else if (name === "td" || name === "th") {
      this.#put(this.#cells === 0 ? "| " : " | ")
      this.#cells += 1
    }
  }

  text(written: string): void {
    const { name, unread: isUnread } = this.#now
    if (isUnread) return
    if (name === "title") {
      this.title += written
      return
    }
    if (this.#raw) this.#put(written)
    else {
      const text = written.replace(/\s+/g, " ")
      this.#put(this.#spaced ? text.trimStart() : text)
    }
  }

  close(name: string): void {
    const closed = this.#now
    if (!closed.unread) this.#leave(name)
    this.#open.pop()
  }

  #leave(name: string): void {
    if (name === "a") {
      const link = this.#links.pop()
      const said = link === undefined ? "" : this.#line.slice(link.from).join("").trim()
      const after = this.#spaced ? " " : ""
      if (link !== undefined && link.to !== null && said !== "" && !this.#raw)
        this.#line.splice(link.from, Infinity, `[${said}](${link.to})${after}`)
    } else if (name === "code" && !this.#raw) this.#put("`")
    else if (name === "tr") {
      const cells = this.#cells
      this.#cells = 0
      if (cells > 0) this.#put(" |")
      this.#flush()
      if (cells > 0 && this.#rows++ === 0)
        this.#out.push({ text: `|${" --- |".repeat(Math.min(cells, 100))}`, main: this.#now.main })
    } else if (name === "ul" || name === "ol") {
      this.#flush()
      this.#lists.pop()
    } else if (this.#cells === 0 && (blocks.has(name) || /^(h[1-6]|pre|li|blockquote)$/.test(name))) this.#flush()
    if (name === "pre") this.#pres -= 1
    if (name === "blockquote") this.#quotes -= 1
  }

  get result(): PageText {
    this.#flush()
    const main = this.#out.filter((block) => block.main)
    const chosen = main.reduce((sum, { text }) => sum + text.length, 0) >= enough ? main : this.#out
    const joined = chosen.map(({ text }, index) => {
      const before = chosen[index - 1]?.text
      const together = before !== undefined && /^(\s*(-|\d+\.) |\|)/.test(before) && /^(\s*(-|\d+\.) |\|)/.test(text)
      return `${index === 0 ? "" : together ? "\n" : "\n\n"}${text}`
    })
    return { title: this.title.replace(/\s+/g, " ").trim().slice(0, 300), text: joined.join("") }
  }
}

/** Reads it a piece at a time, so that everybody else is served meanwhile. `base` is where its links lead from. */
export const read = (html: string, base: string): Effect.Effect<PageText> =>
  Effect.gen(function* () {
    const reader = new Reader(base)
    const parser = new Parser({
      onopentag: (name, attributes) => reader.open(name, attributes),
      ontext: (text) => reader.text(text),
      onclosetag: (name) => reader.close(name)
    })
    for (let at = 0; at < html.length && !reader.full; at += step) {
      parser.write(html.slice(at, at + step))
      yield* Effect.yieldNow()
    }
    parser.end()
    return reader.result
  })
