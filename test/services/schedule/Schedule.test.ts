import { describe, it } from "@effect/vitest"
import { Either } from "effect"
import * as FastCheck from "effect/FastCheck"
import { expect } from "vitest"
import * as CronExpression from "../../../src/services/schedule/CronExpression.js"
import * as Schedule from "../../../src/services/schedule/Schedule.js"
import { localTime } from "../../../src/services/schedule/LocalTime.js"
import * as TimeZone from "../../../src/services/schedule/TimeZone.js"
import { scaled } from "../../scale.js"
import { triple, zones } from "./support/triples.js"

const cron = (expression: string, timezone: string): Schedule.Schedule => ({
  kind: "cron",
  expression,
  timezone,
  ownZone: true
})
const at = (text: string): number => Date.parse(text)
const iso = (millis: number): string => new Date(millis).toISOString().replace(".000Z", "Z")
const between = (schedule: Schedule.Schedule, from: string, to: string): ReadonlyArray<string> =>
  Schedule.upcoming(schedule, at(from) - 1, 100)
    .filter((due) => due < at(to))
    .map(iso)

/** Under load all of it takes its time: less of it in `npm test` than of other counts. */
const full = scaled(100) === 100

describe("a change of clocks", () => {
  it.each([
    // Forward at 02:00 (07:00Z), by an hour.
    ["30 2 * * *", "America/New_York", "2027-03-14T05:00Z", "2027-03-15T04:00Z", ["2027-03-14T07:00:00Z"]],
    ["0,30 2 * * *", "America/New_York", "2027-03-14T05:00Z", "2027-03-15T04:00Z", ["2027-03-14T07:00:00Z"]],
    ["30 2 14 3 *", "America/New_York", "2027-03-14T05:00Z", "2028-01-01T04:00Z", ["2027-03-14T07:00:00Z"]],
    ["0 2-3 * * *", "America/New_York", "2027-03-14T05:00Z", "2027-03-15T04:00Z", ["2027-03-14T07:00:00Z"]],
    [
      "30 2,3 * * *",
      "America/New_York",
      "2027-03-14T05:00Z",
      "2027-03-15T04:00Z",
      ["2027-03-14T07:00:00Z", "2027-03-14T07:30:00Z"]
    ],
    ["*/30 2 * * *", "America/New_York", "2027-03-14T05:00Z", "2027-03-15T04:00Z", []],
    [
      "30 * * * *",
      "America/New_York",
      "2027-03-14T06:00Z",
      "2027-03-14T08:00Z",
      ["2027-03-14T06:30:00Z", "2027-03-14T07:30:00Z"]
    ],
    // Back at 02:00 (06:00Z) to 01:00.
    ["30 1 * * *", "America/New_York", "2027-11-07T04:00Z", "2027-11-08T05:00Z", ["2027-11-07T05:30:00Z"]],
    [
      "*/30 1 * * *",
      "America/New_York",
      "2027-11-07T04:00Z",
      "2027-11-08T05:00Z",
      ["2027-11-07T05:00:00Z", "2027-11-07T05:30:00Z", "2027-11-07T06:00:00Z", "2027-11-07T06:30:00Z"]
    ],
    [
      "0 * * * *",
      "America/New_York",
      "2027-11-07T05:00Z",
      "2027-11-07T07:00Z",
      ["2027-11-07T05:00:00Z", "2027-11-07T06:00:00Z"]
    ],
    [
      "0 0-2 * * *",
      "America/New_York",
      "2027-11-07T04:00Z",
      "2027-11-08T05:00Z",
      ["2027-11-07T04:00:00Z", "2027-11-07T05:00:00Z", "2027-11-07T07:00:00Z"]
    ],
    // Forward at midnight: the day begins at 01:00.
    [
      "0 0 * * *",
      "America/Santiago",
      "2027-09-04T05:00Z",
      "2027-09-06T04:00Z",
      ["2027-09-05T04:00:00Z", "2027-09-06T03:00:00Z"]
    ],
    [
      "15 0 * * *",
      "America/Sao_Paulo",
      "2018-11-04T02:00Z",
      "2018-11-05T03:00Z",
      ["2018-11-04T03:00:00Z", "2018-11-05T02:15:00Z"]
    ],
    ["0 0 * * 0", "Asia/Beirut", "2027-03-27T00:00Z", "2027-03-29T00:00Z", ["2027-03-27T22:00:00Z"]],
    ["30 0 * * 5", "Africa/Cairo", "2027-04-29T00:00Z", "2027-05-01T00:00Z", ["2027-04-29T22:00:00Z"]],
    // Back at midnight: 23:00 to 24:00 comes twice.
    [
      "30 23 * * *",
      "America/Santiago",
      "2027-04-03T12:00Z",
      "2027-04-05T12:00Z",
      ["2027-04-04T02:30:00Z", "2027-04-05T03:30:00Z"]
    ],
    ["30 0 * * *", "America/Havana", "2027-11-07T00:00Z", "2027-11-08T00:00Z", ["2027-11-07T04:30:00Z"]],
    // By half an hour, at 02:00.
    ["15 2 * * *", "Australia/Lord_Howe", "2027-10-02T12:00Z", "2027-10-03T12:00Z", ["2027-10-02T15:30:00Z"]],
    ["45 1 * * *", "Australia/Lord_Howe", "2027-04-03T12:00Z", "2027-04-04T12:00Z", ["2027-04-03T14:45:00Z"]],
    [
      "*/15 1 * * *",
      "Australia/Lord_Howe",
      "2027-04-03T12:00Z",
      "2027-04-04T12:00Z",
      [
        "2027-04-03T14:00:00Z",
        "2027-04-03T14:15:00Z",
        "2027-04-03T14:30:00Z",
        "2027-04-03T14:45:00Z",
        "2027-04-03T15:00:00Z",
        "2027-04-03T15:15:00Z"
      ]
    ],
    // The date line: 2011-12-30 never was.
    [
      "0 9 * * *",
      "Pacific/Apia",
      "2011-12-29T00:00Z",
      "2012-01-01T00:00Z",
      ["2011-12-29T19:00:00Z", "2011-12-30T19:00:00Z", "2011-12-31T19:00:00Z"]
    ],
    ["0 9 30 12 *", "Pacific/Apia", "2011-01-01T00:00Z", "2013-01-01T00:00Z", ["2012-12-29T19:00:00Z"]]
  ] as const)("%s in %s", (expression, zone, from, to, expected) => {
    expect(between(cron(expression, zone), from, to)).toEqual(expected)
  })

  it("comes again in an hour that comes twice, also where the day after would not match", () => {
    // A Wednesday that ends twice: 24:00 goes back to 23:00 at 19:30Z, and `*/3` takes no Thursday.
    const schedule = cron("* 23 * * */3", "Asia/Tehran")
    expect(iso(Schedule.next(schedule, at("2000-09-20T19:29:58Z")) ?? 0)).toBe("2000-09-20T19:30:00Z")
  })

  it.each(zones)("a time of day keeps its hour all year round in %s", (zone) => {
    const schedule = cron("0 9 * * *", zone)
    let due = at("2027-01-01T00:00Z")
    const hours = new Set<string>()
    for (let day = 0; day < 366; day++) {
      due = Schedule.next(schedule, due) ?? due
      hours.add(localTime(due, zone).slice(11))
    }
    expect([...hours]).toEqual(["09:00"])
  })

  it("every two days at a time of day keeps its hour and its days", () => {
    const schedule: Schedule.Schedule = {
      kind: "days",
      days: 2,
      time: 9_000,
      anchorDay: 20_785,
      timezone: "America/New_York",
      ownZone: true
    }
    const times = Schedule.upcoming(schedule, at("2027-03-10T12:00Z"), 3).map((due) =>
      localTime(due, "America/New_York")
    )
    expect(times).toEqual(["2027-03-12 02:30", "2027-03-14 03:00", "2027-03-16 02:30"])
  })
})

