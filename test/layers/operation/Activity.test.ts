import { assert, describe, it } from "@effect/vitest"
import { Chunk, Effect, Fiber, Stream } from "effect"
import * as ActivityLayer from "../../../src/layers/operation/Activity.js"
import { Activity, type ActivityEvent } from "../../../src/services/operation/Activity.js"

const numbered = (n: number, sessionId = "s"): ActivityEvent => ({
  _tag: "session.changed",
  at: n,
  sessionKey: "k",
  sessionId
})

const publish = (from: number, to: number, sessionId?: string) =>
  Effect.flatMap(Activity, (activity) =>
    Effect.forEach(
      Array.from({ length: to - from }, (_, index) => from + index),
      (n) => activity.publish(numbered(n, sessionId)),
      { discard: true }
    )
  )

const ats = (events: Iterable<ActivityEvent>): ReadonlyArray<number> => Array.from(events, (event) => event.at)

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

describe("Activity", () => {
  it.scoped("tells each subscriber everything from its subscription on, in order", () =>
    Effect.gen(function* () {
      const activity = yield* Activity
      yield* publish(0, 5)
      const first = yield* activity.watch(() => true)
      const second = yield* activity.subscribe
      yield* publish(5, 10)
      assert.deepStrictEqual(ats(yield* first.take), range(5, 10))
      assert.deepStrictEqual(ats(yield* Stream.runCollect(Stream.take(second, 5))), range(5, 10))
    }).pipe(Effect.provide(ActivityLayer.layer))
  )

  it.scoped("never waits for a subscriber, and lets the oldest go at 1,024", () =>
    Effect.gen(function* () {
      const activity = yield* Activity
      const slow = yield* activity.watch(() => true)
      const full = yield* activity.watch((event) => event.at < ActivityLayer.capacity)
      yield* publish(0, 3_000)
      assert.deepStrictEqual(ats(yield* slow.take), range(3_000 - ActivityLayer.capacity, 3_000))
      assert.deepStrictEqual(ats(yield* full.take), range(0, ActivityLayer.capacity))
    }).pipe(Effect.provide(ActivityLayer.layer))
  )

  it.scoped("tells only what is wanted", () =>
    Effect.gen(function* () {
      const activity = yield* Activity
      const feed = yield* activity.watch((event) => "sessionId" in event && event.sessionId === "b")
      yield* publish(0, 2_000, "a")
      yield* publish(2_000, 2_003, "b")
      assert.deepStrictEqual(ats(yield* feed.take), range(2_000, 2_003))
    }).pipe(Effect.provide(ActivityLayer.layer))
  )

  it.scoped("wakes who waits", () =>
    Effect.gen(function* () {
      const activity = yield* Activity
      const feed = yield* activity.watch(() => true)
      const waiting = yield* Effect.fork(feed.take)
      yield* Effect.yieldNow()
      yield* publish(1, 2)
      assert.deepStrictEqual(ats(yield* Fiber.join(waiting)), [1])
    }).pipe(Effect.provide(ActivityLayer.layer))
  )

  it.effect("forgets a subscriber whose scope has closed, and ends its stream", () =>
    Effect.gen(function* () {
      const activity = yield* Activity
      let asked = 0
      const stream = yield* Effect.scoped(
        Effect.zipRight(
          activity.watch(() => {
            asked += 1
            return true
          }),
          activity.subscribe
        )
      )
      yield* publish(0, 10)
      assert.strictEqual(asked, 0)
      assert.strictEqual(Chunk.size(yield* Stream.runCollect(stream)), 0)
    }).pipe(Effect.provide(ActivityLayer.layer))
  )
})
