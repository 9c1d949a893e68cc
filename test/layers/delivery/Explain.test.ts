/** The story of each id, told from the rows of a gateway that did the work. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { Explain, type Story } from "../../../src/services/delivery/Explain.js"
import { Outbox } from "../../../src/services/delivery/Outbox.js"
import { JobOrigin } from "../../../src/services/schedule/Job.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { Database } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"

const words = (request: ModelRequest): string =>
  request.messages.flatMap((message) => (message._tag === "user" ? [message.text] : [])).join("\n")

const hasResult = (request: ModelRequest): boolean => request.messages.some((message) => message._tag === "tool")

/** A person asks; a helper sends a note to the chat; the answer follows. */
const model = (request: ModelRequest): Testing.StepInput => {
  if (words(request).includes("tell them"))
    return hasResult(request)
      ? Testing.say("told")
      : Testing.call("send_message", { target: "telegram", message: "a note" }, "note")
  if (words(request).includes("forbidden"))
    return hasResult(request)
      ? Testing.say("as you wish")
      : Testing.call("terminal", { command: "rm -rf build" }, "brew")
  return hasResult(request) ? Testing.say("done") : Testing.call("delegate_task", { goal: "tell them" }, "hand")
}

const settings = { delegation: { defaultToolsets: ["messaging"] } } as const

const told = (story: Story): string => story.passages.map(({ text }) => text).join("\n")

const find = (sql: string) =>
  Effect.flatMap(Database, (database) =>
    database.read("test", (client) => client.unsafe<{ readonly id: string }>(sql))
  ).pipe(Effect.map((rows) => rows[0]?.id ?? "none"))

describe("the story", () => {
  it.scopedLive("of a helper's message goes from the person's words to what the platform called it", () =>
    Effect.gen(function* () {
      const { only } = yield* Testing.AdapterInMemory
      const explain = yield* Explain
      yield* only.say("please let them know")
      yield* only.sent.waitFor("the answer", ({ text }) => text === "done", { seconds: 20 })
      const note = (yield* (yield* Outbox).list({ limit: 10 })).find(({ text }) => text === "a note")
      const story = yield* explain.story(note?.id ?? "")
      expect(story.kind).toBe("delivery")
      expect(story.passages.map(({ kind }) => kind)).toEqual(["message", "session", "turn", "turn", "delivery"])
      const sent = (yield* only.sent.all).find(({ text }) => text === "a note")
      expect(told(story)).toMatch(
        /Bob wrote in telegram:500000001: “please let them know”; (it was answered|a turn works on it)/
      )
      expect(told(story)).toMatch(
        /a turn began: for Bob in telegram:500000001; no scheduled job has to do with it; its answer goes to telegram:500000001/
      )
      expect(told(story)).toMatch(/a helper began, one step away from the asker/)
      expect(told(story)).toContain("what it sends goes to telegram:500000001")
      expect(told(story)).toContain(
        `a message to telegram:500000001 (the chat that the work came from): “a note”; telegram took it at the first attempt and calls it ${sent?.platformMessageId}`
      )

      const turn = yield* find("SELECT id FROM turns WHERE parent_id IS NULL")
      const whole = yield* explain.story(turn)
      expect(told(whole)).toContain("the tool delegate_task was called (hand): done")
      expect(told(whole)).toContain("a helper began")
      const event = yield* explain.story(yield* find("SELECT id FROM inbound_events"))
      expect(event.passages.at(0)?.kind).toBe("message")
      expect(told(event)).toContain("a message to telegram:500000001 (the chat that the work came from): “done”")
    }).pipe(Effect.provide(Testing.gateway({ model, settings })))
  )

  it.scopedLive("of an approval says who was asked what, why, and who answered", () =>
    Effect.gen(function* () {
      const { only } = yield* Testing.AdapterInMemory
      const explain = yield* Explain
      yield* only.say("something forbidden")
      yield* only.sent.waitFor("the question", ({ text }) => text.includes("rm -rf build"), { seconds: 20 })
      const id = yield* find("SELECT id FROM approvals")
      expect(told(yield* explain.story(id))).toMatch(
        /was asked whether terminal may do “rm -rf build”.*nobody has answered yet/
      )
      yield* only.say("/deny not today")
      yield* only.sent.waitFor("the answer", ({ text }) => text === "as you wish", { seconds: 20 })
      const story = yield* explain.story(id)
      expect(told(story)).toMatch(
        /was asked whether terminal may do “rm -rf build” \(.+\): it was denied by .+not today/
      )
      expect(story.passages.map(({ kind }) => kind)).toEqual(["message", "session", "turn", "call", "approval"])
    }).pipe(Effect.provide(Testing.gateway({ model })))
  )

  it.scopedLive("of a run goes from the job that asked for it to what it said, and so does that of its message", () =>
    Effect.gen(function* () {
      const { only } = yield* Testing.AdapterInMemory
      const explain = yield* Explain
      const jobs = yield* Jobs
      const place = only.profile.dm(1)
      const origin = new JobOrigin({ ...place, chatName: null, platform: "telegram", userId: "7", scopeId: null })
      yield* jobs.create(
        { schedule: "every 1h", prompt: "forbidden things", name: "Report" },
        { origin, createdBy: { platform: "telegram", userId: "7" } }
      )
      yield* jobs.runNow("Report", null)
      yield* only.sent.waitFor("what it said", ({ text }) => text.includes("as you wish"), { seconds: 20 })
      const run = yield* find("SELECT 'run_' || id AS id FROM occurrences")
      const story = yield* explain.story(run)
      const seen = story.passages.map(({ kind }) => kind)
      expect(seen.toSorted()).toEqual(["call", "delivery", "job", "run", "session", "turn"])
      expect([seen[0], seen.at(-1)]).toEqual(["job", "delivery"])
      expect(told(story)).toMatch(
        /the job “Report” was made by telegram:7 in telegram:500000001; as it stands it is due every hour, and what it says goes to the chat that it was made in/
      )
      expect(told(story)).toMatch(/a run, due at 20\S+ \S+, because somebody asked for it: (it runs|it went well)/)
      expect(told(story)).toContain("it is a scheduled job's")
      const message = yield* explain.story(yield* find("SELECT id FROM deliveries WHERE cause_kind = 'cron'"))
      expect(message.passages.map(({ kind }) => kind).toSorted()).toEqual(["delivery", "job", "run", "session"])
    }).pipe(Effect.provide(Testing.gateway({ model })))
  )

  it.scopedLive("of an unknown id says so, and what ids look like", () =>
    Effect.gen(function* () {
      const explain = yield* Explain
      for (const id of ["", "dlv_0", "trn_0", "apr_0", "evt_0", "x", "__proto__"]) {
        const error = yield* Effect.flip(explain.story(id))
        expect(error._tag).toBe("NothingKnown")
        expect(error.message).toContain("dlv_")
      }
    }).pipe(Effect.provide(Testing.gateway({ model })))
  )
})
