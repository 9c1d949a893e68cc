import { describe, expect, it } from "@effect/vitest"
import { Clock, Effect, Fiber, TestClock } from "effect"
import * as Helpers from "../../../src/layers/delegation/Helpers.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { activity } from "../support/hands.js"

const about = (id: string, background: boolean, parentTurnId = "t") => ({
  delegationId: id,
  goal: id,
  turnId: `turn ${id}`,
  parentTurnId,
  sessionKey: "k",
  role: "leaf" as const,
  depth: 1,
  background,
  startedAt: 0
})

const acts = (id: string, tag: "tool.started" | "tool.settled") =>
  Effect.gen(function* () {
    const place = { sessionKey: "", sessionId: "", turnId: `turn ${id}`, at: yield* Clock.currentTimeMillis }
    const call = { callId: "c", tool: "terminal", preview: "make" }
    yield* (yield* Activity).publish(
      tag === "tool.started" ? { _tag: tag, ...place, ...call } : { _tag: tag, ...place, ...call, ok: true }
    )
  })

describe("a silent helper", () => {
  it.scoped("in the background is given up, later in a tool; its helpers' progress is its own", () =>
    Effect.gen(function* () {
      const helpers = yield* Helpers.make
      const parent = yield* helpers.add(about("a", true), "g")
      yield* helpers.add(about("b", false, "turn a"), null)
      const end = yield* Effect.fork(Helpers.silence(parent, 0))
      yield* TestClock.adjust("9 minutes")
      yield* acts("b", "tool.started")
      yield* TestClock.adjust("9 minutes")
      expect(yield* Fiber.poll(end)).toMatchObject({ _tag: "None" })
      yield* acts("a", "tool.started")
      yield* TestClock.adjust("20 minutes")
      expect(yield* Fiber.poll(end)).toMatchObject({ _tag: "None" })
      expect(Helpers.view(parent).lastDoing).toBe("terminal make")
      yield* acts("a", "tool.settled")
      yield* TestClock.adjust("10 minutes")
      expect(yield* Fiber.join(end)).toBe("stalled")
    }).pipe(Effect.provide(activity))
  )

  it.scoped("in a call is its parent's to wait for, unless the owner set a limit", () =>
    Effect.gen(function* () {
      const helpers = yield* Helpers.make
      const inline = yield* helpers.add(about("a", false), null)
      const never = yield* Effect.fork(Helpers.silence(inline, 0))
      const limited = yield* Effect.fork(Helpers.silence(inline, 60))
      yield* TestClock.adjust("59 seconds")
      expect(yield* Fiber.poll(limited)).toMatchObject({ _tag: "None" })
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.join(limited)).toBe("timeout")
      yield* TestClock.adjust("10 hours")
      expect(yield* Fiber.poll(never)).toMatchObject({ _tag: "None" })
    }).pipe(Effect.provide(activity))
  )
})
