import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { backlogOf } from "../../../src/layers/http/EventSender.js"

describe("how far behind readers of events may be", () => {
  it.prop(
    "a few by 4 MB each, many by 64 MB together, each by 256 KB",
    [fc.integer({ min: 0, max: 100_000 })],
    ([readers]) => {
      const each = backlogOf(readers)
      assert.isAtLeast(each, 256_000)
      assert.isAtMost(each, 4_000_000)
      if (readers <= 16) assert.strictEqual(each, 4_000_000)
      if (readers > 0 && readers <= 250) assert.isAtMost(each * readers, 64_000_000)
    }
  )
})