describe("an interval", () => {
  it("does not drift in 10,000 runs, however late each is asked for", () => {
    const schedule: Schedule.Schedule = {
      kind: "interval",
      seconds: 1_800,
      anchor: 1_234,
      timezone: "UTC",
      ownZone: false
    }
    let due = 1_234
    for (let run = 1; run <= 10_000; run++) {
      const finished = due + ((run * 7_919) % 1_800_000)
      due = Schedule.next(schedule, finished) ?? 0
      if (due !== 1_234 + run * 1_800_000) expect.fail(`run ${run} at ${due}`)
    }
  })
})

describe("what is due next", () => {
  it("is the same whenever it is asked for, and never earlier", () => {
    FastCheck.assert(
      FastCheck.property(triple, FastCheck.double({ min: 0, max: 1, noNaN: true }), (triple, share) => {
        const schedule = cron(triple.expression, triple.zone)
        const due = Schedule.next(schedule, triple.after)
        if (due === null) return Either.isLeft(CronExpression.parse(triple.expression))
        const between = Math.floor(triple.after + share * (due - 1 - triple.after))
        return due > triple.after && Schedule.next(schedule, between) === due && Schedule.next(schedule, due) !== due
      }),
      { numRuns: full ? 20_000 : 400 }
    )
  })

  it("counts what it would walk", () => {
    FastCheck.assert(
      FastCheck.property(triple, FastCheck.integer({ min: 1, max: 400 }), (triple, hours) => {
        const schedule = cron(triple.expression, triple.zone)
        const until = triple.after + hours * 1_234_567
        const walked: Array<number> = []
        for (let due = Schedule.next(schedule, triple.after); due !== null && due <= until;) {
          walked.push(due)
          if (walked.length > 5_000) return true
          due = Schedule.next(schedule, due)
        }
        const [first] = walked
        expect(Schedule.occurrences(schedule, triple.after, until)).toEqual(
          first === undefined ? null : { first, last: walked.at(-1), count: walked.length }
        )
        return true
      }),
      { numRuns: full ? 5_000 : 100 }
    )
  })

  it("counts ten years of seconds without walking them", () => {
    const [from, to] = [at("2027-01-01T00:00Z"), at("2037-01-01T00:00Z")]
    const started = performance.now()
    const found = Schedule.occurrences(cron("* * * * * *", "America/New_York"), from, to)
    // Walked, they take some minutes.
    expect(performance.now() - started).toBeLessThan(5_000)
    expect(found).toEqual({ first: from + 1_000, last: to, count: (to - from) / 1_000 })
    const interval: Schedule.Schedule = { kind: "interval", seconds: 1, anchor: 5, timezone: "UTC", ownZone: false }
    expect(Schedule.occurrences(interval, from, to)).toEqual({
      first: from + 5,
      last: to - 995,
      count: (to - from) / 1_000
    })
  })

  it("says no more when there is none", () => {
    const once: Schedule.Schedule = { kind: "once", at: 1_000, timezone: "UTC", ownZone: false }
    expect([Schedule.next(once, 999), Schedule.next(once, 1_000), Schedule.first(once, 5_000)]).toEqual([
      1_000,
      null,
      1_000
    ])
    expect(Schedule.occurrences(once, 0, 5_000)).toEqual({ first: 1_000, last: 1_000, count: 1 })
    expect(Schedule.occurrences(once, 1_000, 5_000)).toBeNull()
  })

  it("finds a day that comes every 40 years", () => {
    expect(iso(Schedule.next(cron("0 0 * 2 0#5", "UTC"), at("2088-03-01T00:00Z")) ?? 0)).toBe("2128-02-29T00:00:00Z")
  })
})

