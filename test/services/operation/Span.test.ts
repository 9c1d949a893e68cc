import { expect, test } from "vitest"
import * as Span from "../../../src/services/operation/Span.js"

test("a span of time is said in the largest unit that fits, rounded once", () => {
  const hour = 3_600_000
  const said = [0, 400, 45_400, 59_600, 150_000, 59.6 * 60_000, 7_200_000, 47 * hour, 47.6 * hour, 200 * hour]
  expect(said.map(Span.words)).toEqual([
    "1 second",
    "1 second",
    "45 seconds",
    "1 minute",
    "3 minutes",
    "1 hour",
    "2 hours",
    "47 hours",
    "2 days",
    "8 days"
  ])
})
