/** `cronjob` (cron-delivery.md 5.1): from the model's arguments to the job in the database. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Layer, TestClock } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ToolRegistryLayer from "../../../src/layers/agent/ToolRegistry.js"
import * as Bell from "../../../src/layers/schedule/Bell.js"
import * as JobDesk from "../../../src/layers/schedule/JobDesk.js"
import * as JobsLayer from "../../../src/layers/schedule/Jobs.js"
import * as GatewayAddress from "../../../src/layers/sqlite/GatewayAddress.js"
import * as Incidents from "../../../src/layers/sqlite/Incidents.js"
import * as Notepad from "../../../src/layers/sqlite/Notepad.js"
import * as Occurrences from "../../../src/layers/sqlite/Occurrences.js"
import * as Outbox from "../../../src/layers/sqlite/Outbox.js"
import * as cronjob from "../../../src/layers/tools/cronjob.js"
import { ToolRegistry } from "../../../src/services/agent/Toolbox.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { at, turn } from "../delivery/support.js"
import { edges, stores } from "../schedule/support.js"
import { redactor } from "../support/hands.js"

const noon = Date.UTC(2026, 10, 29, 12)

const kit = cronjob.layer.pipe(
  Layer.provideMerge(JobDesk.layer),
  Layer.provideMerge(JobsLayer.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      Bell.layer,
      Occurrences.layer,
      Incidents.layer,
      Notepad.layer,
      GatewayAddress.layer,
      Outbox.layer,
      ToolRegistryLayer.layer,
      redactor
    )
  ),
  Layer.provideMerge(stores),
  Layer.provideMerge(edges())
)

const chat = turn("-100", { origin: DeliveryOrigin.live(at("-100", "7")) })

interface Answer {
  readonly success: boolean
  readonly code?: string
  readonly error?: string
  readonly job?: Record<string, unknown> & { readonly id: string }
  readonly jobs?: ReadonlyArray<Record<string, unknown>>
  readonly notes?: ReadonlyArray<string>
}

const call = (args: object, as: Turn.Turn = chat) =>
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    const [tool] = yield* registry.all
    const called = yield* Effect.either(
      Turn.enter(as)(
        tool?.call(JSON.stringify(args), { callId: "c1", waiting: Effect.void, started: Effect.void }) ??
          Effect.dieMessage("no tool")
      )
    )
    if (Either.isRight(called)) return JSON.parse(called.right) as Answer
    return called.left._tag === "ToolFailure"
      ? (JSON.parse(called.left.text) as Answer)
      : { success: false, code: "arguments", error: called.left.message }
  })

describe("cronjob", () => {
  it.effect("makes a job for the chat that asks, and answers with what comes next", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(noon)
      const made = yield* call({ action: "create", schedule: "weekdays at 9am", prompt: "say: plan", name: "plan" })
      expect(made).toMatchObject({
        success: true,
        job: {
          name: "plan",
          words: "at 09:00, Monday through Friday",
          deliver: "origin",
          repeat: "forever",
          state: "scheduled"
        }
      })
      expect(made.job?.["next"]).toHaveLength(3)
      const { job } = yield* Effect.flatMap(Jobs, (jobs) => jobs.find("plan"))
      expect(job.origin).toMatchObject({ platform: "telegram", chatId: "-100", threadId: "7" })
      // Who is reminded of the same thing twice means two reminders.
      const again = yield* call({ action: "create", schedule: "30m", prompt: "say: plan", name: "plan" })
      expect(again.job).toMatchObject({ name: "plan (2)", repeat: "0/1" })
      expect((yield* call({ action: "list" })).jobs?.map((each) => each["name"])).toEqual(["plan (2)", "plan"])
    }).pipe(Effect.provide(kit))
  )

  it.effect("changes, clears, pauses, runs and removes; never guesses which", () =>
    Effect.gen(function* () {
      yield* call({
        action: "create",
        schedule: "every 2h",
        prompt: "look",
        name: "news",
        monitor: "https://example.org"
      })
      const changed = yield* call({
        action: "update",
        job_id: "news",
        prompt: "look closer",
        monitor: "",
        continuity: true
      })
      expect(changed.success).toBe(true)
      const shown = yield* call({ action: "show", job_id: "news" })
      expect(shown.job).toMatchObject({ prompt: "look closer", context_from: ["self"] })
      expect(shown.job).not.toHaveProperty("monitor")
      expect((yield* call({ action: "update", job_id: "news", name: "" })).job).toMatchObject({ name: "news" })
      expect((yield* call({ action: "pause", job_id: "news", reason: "holiday" })).job).toMatchObject({
        state: "paused",
        state_reason: "holiday"
      })
      expect((yield* call({ action: "resume", job_id: "news" })).job).toMatchObject({ state: "scheduled" })
      expect((yield* call({ action: "run_now", job_id: "news", prompt: "only the sports" })).success).toBe(true)
      expect(yield* call({ action: "remove", job_id: "new" })).toMatchObject({ success: false, code: "JobNotFound" })
      expect(yield* call({ action: "remove" })).toMatchObject({ success: false, code: "job_missing" })
      expect((yield* call({ action: "remove", job_id: "news" })).success).toBe(true)
      expect((yield* call({ action: "list" })).jobs).toEqual([])
    }).pipe(Effect.provide(kit))
  )

  it.effect("says what is wrong, and stores nothing", () =>
    Effect.gen(function* () {
      expect(yield* call({ action: "create", schedule: "61 * * * *", prompt: "x" })).toMatchObject({
        code: "ScheduleInvalid",
        error: 'schedule.minute "61": the minute must be 0 to 59'
      })
      expect(yield* call({ action: "create", prompt: "x" })).toMatchObject({ code: "ScheduleInvalid" })
      expect(yield* call({ action: "create", schedule: "1h" })).toMatchObject({ code: "JobInvalid" })
      expect(yield* call({ action: "dance" })).toMatchObject({ code: "arguments" })
      expect(yield* call({ action: "create", schedule: "1h", prompt: "x", model: "big" })).toMatchObject({
        code: "arguments"
      })
      expect((yield* call({ action: "list", all: true })).jobs).toEqual([])
    }).pipe(Effect.provide(kit))
  )

  it.effect("is refused to a scheduled run, which may look", () =>
    Effect.gen(function* () {
      yield* call({ action: "create", schedule: "1h", prompt: "x", name: "one" })
      const run = turn("-100", {
        marker: CronMarker.cron({ job: "0123456789ab", run: "run_1" }),
        origin: DeliveryOrigin.targets([at("-100")])
      })
      for (const args of [
        { action: "create", schedule: "1h", prompt: "y" },
        { action: "update", job_id: "one", prompt: "y" },
        { action: "remove", job_id: "one" }
      ])
        expect(yield* call(args, run)).toMatchObject({ success: false, code: "JobRefused" })
      expect((yield* call({ action: "list" }, run)).jobs).toHaveLength(1)
    }).pipe(Effect.provide(kit))
  )

  it.effect("keeps the output here where there is no chat, and says so", () =>
    Effect.gen(function* () {
      const made = yield* call(
        { action: "create", schedule: "1h", prompt: "x" },
        turn("-1", { origin: DeliveryOrigin.cleared })
      )
      expect(made.job).toMatchObject({ deliver: "local" })
      expect(made.notes?.join(" ")).toMatch(/kept in this home.*no gateway runs/)
    }).pipe(Effect.provide(kit))
  )
})
