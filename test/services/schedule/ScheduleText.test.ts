import { describe, it } from "@effect/vitest"
import { Either, Schema } from "effect"
import { expect } from "vitest"
import * as Schedule from "../../../src/services/schedule/Schedule.js"
import * as ScheduleText from "../../../src/services/schedule/ScheduleText.js"
import { words } from "../../../src/services/schedule/ScheduleWords.js"

/** A Sunday, 07:00:30 in New York. */
const now = Date.UTC(2026, 10, 29, 12, 0, 30)
const context = { now, zone: "America/New_York", timezone: null, wakesAgent: true }
const read = (text: string, more: Partial<ScheduleText.Context> = {}) =>
  Either.getOrThrow(ScheduleText.parse(text, { ...context, ...more }))
const iso = (millis: number | null | undefined): string =>
  millis === null || millis === undefined ? "never" : new Date(millis).toISOString().replace(".000Z", "Z")

describe("a schedule's text", () => {
  it.each([
    ["30m", "2026-11-29T12:30:30Z", "never", "once, on 2026-11-29 at 07:30:30"],
    ["90s", "2026-11-29T12:02:00Z", "never", "once, on 2026-11-29 at 07:02"],
    ["1h30m", "2026-11-29T13:30:30Z", "never", "once, on 2026-11-29 at 08:30:30"],
    ["1w", "2026-12-06T12:00:30Z", "never", "once, on 2026-12-06 at 07:00:30"],
    ["in 2 hours and 5 minutes", "2026-11-29T14:05:30Z", "never", "once, on 2026-11-29 at 09:05:30"],
    ["hour", "2026-11-29T13:00:30Z", "never", "once, on 2026-11-29 at 08:00:30"],
    ["every 30m", "2026-11-29T12:30:30Z", "2026-11-29T13:00:30Z", "every 30 minutes"],
    ["every hour", "2026-11-29T13:00:30Z", "2026-11-29T14:00:30Z", "every hour"],
    ["every day", "2026-11-30T12:00:30Z", "2026-12-01T12:00:30Z", "every day"],
    ["every 1h30m", "2026-11-29T13:30:30Z", "2026-11-29T15:00:30Z", "every 1 hour 30 minutes"],
    ["@every 90m", "2026-11-29T13:30:30Z", "2026-11-29T15:00:30Z", "every 1 hour 30 minutes"],
    ["every 1d at 09:00", "2026-11-29T14:00:00Z", "2026-11-30T14:00:00Z", "at 09:00, every day"],
    ["every day at noon", "2026-11-29T17:00:00Z", "2026-11-30T17:00:00Z", "at 12:00, every day"],
    ["every 2d at 09:00", "2026-11-29T14:00:00Z", "2026-12-01T14:00:00Z", "every 2 days at 09:00"],
    ["every week at 6am", "2026-11-30T11:00:00Z", "2026-12-07T11:00:00Z", "every week at 06:00"],
    ["weekdays at 9am", "2026-11-30T14:00:00Z", "2026-12-01T14:00:00Z", "at 09:00, Monday through Friday"],
    ["Weekend at 18:30", "2026-11-29T23:30:00Z", "2026-12-05T23:30:00Z", "at 18:30, only on Sunday and Saturday"],
    [
      "mon, weds and fri 9:30pm",
      "2026-12-01T02:30:00Z",
      "2026-12-03T02:30:00Z",
      "at 21:30, only on Monday, Wednesday, and Friday"
    ],
    ["every tues 7", "2026-12-01T12:00:00Z", "2026-12-08T12:00:00Z", "at 07:00, only on Tuesday"],
    ["@daily", "2026-11-30T05:00:00Z", "2026-12-01T05:00:00Z", "at 00:00, every day"],
    ["@hourly", "2026-11-29T13:00:00Z", "2026-11-29T14:00:00Z", "every hour"],
    ["@yearly", "2027-01-01T05:00:00Z", "2028-01-01T05:00:00Z", "at 00:00, on day 1 of the month, only in January"],
    ["0 9 * * 1-5", "2026-11-30T14:00:00Z", "2026-12-01T14:00:00Z", "at 09:00, Monday through Friday"],
    ["15 30 9 * * *", "2026-11-29T14:30:15Z", "2026-11-30T14:30:15Z", "at 09:30:15, every day"],
    ["0 0 L * *", "2026-11-30T05:00:00Z", "2026-12-31T05:00:00Z", "at 00:00, on the last day of the month"],
    ["0 0 LW * *", "2026-11-30T05:00:00Z", "2026-12-31T05:00:00Z", "at 00:00, on the last weekday of the month"],
    [
      "0 0 15W * *",
      "2026-12-15T05:00:00Z",
      "2027-01-15T05:00:00Z",
      "at 00:00, on the weekday nearest day 15 of the month"
    ],
    ["0 0 * * 5L", "2026-12-25T05:00:00Z", "2027-01-29T05:00:00Z", "at 00:00, on the last Friday of the month"],
    ["0 0 * * MON#1", "2026-12-07T05:00:00Z", "2027-01-04T05:00:00Z", "at 00:00, on the first Monday of the month"],
    ["CRON_TZ=asia/tokyo 0 9 * * *", "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z", "at 09:00, every day"],
    [
      "monthly on the 31st at 9",
      "2026-12-31T14:00:00Z",
      "2027-01-31T14:00:00Z",
      "at 09:00, on day 31 of the month, in months that have a 31st"
    ],
    [
      "every month on the 1st and 30th at 6pm",
      "2026-11-30T23:00:00Z",
      "2026-12-01T23:00:00Z",
      "at 18:00, on day 1 and 30 of the month, the 30th where there is one"
    ],
    [
      "the last day of every month at noon",
      "2026-11-30T17:00:00Z",
      "2026-12-31T17:00:00Z",
      "at 12:00, on the last day of the month"
    ],
    ["monthly at 9am", "2026-12-01T14:00:00Z", "2027-01-01T14:00:00Z", "at 09:00, on day 1 of the month"],
    [
      "0 9 1,L * MON-FRI",
      "2026-11-30T14:00:00Z",
      "2026-12-01T14:00:00Z",
      "at 09:00, on day 1 and the last day of the month, or Monday through Friday"
    ],
    [
      "0 9 1 1 MON",
      "2027-01-01T14:00:00Z",
      "2027-01-04T14:00:00Z",
      "at 09:00, on day 1 of the month, or on Monday, only in January"
    ],
    ["9am", "2026-11-29T14:00:00Z", "never", "once, on 2026-11-29 at 09:00"],
    ["at 7", "2026-11-30T12:00:00Z", "never", "once, on 2026-11-30 at 07:00"],
    ["noon", "2026-11-29T17:00:00Z", "never", "once, on 2026-11-29 at 12:00"],
    ["06:30", "2026-11-30T11:30:00Z", "never", "once, on 2026-11-30 at 06:30"],
    ["today at 18:00", "2026-11-29T23:00:00Z", "never", "once, on 2026-11-29 at 18:00"],
    ["tomorrow at 9am", "2026-11-30T14:00:00Z", "never", "once, on 2026-11-30 at 09:00"],
    ["9:30 p.m. tomorrow", "2026-12-01T02:30:00Z", "never", "once, on 2026-11-30 at 21:30"],
    ["CRON_TZ=asia/tokyo tomorrow 9", "2026-11-30T00:00:00Z", "never", "once, on 2026-11-30 at 09:00"],
    ["2027-01-31T09:00", "2027-01-31T14:00:00Z", "never", "once, on 2027-01-31 at 09:00"],
    ["2027-01-31", "2027-01-31T05:00:00Z", "never", "once, on 2027-01-31 at 00:00"],
    ["2027-01-31T09:00Z", "2027-01-31T09:00:00Z", "never", "once, on 2027-01-31 at 04:00"],
    ["2027-01-31 09:00+05:30", "2027-01-31T03:30:00Z", "never", "once, on 2027-01-30 at 22:30"],
    ["2027-03-14T02:30", "2027-03-14T07:00:00Z", "never", "once, on 2027-03-14 at 03:00"],
    ["2027-11-07T01:30", "2027-11-07T05:30:00Z", "never", "once, on 2027-11-07 at 01:30"],
    ["2027-01-31T09:00:30.25Z", "2027-01-31T09:00:30.250Z", "never", "once, on 2027-01-31 at 04:00:30"],
    ["2026-11-29T06:59", "2026-11-29T11:59:00Z", "never", "once, on 2026-11-29 at 06:59"]
  ])("%s", (text, first, second, inWords) => {
    const schedule = read(text)
    const start = Schedule.first(schedule, now)
    expect([iso(start), iso(start === null ? null : Schedule.next(schedule, start)), words(schedule)]).toEqual([
      first,
      second,
      inWords
    ])
    // As it stands in a row, and as it is written out for people, it is the same.
    const stored = Schema.decodeSync(Schedule.Stored)(Schema.encodeSync(Schedule.Stored)(schedule))
    expect(stored).toEqual(schedule)
    // A list of what is done says it in the same words, however long ago it was.
    const past = ScheduleText.reread(ScheduleText.format(schedule), schedule.timezone)
    expect(past === null ? null : words(past)).toBe(inWords)
    const again = read(ScheduleText.format(schedule), { now: schedule.kind === "interval" ? schedule.anchor : now })
    expect(Schedule.upcoming(again, now - 120_001, 3)).toEqual(
      Schedule.upcoming({ ...schedule, timezone: again.timezone }, now - 120_001, 3)
    )
  })

  it.each([
    ["tomorrow", /needs a time of day: tomorrow at 9am/],
    ["today at 6am", /which is past/],
    ["monthly on the 32nd at 9", /names a day that no month has/],
    ["monthly on the first at nine", /write it like monthly on the 1st at 9am/],
    ["remind me on the 31st at 9", /is no schedule; write it as one of/],
    ["9", /is no schedule/]
  ])("%s is refused in words", (text, why) => {
    const parsed = ScheduleText.parse(text, context)
    expect(Either.isLeft(parsed) ? parsed.left.message : "taken").toMatch(why)
  })
})
