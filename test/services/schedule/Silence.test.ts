import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { isSilent } from "../../../src/services/schedule/Silence.js"

const silent = [
  "[SILENT]",
  "silent",
  "NO_REPLY",
  "no reply.",
  "**[SILENT]**",
  "“SILENT”",
  "- SILENT -",
  "静默",
  "[沉默]",
  // As a keyboard of East Asia writes them.
  "［SILENT］",
  "【SILENT】",
  "【静默】。",
  "〔沉默〕",
  "「静默」",
  "『沉默』！",
  "（静默）",
  "静默。",
  "“静默”……",
  "ＳＩＬＥＮＴ",
  "ＮＯ＿ＲＥＰＬＹ。",
  "［ｓｉｌｅｎｔ］",
  "\u200b[SILENT]\u200b",
  "\ufeffSILENT",
  // The first line, the last, or a bracketed beginning.
  "[SILENT]\nI looked and there is nothing.",
  "I looked.\n\n【静默】",
  "[SILENT] nothing new",
  "【SILENT】 nothing new",
  "［静默］没有新消息"
]

const said = [
  "",
  "The word [SILENT] means that I say nothing.",
  "Be silent, please",
  "silent night",
  "他保持静默。",
  "“沉默”是一部电影",
  "关于【静默】的说明",
  "SILENT? No: two alarms.",
  "A\n[SILENT]\nB",
  "[[SILENT]]",
  "[SILENCE]",
  `${"!".repeat(80)}SILENT`
]

describe("a run", () => {
  it.each(silent)("that says %j says nothing", (text) => expect(isSilent(text)).toBe(true))
  it.each(said)("that says %j says that", (text) => expect(isSilent(text)).toBe(false))

  it("is heard whatever it says in words of its own", () => {
    const word = fc.oneof(
      fc.stringMatching(/^[a-zA-Z0-9]{1,9}$/).filter((one) => !/silent|reply/i.test(one)),
      fc.constantFrom("静", "默", "沉", "silence", "NO", "保持", "消息", "ＯＫ")
    )
    const edge = fc.constantFrom("", "[", "]", "【", "】", "（", "）", "。", "“", "”", "*", "\u200b", "\n")
    fc.assert(
      fc.property(
        fc.array(fc.tuple(edge, word, edge), { minLength: 1, maxLength: 8 }),
        (parts) => !isSilent(parts.map((part) => part.join("")).join(" "))
      ),
      { numRuns: 300 }
    )
  })
})
