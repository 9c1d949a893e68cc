import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as When from "../../../../src/layers/models/offline/When.js"

/** Saturday, 11:30 in Zürich; the clocks go forward there in the night to Sunday. */
const now = Date.parse("2026-03-28T10:30:00Z")

const planOf = (text: string) =>
  Effect.gen(function* () {
    return When.repeated(text) ?? (yield* When.once(text, now, "Europe/Zurich"))
  })

const cases: ReadonlyArray<readonly [text: string, schedule: string, what: string]> = [
  ["remind me in 10 minutes to stretch", "2026-03-28T10:40:00Z", "stretch"],
  ["Remind me to stretch in half an hour", "2026-03-28T11:00:00Z", "stretch"],
  ["remind me in 90 seconds that the tea is ready", "2026-03-28T10:31:30Z", "the tea is ready"],
  ["in 2 hours tell me to go", "2026-03-28T12:30:00Z", "go"],
  ["remind me at 14:00 to call mum", "2026-03-28T13:00:00Z", "call mum"],
  ["remind me at 9 to call mum", "2026-03-29T07:00:00Z", "call mum"],
  ["remind me to call mum tomorrow at 9", "2026-03-29T07:00:00Z", "call mum"],
  ["remind me tomorrow to call mum", "2026-03-29T07:00:00Z", "call mum"],
  ["remind me on friday at 5pm to go home", "2026-04-03T15:00:00Z", "go home"],
  ["remind me on 2026-04-01 at 8:15 about the train", "2026-04-01T06:15:00Z", "the train"],
  ["remind me tomorrow to take the daily pill", "2026-03-29T07:00:00Z", "take the daily pill"],
  ["every weekday at 9 tell me to plan the day", "0 9 * * 1-5", "plan the day"],
  ["remind me every weekday at 9:30am to plan the day", "30 9 * * 1-5", "plan the day"],
  ["remind me to plan the day every weekday at 9", "0 9 * * 1-5", "plan the day"],
  ["every day at 6pm remind me to eat", "0 18 * * *", "eat"],
  ["remind me daily at noon to eat", "0 12 * * *", "eat"],
  ["every monday and thursday at 7 tell me that the bins go out", "0 7 * * 1,4", "the bins go out"],
  ["remind me every sunday to call mum", "0 9 * * 0", "call mum"],
  ["remind me every evening to lock the door", "0 18 * * *", "lock the door"],
  ["remind me to drink every 2 hours", "every 2h", "drink"],
  ["every 30 minutes remind me to drink", "every 30m", "drink"],
  ["hourly remind me to look up", "every 1h", "look up"],
  ["every hour run: df -h", "every 1h", "run: df -h"],
  ["remind me every month on the 1st at 8 to pay the rent", "0 8 1 * *", "pay the rent"],
  ["remind me every 2 days at 9 to water the plants", "every 2d at 09:00", "water the plants"],
  ["every 30m tell me hi", "every 30m", "hi"],
  ["every 1m tell me hi", "every 1m", "hi"],
  ["every 2h remind me to drink", "every 2h", "drink"],
  ["remind me every 2h to walk", "every 2h", "walk"],
  ["every 1h30m tell me to walk", "every 1h30m", "walk"],
  ["every 1 hour and 30 minutes tell me to walk", "every 1h30m", "walk"],
  ["every 1d at 09:00 tell me y", "every 1d at 09:00", "y"],
  ["remind me every other day at 7 to run", "every 2d at 07:00", "run"],
  ["every 90s tell me hi", "every 1m30s", "hi"],
  ["remind me each week to rest", "every 1w", "rest"]
]

describe("times in plain English", () => {
  for (const [text, schedule, what] of cases)
    it.effect(text, () =>
      Effect.map(planOf(text), (plan) => {
        assert.strictEqual(plan?.schedule, schedule)
        assert.strictEqual(plan?.what, what)
      })
    )

  for (const text of [
    "remind me to call mum",
    "tell me something in confidence",
    "remind me every -3 hours of it",
    "every 0 minutes remind me of it",
    "every 3.5h tell me to walk",
    "every 2 fortnights tell me to walk",
    "remind me at 25:00 to x",
    "remind me in 0 minutes to x",
    "remind me in 0 hours to x",
    "remind me in 999999 days to x"
  ])
    it.effect(`no time: ${text}`, () => Effect.map(planOf(text), (plan) => assert.isNull(plan)))

  it.effect("a time is told in the local zone, the day only when it is another one", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* planOf("remind me at 14:00 to eat"))?.words, "today at 14:00")
      assert.strictEqual((yield* planOf("remind me tomorrow at 9 to eat"))?.words, "on 2026-03-29 at 09:00")
      assert.strictEqual((yield* planOf("every weekday at 9 tell me to eat"))?.words, "every weekday at 09:00")
    })
  )
})