describe("a time zone", () => {
  it("finds two changes that are a week apart", () => {
    const recife = TimeZone.of("America/Recife")
    const offsets = ["2000-10-08T02:00Z", "2000-10-12T00:00Z", "2000-10-16T00:00Z"].map(
      (time) => recife.at(at(time) / 1_000).offset / 3_600
    )
    expect(offsets).toEqual([-3, -2, -3])
  })

  it("has the offsets of the platform's clock, all changes found", async () => {
    const names = Intl.supportedValuesOf("timeZone")
    const mistakes: Array<string> = []
    const [from, to] = [at("1996-01-01T00:00Z") / 1_000, at("2060-01-01T00:00Z") / 1_000]
    const sample = full ? names.length : 5
    for (let index = 0; index < sample; index++) {
      await new Promise((resolve) => setImmediate(resolve))
      const name = names[Math.floor((index * names.length) / sample)] ?? "UTC"
      const clock = new Intl.DateTimeFormat("en-CA", {
        timeZone: name,
        hourCycle: "h23",
        dateStyle: "short",
        timeStyle: "medium"
      })
      for (let seconds = from + index; seconds < to; seconds += full ? 151_200 : 2_000_003) {
        const wall = Date.parse(`${clock.format(seconds * 1_000).replace(", ", "T")}Z`) / 1_000
        if (TimeZone.of(name).at(seconds).offset !== wall - seconds) mistakes.push(`${name} ${iso(seconds * 1_000)}`)
      }
    }
    expect(mistakes).toEqual([])
  })
})
