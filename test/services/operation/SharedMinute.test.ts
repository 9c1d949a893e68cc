import { assert, describe, it } from "@effect/vitest"
import * as SharedMinute from "../../../src/services/operation/SharedMinute.js"

describe("SharedMinute", () => {
  it("is the same instant for whoever asks within a minute, half a minute from those at which jobs are due", () => {
    for (const now of [30_000, 31_234, 60_000, 88_999]) assert.strictEqual(now + SharedMinute.untilNext(now), 90_000)
    assert.strictEqual(
      Date.UTC(2026, 1, 1) + SharedMinute.untilNext(Date.UTC(2026, 1, 1)),
      Date.UTC(2026, 1, 1, 0, 0, 30)
    )
  })

  it("is not looked at twice by a timer that rings early", () => {
    for (const now of [89_001, 89_999]) assert.strictEqual(now + SharedMinute.untilNext(now), 150_000)
  })

  it("is never now, and about a minute away at most, also before 1970", () => {
    for (let now = -120_000; now < 120_000; now += 77) {
      const left = SharedMinute.untilNext(now)
      assert.isTrue(left >= 1_000 && left < 61_000, `${now}: ${left}`)
    }
  })
})
