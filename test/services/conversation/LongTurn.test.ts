import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as LongTurn from "../../../src/services/conversation/LongTurn.js"
import * as QuietHours from "../../../src/services/operation/QuietHours.js"

const rules = { heartbeatMillis: 180, stallMillis: 300, warningMillis: 900, inactiveMillis: 1_800 }

/** Looks every 10 at a turn that does something at the given times. */
const story = (progress: ReadonlyArray<number>, until: number) => {
  const words: Array<readonly [number, LongTurn.Word]> = []
  let said = LongTurn.nothingSaid
  for (let now = 10; now <= until; now += 10) {
    const last = Math.max(0, ...progress.filter((at) => at <= now))
    const next = LongTurn.next(rules, { runningMillis: now, idleMillis: now - last }, said)
    said = next.said
    if (next.word !== null) words.push([now, next.word])
    if (next.word === "end") break
  }
  return words
}

describe("a turn that takes long", () => {
  it("gives signs of life ever more rarely while it works", () => {
    const busy = Array.from({ length: 400 }, (_, n) => n * 10)
    assert.deepStrictEqual(story(busy, 3_000), [
      [180, "heartbeat"],
      [360, "heartbeat"],
      [720, "heartbeat"],
      [1_440, "heartbeat"],
      [2_880, "heartbeat"]
    ])
  })

  it("is said to be stuck, warned of and ended when nothing happens, each once", () => {
    assert.deepStrictEqual(
      story([0], 3_000).filter(([, word]) => word !== "heartbeat"),
      [
        [300, "stalled"],
        [900, "warning"],
        [1_800, "end"]
      ]
    )
  })

  it("is never ended while it does something within the limit, and always soon after it does not", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 1_700 }), { maxLength: 8 }), (gaps) => {
        let at = 0
        const progress = gaps.map((gap) => (at += gap))
        const words = story(progress, at + 2_000)
        const ends = words.filter(([, word]) => word === "end")
        assert.lengthOf(ends, 1)
        assert.approximately(ends[0]?.[0] ?? 0, at + 1_800, 10)
      })
    )
  })
})

describe("quiet hours", () => {
  it("are read as a span of the day, over midnight too, on the owner's clock", () => {
    assert.deepStrictEqual(QuietHours.read("22:00-07:00"), { from: 79_200, until: 25_200 })
    assert.deepStrictEqual(QuietHours.read("10pm-7am"), { from: 79_200, until: 25_200 })
    for (const text of ["", "22:00", "22:00-22:00", "25:00-07:00", "1-2-3"]) assert.isNull(QuietHours.read(text))
    const night = QuietHours.read("22:00-07:00")
    const at = (time: string) => QuietHours.at(night, Date.parse(`2026-11-29T${time}Z`), "Europe/Berlin")
    assert.deepStrictEqual(["20:59", "21:00", "02:00", "05:59", "06:00", "12:00"].map(at), [
      false,
      true,
      true,
      true,
      false,
      false
    ])
    const noon = QuietHours.read("12:00-13:00")
    assert.isTrue(QuietHours.at(noon, Date.parse("2026-11-29T12:30:00Z"), "UTC"))
    assert.isFalse(QuietHours.at(noon, Date.parse("2026-11-29T13:00:00Z"), "UTC"))
    assert.isFalse(QuietHours.at(null, 0, "UTC"))
  })
})
