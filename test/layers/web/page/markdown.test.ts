import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import type { ComponentChildren } from "preact"
import { Markdown } from "../../../../src/layers/web/page/Markdown.js"
import { makeReader } from "../../../../src/layers/web/page/stream.js"
import { scaled } from "../../../scale.js"

interface Element {
  readonly type: unknown
  readonly props: Readonly<Record<string, unknown>>
}

const isElement = (node: unknown): node is Element => typeof node === "object" && node !== null && "props" in node

/** A tree as text: names of elements in brackets, and their links. Whatever stands between is text. */
const drawn = (node: unknown): string => {
  if (Array.isArray(node)) return node.map(drawn).join("")
  if (!isElement(node)) return typeof node === "string" || typeof node === "number" ? String(node) : ""
  const { type, props } = node
  if (typeof type !== "string") return drawn(props["children"])
  const facts = [props["href"], props["start"]].filter((fact) => fact !== undefined)
  return `[${[type, ...facts].map(String).join(" ")}|${drawn(props["children"])}]`
}

const show = (text: string): string => {
  const tree: ComponentChildren = new Markdown({ text }).render()
  return drawn(tree).replace(/^\[div\|(.*)\]$/s, "$1")
}

describe("a message's text", () => {
  const cases: ReadonlyArray<readonly [what: string, text: string, shown: string]> = [
    ["paragraphs and their lines", "one\ntwo\n\nthree", "[p|one\ntwo][p|three]"],
    ["emphasis", "a **b** and *c*, _d_, ~~e~~", "[p|a [strong|b] and [em|c], [em|d], [s|e]]"],
    ["emphasis within emphasis", "**a _b_ `c`**", "[p|[strong|a [em|b] [code|c]]]"],
    ["no emphasis within words or numbers", "a_b_c 2*3*4 __init__", "[p|a_b_c 2*3*4 __init__]"],
    [
      "no emphasis within words of any script",
      "_name_ü_ é_b_ *c*ß 名_b_ e\u0301_b_ _ü_",
      "[p|_name_ü_ é_b_ *c*ß 名_b_ e\u0301_b_ [em|ü]]"
    ],
    ["code, also with backticks in it", "`a*b*` ``c`d`` ` e `", "[p|[code|a*b*] [code|c`d] [code|e]]"],
    ["what is escaped", "\\*not\\* \\`code\\`", "[p|*not* `code`]"],
    [
      "addresses, without what ends the sentence",
      "see https://example.org/a_(b)?c=1.",
      "[p|see [a https://example.org/a_(b)?c=1|https://example.org/a_(b)?c=1].]"
    ],
    ["links", "[the *page*](https://example.org/)", "[p|[a https://example.org/|the *page*]]"],
    [
      "no links to anything but pages",
      "[x](javascript:alert(1)) [y](data:text/html,z)",
      "[p|[x](javascript:alert(1)) [y](data:text/html,z)]"
    ],
    ["headings", "# One\n## Two\ntext", "[h3|One][h4|Two][p|text]"],
    ["code blocks, as they are", "```js\nlet a = '**'\n\n# b\n```\nafter", "[pre|[code|let a = '**'\n\n# b]][p|after]"],
    ["a code block that is still being written", "```\nlet a", "[pre|[code|let a]]"],
    ["a code block with a fence in it", "````\n```\n````", "[pre|[code|```]]"],
    ["lists", "- a\n- b\n  - c\n- d", "[ul|[li|[div|a]][li|[div|b][ul|[li|[div|c]]]][li|[div|d]]]"],
    ["numbered lists from their number", "3. a\n4. b", "[ol 3|[li|[div|a]][li|[div|b]]]"],
    [
      "items with paragraphs and code",
      "1. a\n\n   b\n\n   ```\n   c\n   ```\n2. d",
      "[ol 1|[li|[div|a][div|b][pre|[code|c]]][li|[div|d]]]"
    ],
    ["a list after a line of text", "these:\n- a", "[p|these:][ul|[li|[div|a]]]"],
    ["quotes", "> a\n> > b\n\nc", "[blockquote|[p|a][blockquote|[p|b]]][p|c]"],
    ["rules", "a\n\n---\n\nb", "[p|a][hr|][p|b]"],
    [
      "tables",
      "| a | b |\n|---|:-:|\n| `c` | d \\| e |\nafter",
      "[div|[table|[thead|[tr|[th|a][th|b]]][tbody|[tr|[td|[code|c]][td|d | e]]]]][p|after]"
    ],
    ["no table without its line", "a | b\nc | d", "[p|a | b\nc | d]"],
    ["markup as text", "<img src=x onerror=alert(1)> &amp;", "[p|<img src=x onerror=alert(1)> &amp;]"]
  ]
  for (const [what, text, shown] of cases) it(`shows ${what}`, () => assert.strictEqual(show(text), shown))

  /** What stands in the tree, without what marks it up. */
  const letters = (text: string): string => text.replace(/[^a-z]/g, "")

  it("loses no word, whatever is written", () => {
    const piece = fc.constantFrom(
      ..."* ** _ ` `` ``` ~~ ~~~ # ## > - 1. | --- |- [ ]( https://ab.cd ) ( \\ : + \n \n\n".split(" "),
      " ",
      "  ",
      "word",
      "x",
      "<b>",
      "é"
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const text = pieces.join("")
        const seen = show(text)
          .replace(/\[(?:p|em|strong|s|code|pre|ul|li|div|blockquote|hr|h\d|table|thead|tbody|tr|th|td)\|/g, "")
          .replace(/\[ol (?:\d+|NaN)\|/g, "")
          .replace(/\[a \S+?\|/g, "")
        // A fence's first line names its language; a table's cells and a list's numbers have no letters of their own.
        const spoken = text.replace(/^([ >]*)(?:[-+*\d.) ]*)(`{3,}|~{3,})[^\n]*/gm, "$1")
        for (const word of letters(spoken).match(/word/g) ?? []) assert.include(letters(seen), word)
      }),
      { numRuns: scaled(5_000, 300) }
    )
  })

  it("is read in no time, whoever wrote it", () => {
    const size = 60_000
    const evil = [
      "`".repeat(size),
      "` ".repeat(size / 2),
      "**".repeat(size / 2),
      "*a ".repeat(size / 3),
      "_a".repeat(size / 2),
      "[".repeat(size),
      "[a](".repeat(size / 4),
      `https://a${"(b)".repeat(size / 3)}.`,
      "https://".repeat(size / 8),
      `# a${" ".repeat(size)}b`,
      `a|b\n${" ".repeat(size)}-x`,
      `a|b\n|${"-|".repeat(size / 2)}x`,
      `-${" ".repeat(size)}`,
      "- ".repeat(size / 2),
      ">".repeat(size),
      `${"> ".repeat(size / 4)}\n`.repeat(2),
      `${"|".repeat(size)}\n`.repeat(2),
      "~~".repeat(size / 2),
      "1. \n".repeat(size / 4),
      "- a\n\n".repeat(size / 5),
      "\\".repeat(size),
      "```\n".repeat(size / 4)
    ]
    for (const text of evil) {
      const began = performance.now()
      show(text)
      const millis = performance.now() - began
      assert.isBelow(millis, 3_000, `${text.slice(0, 20)} took ${millis.toFixed(0)} ms`)
    }
  })
})

describe("the stream of events", () => {
  const event = (index: number) => ({ _tag: "gateway.state", at: index, state: `state ${index} — é` })

  it("is read from pieces cut anywhere", () => {
    const events = [1, 2, 3, 4].map(event)
    const text = `: \n\ndata: ${events.map((one) => JSON.stringify(one)).join("\n\ndata: ")}\n\n: \n\n`
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: text.length }), { maxLength: 8 }), (cuts) => {
        const read = makeReader()
        const ends = [...cuts, text.length].sort((a, b) => a - b)
        const seen = ends.flatMap((end, index) => read(text.slice(ends[index - 1] ?? 0, end)))
        assert.deepStrictEqual(seen, events as never)
      }),
      { numRuns: scaled(1_000, 100) }
    )
  })
})
