/** When a chat is shown that somebody writes, under the test clock. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, TestClock } from "effect"
import { address } from "../../../src/fibers/DeliveryOrigin.js"
import * as GrowingReply from "../../../src/layers/conversation/GrowingReply.js"

const here = address({ platform: "chat", chatId: "1" })

/** A chat, and how often it was shown. */
const chat = Effect.gen(function* () {
  let times = 0
  const typing = yield* GrowingReply.makeTyping({ typing: () => Effect.sync(() => void (times += 1)) })
  const begins = yield* Effect.makeLatch(true)
  return { during: typing(here, begins.await), nowhere: typing(null, begins.await), begins, times: () => times }
})

describe("a sign that somebody writes", () => {
  it.scoped("is not given for an answer that is there within a second", () =>
    Effect.gen(function* () {
      const { during, times } = yield* chat
      const answer = yield* Effect.fork(during(Effect.as(Effect.sleep("900 millis"), "hello")))
      yield* TestClock.adjust("900 millis")
      expect(yield* Fiber.join(answer)).toBe("hello")
      yield* TestClock.adjust("1 minute")
      expect(times()).toBe(0)
    })
  )

  it.scoped("is given every two seconds from then on, until the end", () =>
    Effect.gen(function* () {
      const { during, times } = yield* chat
      const written = yield* Deferred.make<string>()
      const answer = yield* Effect.fork(during(Deferred.await(written)))
      yield* TestClock.adjust("1 second")
      expect(times()).toBe(1)
      yield* TestClock.adjust("4 seconds")
      expect(times()).toBe(3)
      yield* Deferred.succeed(written, "hello")
      expect(yield* Fiber.join(answer)).toBe("hello")
      yield* TestClock.adjust("1 minute")
      expect(times()).toBe(3)
    })
  )

  it.scoped("is not given before its turn may be seen", () =>
    Effect.gen(function* () {
      const { begins, during, times } = yield* chat
      yield* begins.close
      yield* Effect.fork(during(Effect.never))
      yield* TestClock.adjust("10 seconds")
      expect(times()).toBe(0)
      yield* begins.open
      yield* TestClock.adjust("1 millis")
      expect(times()).toBe(1)
    })
  )

  it.scoped("ends with a turn that fails or is interrupted", () =>
    Effect.gen(function* () {
      const { during, times } = yield* chat
      const failing = yield* Effect.fork(during(Effect.delay(Effect.fail("no"), "2 seconds")))
      const interrupted = yield* Effect.fork(during(Effect.never))
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.await(failing)).toEqual(Exit.fail("no"))
      yield* Fiber.interrupt(interrupted)
      const then = times()
      expect(then).toBe(2)
      yield* TestClock.adjust("1 minute")
      expect(times()).toBe(then)
    })
  )

  it.scoped("is given to no chat where there is none", () =>
    Effect.gen(function* () {
      const { nowhere, times } = yield* chat
      const answer = yield* Effect.fork(nowhere(Effect.sleep("1 minute")))
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(answer)
      expect(times()).toBe(0)
    })
  )
})
