import { describe, it } from "@effect/vitest"
import { CronExpressionParser } from "cron-parser"
import { Cron } from "croner"
import { Either } from "effect"
import * as FastCheck from "effect/FastCheck"
import { expect } from "vitest"
import * as CronExpression from "../../../src/services/schedule/CronExpression.js"
import * as Schedule from "../../../src/services/schedule/Schedule.js"
import * as TimeZone from "../../../src/services/schedule/TimeZone.js"
import { scaled } from "../../scale.js"
import * as Reference from "./support/reference.js"
import { type Triple, triple } from "./support/triples.js"

/** An instant, none at all, or refused. */
type Answer = number | null | "refused"

const scheduleOf = ({ expression, zone }: Triple): Schedule.Schedule => ({
  kind: "cron",
  expression,
  timezone: zone,
  ownZone: true
})

const ours = (triple: Triple): Answer =>
  Either.isLeft(CronExpression.parse(triple.expression)) ? "refused" : Schedule.next(scheduleOf(triple), triple.after)

const croner = ({ after, expression, zone }: Triple): Answer =>
  new Cron(expression, { timezone: zone, paused: true }).nextRun(new Date(after))?.getTime() ?? null

const cronParser = ({ after, expression, zone }: Triple): Answer => {
  try {
    return CronExpressionParser.parse(expression, { currentDate: new Date(after), tz: zone })
      .next()
      .getTime()
  } catch {
    return "refused"
  }
}

interface Difference {
  readonly triple: Triple
  readonly ours: Answer
  readonly theirs: Answer
}

const segment = (zone: string, millis: number): TimeZone.Segment => TimeZone.of(zone).at(Math.floor(millis / 1_000))
const isFixed = (expression: string): boolean => Reference.matcher(expression).fixed
const isNumber = (answer: Answer): answer is number => typeof answer === "number"

/** The clock shows this instant's time for the second time. */
const isSecondPass = (zone: string, millis: number): boolean => {
  const { before, offset, start } = segment(zone, millis)
  return before > offset && millis < (start + before - offset) * 1_000
}

/** The clock shows this instant's time twice. */
const isShownTwice = (zone: string, millis: number): boolean => {
  const { before, offset, start } = segment(zone, segment(zone, millis).end * 1_000)
  return isSecondPass(zone, millis) || (before > offset && millis >= (start - before + offset) * 1_000)
}

/** A change that is neither at a full hour nor by full hours, within a day before or an hour behind. */
const isOddChange = (zone: string, millis: number): boolean =>
  [millis, millis + 3_600_000].some((at) => {
    const { before, offset, start } = segment(zone, at)
    return (
      before !== offset &&
      at < (start + 86_400) * 1_000 &&
      ((start + before) % 3_600 !== 0 || (offset - before) % 3_600 !== 0)
    )
  })

/** As long after a gap as the gap was, at the most. */
const isBehindGap = (zone: string, millis: number): boolean => {
  const { before, offset, start } = segment(zone, millis)
  return before < offset && millis < (start + offset - before) * 1_000
}

const isEndOfGap = (zone: string, millis: number): boolean =>
  isBehindGap(zone, millis) && segment(zone, millis).start * 1_000 === millis

interface Explanation {
  readonly oracle: "croner" | "cron-parser"
  readonly what: string
  readonly holds: (difference: Difference) => boolean
}

