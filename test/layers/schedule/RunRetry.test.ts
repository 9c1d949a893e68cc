/** What becomes of runs that fail, under the test clock: tried again, held back, blocked, given up (cron-delivery.md 3.9–3.11). */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schedule, TestClock, TestServices } from "effect"
import { bodyOf } from "../../../src/layers/models/chatCompletions/Wire.js"
import * as OpenAi from "../../../src/layers/models/openai/Request.js"
import { ModelError } from "../../../src/services/agent/ModelRoute.js"
import { JobOrigin } from "../../../src/services/schedule/Job.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"

const maker = {
  origin: new JobOrigin({
    platform: "telegram",
    chatId: "77",
    chatName: null,
    chatType: "dm",
    threadId: null,
    userId: "77",
    scopeId: null
  }),
  createdBy: { platform: "telegram", userId: "77" }
}
const minute = 60_000

const make = (schedule: string) =>
  Effect.flatMap(Jobs, (jobs) => jobs.create({ name: "watched", schedule, prompt: "look" }, maker))

/** A job that is rarely due, run by hand: each hour of the test clock is thousands of wakings of all that lives in a gateway. */
const rare = Effect.zipRight(
  make("every 6h"),
  Effect.flatMap(Jobs, (jobs) => jobs.runNow("watched", null))
)

const rows = (sql: string) =>
  Effect.flatMap(Database, (database) => database.read("test", (client) => client.unsafe<Record<string, unknown>>(sql)))

/** What was written to the disk and handed from fiber to fiber is done in real time: the test clock stands still for it. */
const inTime = TestServices.provideLive(Effect.sleep("4 millis"))
const settledWithin = (looks: number) =>
  inTime.pipe(
    Effect.zipRight(
      rows("SELECT 1 FROM occurrences WHERE finished_at IS NULL UNION ALL SELECT 1 FROM wakes WHERE kind = 'manual'")
    ),
    Effect.filterOrFail(
      (open) => open.length === 0,
      () => "a run is still open"
    ),
    Effect.retry({ schedule: Schedule.spaced("5 millis"), times: looks }),
    TestServices.provideLive
  )
/** Far longer than it ever takes, on a machine that does other things as well. */
const settled = settledWithin(2_000)

/** Minute by minute, each with the time that its work takes. */
const minutes = (count: number) =>
  Effect.forEach(Array.from({ length: count }), () => Effect.zipRight(TestClock.adjust(minute), settled), {
    discard: true
  })
/** The same where a run goes on all the while. */
const minutesOfWork = (count: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    () => Effect.zipRight(TestClock.adjust(minute), Effect.option(settledWithin(20))),
    { discard: true }
  )

/** Its silence is counted from then on. */
const asked = Effect.flatMap(Testing.ScriptedModel, ({ requests }) =>
  Effect.repeat(Effect.zipRight(inTime, requests), { until: (all) => all.length > 0, times: 2_000 })
)

const runs = Effect.map(rows("SELECT at, kind, state FROM occurrences ORDER BY id"), (all) =>
  all.map(({ at, kind, state }) => `${Math.floor(Number(at) / minute)} ${String(kind)} ${String(state)}`)
)
const texts = Effect.flatMap(Testing.AdapterInMemory, ({ only }) =>
  Effect.map(only.sent.all, (all) => all.map(({ text }) => text))
)

const unreachable = () => Testing.fail("transport")

