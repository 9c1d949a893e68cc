import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { Rolling } from "../../../src/services/shell/Rolling.js"
import * as Watch from "../../../src/services/shell/Watch.js"

const run = (times: ReadonlyArray<number>) => {
  let watch = Watch.fresh
  let crowd = Watch.quiet
  const said: Array<{ readonly at: number; readonly say: string }> = []
  for (const at of times) {
    const decision = Watch.matched(watch, crowd, at)
    watch = decision.watch
    crowd = decision.crowd
    if (decision.say !== "nothing") said.push({ at, say: decision.say })
  }
  return { said, watch }
}

describe("watching", () => {
  it("tells a match at once and the next after 15 s", () => {
    expect(run([0, 1_000, 14_999, 15_000]).said.map(({ at }) => at)).toEqual([0, 15_000])
  })

  it("gives up after three gaps in a row in which more matched", () => {
    const { said, watch } = run([0, 1, 2, 15_000, 15_001, 30_000, 30_001, 60_000])
    expect(said).toEqual([
      { at: 0, say: "match" },
      { at: 15_000, say: "match" },
      { at: 30_000, say: "match" },
      { at: 30_001, say: "last" }
    ])
    expect(watch.ended).toBe(true)
  })

  it("forgives a burst after a quiet gap, and says eight things at most", () => {
    const slow = Array.from({ length: 12 }, (_, index) => index * 20_000)
    expect(run(slow).said.length).toBe(8)
    expect(run(slow).said.at(-1)?.say).toBe("last")
    expect(run([0, 1, 20_000, 40_000, 40_001, 60_000, 60_001]).watch.ended).toBe(false)
  })

  it("pauses for all when all together say too much", () => {
    let crowd = Watch.quiet
    const says = Array.from({ length: 20 }, (_, index) => {
      const decision = Watch.matched(Watch.fresh, crowd, index)
      crowd = decision.crowd
      return decision.say
    })
    expect(says.filter((say) => say === "match").length).toBe(15)
    expect(Watch.matched(Watch.fresh, crowd, 29_000).say).toBe("nothing")
    expect(Watch.matched(Watch.fresh, crowd, 31_000).say).toBe("match")
  })

  it("cuts lines wherever the chunks end", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme", maxLength: 20 })), fc.nat(7), (texts, size) => {
        const lines = texts.map((text) => text.replace(/[\r\n]/g, " "))
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""))
        const cut = new Watch.Lines()
        const found: Array<string> = []
        for (let at = 0; at < bytes.length; at += size + 1) found.push(...cut.push(bytes.subarray(at, at + size + 1)))
        expect(found).toEqual(lines)
      }),
      { numRuns: 50 }
    )
  })
})

describe("rolling output", () => {
  it("gives each reader whole characters, once, and says what it has lost", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "binary", maxLength: 30 })),
        fc.integer({ min: 8, max: 64 }),
        fc.boolean(),
        (texts, limit, often) => {
          const whole = Buffer.from(texts.join(""))
          const rolling = new Rolling(limit)
          let at = 0
          let read = ""
          let lost = 0
          const look = () => {
            const piece = rolling.since(at)
            at = piece.next
            read += piece.text
            lost += piece.lost
          }
          for (let from = 0; from < whole.length; from += 5) {
            rolling.push(whole.subarray(from, from + 5))
            if (often) look()
          }
          look()
          expect(Buffer.byteLength(read) + lost).toBe(whole.length)
          expect(whole.toString().endsWith(rolling.since(0).text)).toBe(true)
          if (often) expect(lost).toBe(0)
          expect(Buffer.byteLength(rolling.all().text)).toBeLessThanOrEqual(limit)
        }
      ),
      { numRuns: 30 }
    )
  })
})
