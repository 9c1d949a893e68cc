/** What every layer that provides `Pairing` does (gateway.md 3.2). */
import { assert, describe, layer as suiteLayer } from "@effect/vitest"
import { Effect, type Layer, TestClock } from "effect"
import { address } from "../../src/fibers/DeliveryOrigin.js"
import { Pairing, PairingRefused } from "../../src/services/conversation/Pairing.js"
import { Database } from "../../src/services/state/Database.js"

const chat = (platform: string, userId: string) => address({ platform, chatId: `chat of ${userId}` })

const offered = (platform: string, userId: string) =>
  Effect.gen(function* () {
    const offer = yield* Effect.flatMap(Pairing, (pairing) =>
      pairing.offer(chat(platform, userId), userId, `name of ${userId}`)
    )
    return offer._tag === "Offered" ? offer.code : yield* Effect.dieMessage(`limited: ${offer.tell}`)
  })

export const suite = (name: string, stores: Layer.Layer<Database | Pairing>) =>
  describe(`Pairing ${name}`, () => {
    suiteLayer(stores)((it) => {
      it.effect("a code lets its stranger in, once, however it is typed", () =>
        Effect.gen(function* () {
          const pairing = yield* Pairing
          const code = yield* offered("p1", "u1")
          assert.match(code, /^[A-HJ-NP-Z2-9]{8}$/)
          assert.isFalse(yield* pairing.isPaired("p1", "u1"))
          const user = yield* pairing.approve("p1", ` ${code.slice(0, 4).toLowerCase()}-${code.slice(4)} `)
          assert.deepInclude({ ...user }, { platform: "p1", userId: "u1", userName: "name of u1" })
          assert.isTrue(yield* pairing.isPaired("p1", "u1"))
          assert.isFalse(yield* pairing.isPaired("p2", "u1"))
          assert.instanceOf(yield* Effect.flip(pairing.approve("p1", code)), PairingRefused)
          assert.isTrue(yield* pairing.revoke("p1", "u1"))
          assert.isFalse(yield* pairing.revoke("p1", "u1"))
          assert.isFalse(yield* pairing.isPaired("p1", "u1"))
        })
      )

      it.effect("a code is of one platform and lasts an hour", () =>
        Effect.gen(function* () {
          const pairing = yield* Pairing
          const code = yield* offered("hour", "u1")
          assert.instanceOf(yield* Effect.flip(pairing.approve("elsewhere", code)), PairingRefused)
          yield* TestClock.adjust("59 minutes")
          assert.strictEqual((yield* pairing.list).pending.filter((one) => one.platform === "hour").length, 1)
          yield* TestClock.adjust("1 minute")
          assert.instanceOf(yield* Effect.flip(pairing.approve("hour", code)), PairingRefused)
          assert.strictEqual((yield* pairing.list).pending.filter((one) => one.platform === "hour").length, 0)
        })
      )

      it.effect("one request in ten minutes, and the stranger is told once that there is no other", () =>
        Effect.gen(function* () {
          const pairing = yield* Pairing
          const first = yield* offered("ten", "u1")
          assert.deepStrictEqual(yield* pairing.offer(chat("ten", "u1"), "u1", null), { _tag: "Limited", tell: true })
          assert.deepStrictEqual(yield* pairing.offer(chat("ten", "u1"), "u1", null), { _tag: "Limited", tell: false })
          yield* TestClock.adjust("10 minutes")
          const second = yield* offered("ten", "u1")
          assert.notStrictEqual(second, first)
          assert.instanceOf(yield* Effect.flip(pairing.approve("ten", first)), PairingRefused)
          assert.strictEqual((yield* pairing.approve("ten", second)).userId, "u1")
        })
      )

      it.effect("three strangers wait at most per platform", () =>
        Effect.gen(function* () {
          const pairing = yield* Pairing
          yield* Effect.forEach(["a", "b", "c"], (user) => offered("three", user))
          assert.deepStrictEqual(yield* pairing.offer(chat("three", "d"), "d", null), { _tag: "Limited", tell: true })
          assert.deepStrictEqual(yield* pairing.offer(chat("three", "d"), "d", null), { _tag: "Limited", tell: false })
          yield* offered("three-elsewhere", "d")
          yield* TestClock.adjust("61 minutes")
          yield* offered("three", "d")
        })
      )

      it.effect("five wrong codes lock approval for an hour, also for the right one", () =>
        Effect.gen(function* () {
          const pairing = yield* Pairing
          const code = yield* offered("lock", "u1")
          const wrong = Effect.flip(pairing.approve("lock", "AAAAAAAA"))
          yield* Effect.replicateEffect(wrong, 5)
          assert.include((yield* Effect.flip(pairing.approve("lock", code))).message, "locked")
          yield* TestClock.adjust("60 minutes")
          const again = yield* offered("lock", "u1")
          assert.strictEqual((yield* pairing.approve("lock", again)).userId, "u1")
        })
      )

      it.effect("what is stored is not the code", () =>
        Effect.gen(function* () {
          const code = yield* offered("secret", "u1")
          const db = yield* Database
          const rows = yield* db.read("test", (sql) => sql`SELECT * FROM pairing_requests WHERE platform = 'secret'`)
          assert.strictEqual(rows.length, 1)
          assert.notInclude(JSON.stringify(rows), code)
        })
      )
    })
  })