describe("a run that reached no model", () => {
  const after = (count: number) => rare.pipe(Effect.zipRight(settled), Effect.zipRight(minutes(count)))

  it.scoped("is tried again after 5, 15 and 30 minutes, in silence, and told of when that was in vain", () =>
    Effect.gen(function* () {
      yield* after(54)
      const all = (yield* runs).map((run) => run.split(" "))
      expect(all.map(([, kind, state]) => `${kind} ${state}`)).toEqual([
        "manual error",
        "retry error",
        "retry error",
        "retry error"
      ])
      // A run ends in the minute in which it begins, or in the next look at the clock.
      const at = all.map(([minute]) => Number(minute))
      for (const [index, wait] of [5, 15, 30].entries()) {
        const waited = (at[index + 1] ?? 0) - (at[index] ?? 0)
        expect([wait, wait + 1]).toContain(waited)
      }
      const told = yield* texts
      expect(told).toHaveLength(1)
      expect(told[0]).toContain('"watched"')
      expect(yield* rows("SELECT 1 FROM wakes")).toEqual([])
    }).pipe(Effect.provide(Testing.gateway({ model: unreachable })))
  )

  it.scoped("says when it is tried again, as long as it is", () =>
    Effect.gen(function* () {
      yield* after(0)
      const jobs = yield* Jobs
      const again = Effect.map(jobs.find("watched"), ({ notes }) =>
        notes.filter((note) => note.includes("tried again"))
      )
      expect(yield* again).toEqual([expect.stringMatching(/reached no model and is tried again at .*00:0[56]/)])
      yield* (yield* Database).write(
        "test",
        Effect.flatMap(Transaction, (sql) => sql`UPDATE wakes SET at = 'never'`)
      )
      expect(yield* again).toEqual([])
    }).pipe(Effect.provide(Testing.gateway({ model: unreachable })))
  )

  it.scoped("is told of at once and not tried again where that is off", () =>
    Effect.gen(function* () {
      yield* after(6)
      expect(yield* runs).toEqual(["0 manual error"])
      expect(yield* texts).toHaveLength(1)
    }).pipe(Effect.provide(Testing.gateway({ model: unreachable, settings: { cron: { retryUnreachable: false } } })))
  )

  it.scoped("is not tried again where a model had begun to speak: it may have acted", () =>
    Effect.gen(function* () {
      yield* after(6)
      expect(yield* runs).toEqual(["0 manual error"])
      expect(yield* texts).toHaveLength(1)
    }).pipe(
      Effect.provide(Testing.gateway({ model: () => Testing.fail("transport", [{ _tag: "Text", delta: "I will" }]) }))
    )
  )
})

describe("how hard a job's model thinks", () => {
  it.scoped("is what the job says, and nothing where it says nothing", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* jobs.create(
        { name: "thinker", schedule: "every 6h", prompt: "think", reasoningEffort: "xhigh", deliver: "local" },
        maker
      )
      yield* jobs.runNow("thinker", null)
      yield* settled
      yield* rare
      yield* settled
      const { requests } = yield* Testing.ScriptedModel
      const [hard, plain] = yield* requests
      expect(hard?.effort).toBe("xhigh")
      expect(plain).not.toHaveProperty("effort")
      if (hard === undefined || plain === undefined) return
      const wire = (request: typeof hard) =>
        JSON.stringify([
          OpenAi.payloadOf(request, "gpt-5"),
          bodyOf(request, "gpt-5", { stream: true, streamOptions: true })
        ])
      expect(wire(hard)).toMatch(/"reasoning":\{"effort":"high"\}.*reasoning_effort\\":\\"high/)
      expect(wire(plain)).not.toMatch(/"reasoning|reasoning_effort/)
    }).pipe(Effect.provide(Testing.gateway({ model: () => Testing.say("[SILENT]") })))
  )
})

describe("a provider's limit", () => {
  const limited = (retryAfterMillis: number | null) => () =>
    Testing.fail(
      new ModelError({ reason: "rate_limit", provider: "scripted", detail: "full", status: 429, retryAfterMillis })
    )

  it.scoped("holds the job back until it lifts, said once, and then it runs", () => {
    let asked = 0
    return Effect.gen(function* () {
      yield* make("every 2m")
      yield* settled
      yield* minutes(12)
      expect(asked).toBe(3)
      expect(yield* runs).toEqual([
        "2 on_time error",
        "4 late skipped",
        "6 late skipped",
        "8 late skipped",
        "10 on_time ok",
        "12 on_time ok"
      ])
      const told = yield* texts
      expect(told.filter((text) => text.includes("It waits until 1970-01-01 00:09"))).toHaveLength(1)
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: () => (asked++ === 0 ? limited(7 * minute)() : Testing.say("[SILENT]"))
        })
      )
    )
  })

  it.scoped("is over with a run that went well, and the next instants are those that will run", () => {
    let asked = 0
    return Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* make("every 2m")
      yield* settled
      yield* minutes(3)
      const held = yield* jobs.find("watched")
      expect(held.next.map((at) => at / minute)).toEqual([62, 64, 66])
      expect([held.job.nextRunAt, held.notes.join()]).toEqual([62 * minute, expect.stringContaining("holds it back")])
      yield* jobs.runNow("watched", null)
      yield* settled
      yield* minutes(2)
      const lifted = yield* jobs.find("watched")
      expect([lifted.next[0], lifted.notes]).toEqual([6 * minute, []])
      yield* minutes(2)
      expect((yield* runs).filter((run) => !run.includes("manual"))).toEqual([
        "2 on_time error",
        "4 on_time ok",
        "6 on_time ok"
      ])
    }).pipe(
      Effect.provide(
        Testing.gateway({ model: () => (asked++ === 0 ? limited(60 * minute - 1_000)() : Testing.say("all is well")) })
      )
    )
  })

  it.scoped("of one provider holds nothing back with another", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      yield* make("every 2m")
      yield* settled
      yield* minutes(3)
      expect((yield* jobs.find("watched")).notes).toHaveLength(1)
      expect((yield* jobs.edit("watched", { provider: "offline" })).next[0]).toBe(4 * minute)
      yield* minutes(2)
      expect((yield* runs).at(-1)).not.toContain("skipped")
    }).pipe(Effect.provide(Testing.gateway({ model: limited(60 * minute) })))
  )

  it.scoped("that does not say when it lifts holds nothing back", () =>
    Effect.gen(function* () {
      yield* make("every 2m")
      yield* settled
      yield* minutes(6)
      expect(yield* runs).toEqual(["2 on_time error", "4 on_time error", "6 on_time error"])
    }).pipe(Effect.provide(Testing.gateway({ model: limited(null) })))
  )

  it.scoped("that lifts before a rare job is due again lets it run a minute after", () => {
    let asked = 0
    return Effect.gen(function* () {
      yield* rare
      yield* settled
      yield* minutes(25)
      expect(yield* runs).toEqual(["0 manual error", "21 retry ok"])
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: () => (asked++ === 0 ? limited(20 * minute)() : Testing.say("fine again"))
        })
      )
    )
  })
})