/** Every kind of difference there is. In each of them the reference, decision 12 read literally, is asked as well. */
const explanations: ReadonlyArray<Explanation> = [
  {
    oracle: "croner",
    what: "never happens: croner takes the expression and has no next instant, we refuse it",
    holds: ({ ours, theirs }) => ours === "refused" && theirs === null
  },
  {
    oracle: "croner",
    what: "a time of day with lists, ranges or seconds that a gap skips: croner drops it (and, if rare, loses itself), we are due once at the gap's end",
    holds: ({ ours, theirs, triple }) =>
      isNumber(ours) &&
      isFixed(triple.expression) &&
      isEndOfGap(triple.zone, ours) &&
      (theirs === null || (isNumber(theirs) && theirs > ours))
  },
  {
    oracle: "croner",
    what: "asked from within an hour that comes twice: croner is due in its second pass too, we in the first only",
    holds: ({ theirs, triple }) =>
      isFixed(triple.expression) &&
      isShownTwice(triple.zone, triple.after) &&
      isNumber(theirs) &&
      isSecondPass(triple.zone, theirs)
  },
  {
    oracle: "cron-parser",
    what: "never happens: both refuse, cron-parser only for dates without list",
    holds: ({ ours }) => ours === "refused"
  },
  {
    oracle: "cron-parser",
    what: "a time of day that a gap skips: cron-parser is due as much later as the gap is long, we at its end",
    holds: ({ ours, theirs, triple }) =>
      isNumber(ours) &&
      isNumber(theirs) &&
      isFixed(triple.expression) &&
      isEndOfGap(triple.zone, ours) &&
      isBehindGap(triple.zone, theirs)
  },
  {
    oracle: "cron-parser",
    what: "a `*` in the minute or hour and a gap: cron-parser moves skipped times behind it, we leave them out",
    holds: ({ ours, theirs, triple }) =>
      isNumber(ours) &&
      isNumber(theirs) &&
      !isFixed(triple.expression) &&
      theirs < ours &&
      isBehindGap(triple.zone, theirs)
  },
  {
    oracle: "cron-parser",
    what: "asked from within an hour that comes twice: cron-parser is due in its second pass too, we in the first only",
    holds: ({ theirs, triple }) =>
      isFixed(triple.expression) &&
      isShownTwice(triple.zone, triple.after) &&
      isNumber(theirs) &&
      isSecondPass(triple.zone, theirs)
  },
  {
    oracle: "cron-parser",
    what: "a midnight that comes twice: cron-parser is due in the second pass only, we in the first",
    holds: ({ ours, theirs, triple }) =>
      isNumber(ours) && isNumber(theirs) && ours < theirs && isSecondPass(triple.zone, theirs)
  },
  {
    oracle: "cron-parser",
    what: "a `*` in the minute or hour and an hour that comes twice: cron-parser leaves its second pass out, we are due in both",
    holds: ({ ours, theirs, triple }) =>
      isNumber(ours) &&
      isNumber(theirs) &&
      !isFixed(triple.expression) &&
      ours < theirs &&
      isSecondPass(triple.zone, ours)
  },
  {
    oracle: "cron-parser",
    what: "a change at 00:01 (St John's, Gaza) or by half an hour (Lord Howe): cron-parser loses the hour it is in, or itself",
    holds: ({ ours, triple }) =>
      isNumber(ours) && (isOddChange(triple.zone, ours) || triple.zone === "Australia/Lord_Howe")
  }
]

/** Which of the expressions an oracle can read at all. */
const reads = (oracle: Explanation["oracle"], expression: string): boolean =>
  oracle === "croner" || !/\dW|LW/.test(expression)

const iso = (answer: Answer): string => (isNumber(answer) ? new Date(answer).toISOString() : String(answer))

const spoken = ({ ours, theirs, triple }: Difference): string =>
  `${triple.expression} in ${triple.zone} after ${iso(triple.after)}: ours ${iso(ours)}, theirs ${iso(theirs)}`

/** The libraries are slow: a smaller part of them in `npm test` than of other counts. */
const full = scaled(100) === 100
const runs = full ? 100_000 : 300

/** Lets the test's reporter have its say between the batches of a long run. */
const breath = () => new Promise((resolve) => setImmediate(resolve))

describe("what is due next, beside its oracles", () => {
  const triples = FastCheck.sample(triple, { numRuns: runs, seed: 20_261_129 })

  it.each([
    ["croner", croner],
    ["cron-parser", cronParser]
  ] as const)(
    "differs from %s only as explained, and then as the rules say",
    async (oracle, ask) => {
      const rows = explanations.filter((explanation) => explanation.oracle === oracle)
      const counts = new Map(rows.map((row) => [row.what, 0]))
      const unexplained: Array<string> = []
      const wrong: Array<string> = []
      for (const [index, triple] of triples.entries()) {
        if (index % 200 === 0) await breath()
        if (!reads(oracle, triple.expression)) continue
        const difference = { triple, ours: ours(triple), theirs: ask(triple) }
        if (difference.ours === difference.theirs) continue
        const row = rows.find((row) => row.holds(difference))
        if (row === undefined) unexplained.push(spoken(difference))
        else counts.set(row.what, (counts.get(row.what) ?? 0) + 1)
        const { after, expression, zone } = triple
        if (isNumber(difference.ours))
          if (Reference.next(expression, zone, after, difference.ours + 86_400_000) !== difference.ours)
            wrong.push(spoken(difference))
      }
      if (full) console.log(oracle, Object.fromEntries(counts))
      expect({ unexplained, wrong }).toEqual({ unexplained: [], wrong: [] })
    },
    full ? 3_600_000 : 60_000
  )

  it("is what decision 12 says, read literally about every change of clocks", async () => {
    const wrong: Array<string> = []
    const sample = FastCheck.sample(triple, { numRuns: full ? 2_000 : 60, seed: 12 })
    for (const [index, triple] of sample.entries()) {
      if (index % 50 === 0) await breath()
      const due = ours(triple)
      if (!isNumber(due) || due - triple.after > 86_400_000 * 800) continue
      const said = Reference.next(triple.expression, triple.zone, triple.after, due + 86_400_000)
      if (said !== due) wrong.push(spoken({ triple, ours: due, theirs: said }))
    }
    expect(wrong).toEqual([])
  })
})
