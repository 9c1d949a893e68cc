import { assert, describe, it } from "@effect/vitest"
import { clockTime, localTime } from "../../../../src/layers/web/page/time.js"

describe("times on the page", () => {
  it("are written in one way, alone and beside a day", () => {
    const early = new Date()
    early.setHours(5, 4, 0, 0)
    assert.strictEqual(localTime(early.toISOString()), clockTime(early))
    const otherDay = new Date(early.getFullYear(), early.getMonth() === 5 ? 6 : 5, 1, 5, 4)
    assert.isTrue(localTime(otherDay.toISOString()).endsWith(`, ${clockTime(otherDay)}`))
  })
})