describe("a job that is not set up", () => {
  const pin = (provider: string | null) =>
    Effect.flatMap(Database, (database) =>
      database.write(
        "test",
        Effect.flatMap(Transaction, (sql) =>
          Effect.asVoid(sql`UPDATE jobs SET definition = json_set(definition, '$.provider', ${provider})`)
        )
      )
    )
  const alerts = Effect.map(texts, (all) => all.filter((text) => text.includes("cannot run")))

  it.scoped("is told of once, asks no model, and is told of again after it has run well", () =>
    Effect.gen(function* () {
      yield* make("every 1m")
      yield* pin("nowhere")
      yield* settled
      for (let count = 0; count < 3; count++) yield* minutes(1)
      expect(yield* alerts).toHaveLength(1)
      expect((yield* alerts)[0]).toContain("nowhere")
      const { requests } = yield* Testing.ScriptedModel
      expect(yield* requests).toEqual([])
      const jobs = yield* Jobs
      expect((yield* jobs.find("watched")).job).toMatchObject({ lastStatus: "blocked_config", failureStreak: 0 })
      yield* pin(null)
      yield* minutes(1)
      expect((yield* jobs.find("watched")).job).toMatchObject({ lastStatus: "ok" })
      yield* pin("nowhere")
      yield* minutes(1)
      expect(yield* alerts).toHaveLength(2)
    }).pipe(Effect.provide(Testing.gateway({ model: () => Testing.say("[SILENT]") })))
  )

  it.scoped("runs on the configured model where `cron.preflight` is off", () =>
    Effect.gen(function* () {
      yield* make("every 1m")
      yield* pin("nowhere")
      yield* settled
      yield* minutes(1)
      expect(yield* alerts).toEqual([])
      expect(yield* runs).toEqual(["1 on_time ok"])
    }).pipe(
      Effect.provide(
        Testing.gateway({ model: () => Testing.say("[SILENT]"), settings: { cron: { preflight: false } } })
      )
    )
  )
})

describe("a run in which nothing happens", () => {
  const watched = { cron: { inactivitySeconds: 120 } }

  it.scoped("is ended after the limit, and what it last did is said", () =>
    Effect.gen(function* () {
      yield* rare
      yield* minutesOfWork(1)
      expect(yield* runs).toEqual(["0 manual running"])
      yield* minutesOfWork(2)
      expect(yield* runs).toEqual(["0 manual error"])
      expect((yield* texts).join("\n")).toContain("nothing happened for 120 s")
    }).pipe(Effect.provide(Testing.gateway({ model: () => Testing.hang(), settings: watched })))
  )

  it.scoped("is not ended while words come, however long it takes", () =>
    Effect.gen(function* () {
      yield* rare
      yield* asked
      yield* minutesOfWork(8)
      expect(yield* runs).toEqual(["0 manual ok"])
      expect((yield* texts).join("\n")).toContain("one two three four")
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: () => Testing.saySlowly("90 seconds", "one ", "two ", "three ", "four"),
          settings: watched
        })
      )
    )
  )

  it.scoped("goes on where there is no limit", () =>
    Effect.gen(function* () {
      yield* rare
      yield* minutesOfWork(4)
      expect(yield* runs).toEqual(["0 manual running"])
    }).pipe(
      Effect.provide(Testing.gateway({ model: () => Testing.hang(), settings: { cron: { inactivitySeconds: 0 } } }))
    )
  )
})
