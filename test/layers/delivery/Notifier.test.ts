/** What is told once is told when somebody may hear it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { HomeChannels } from "../../../src/services/delivery/HomeChannels.js"
import * as Testing from "../../../src/testing/index.js"

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)

const say = (text: string) =>
  Effect.gen(function* () {
    const adapter = yield* only
    yield* adapter.say(text)
    yield* adapter.sent.waitFor(text, (sent) => sent.text.includes(`you said: ${text}`), { seconds: 20 })
  })

const hints = Effect.gen(function* () {
  return (yield* (yield* only).sent.all).filter(({ text }) => text.startsWith("No home channel is set")).length
})

const quiet = { from: 0, until: 60 }
const model = (request: ModelRequest) => Testing.say(`you said: ${request.messages.at(-1)?.text ?? ""}`)

const gateway = (notices: { readonly hints: boolean; readonly quietHours: typeof quiet | null }) =>
  Effect.provide(Testing.gateway({ model, settings: { timezone: "UTC", notices } }))

describe("a hint", () => {
  it.scoped("that would come in quiet hours is kept for later, and told once", () =>
    Effect.gen(function* () {
      yield* say("one")
      yield* say("two")
      assert.strictEqual(yield* hints, 0)
      yield* TestClock.adjust("1 minutes")
      yield* say("three")
      assert.strictEqual(yield* hints, 1)
      yield* say("four")
      assert.strictEqual(yield* hints, 1)
    }).pipe(gateway({ hints: true, quietHours: quiet }))
  )

  it.scoped("is told at once where it is not quiet", () =>
    Effect.gen(function* () {
      yield* say("one")
      assert.strictEqual(yield* hints, 1)
    }).pipe(gateway({ hints: true, quietHours: null }))
  )

  it.scoped("is not told where hints are off", () =>
    Effect.gen(function* () {
      yield* say("one")
      assert.strictEqual(yield* hints, 0)
    }).pipe(gateway({ hints: false, quietHours: null }))
  )

  it.scoped("that nobody needs is never told", () =>
    Effect.gen(function* () {
      const { dm } = (yield* only).profile
      yield* (yield* HomeChannels).set({ ...dm(1), platform: "telegram", anchor: null })
      yield* say("one")
      assert.strictEqual(yield* hints, 0)
    }).pipe(gateway({ hints: true, quietHours: null }))
  )
})
