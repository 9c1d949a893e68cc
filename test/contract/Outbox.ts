/** What every layer that provides `Outbox` and `HomeChannels` does. */
import { assert, describe, layer as suiteLayer } from "@effect/vitest"
import { Effect, Exit, type Layer, TestClock } from "effect"
import { address } from "../../src/fibers/DeliveryOrigin.js"
import { HomeChannels } from "../../src/services/delivery/HomeChannels.js"
import { type NewDelivery, Outbox } from "../../src/services/delivery/Outbox.js"
import { Database, type Transaction } from "../../src/services/state/Database.js"

const write = <A, E>(step: Effect.Effect<A, E, Transaction>) =>
  Effect.flatMap(Database, (database) => database.write("test", step))

const delivery = (cause: string, facts: Partial<NewDelivery> = {}): NewDelivery => ({
  cause: { kind: "turn", id: cause },
  address: address({ platform: "telegram", chatId: "1", anchor: "m1", scopeId: "s" }),
  text: "hi",
  part: 0,
  parts: 1,
  transcriptId: 7,
  via: "origin",
  state: "sending",
  replyToPerson: true,
  resendOf: null,
  turnId: "t",
  sessionKey: "k",
  isCron: false,
  ...facts
})

export const suite = (name: string, stores: Layer.Layer<Database | Outbox | HomeChannels>) =>
  describe(`Outbox ${name}`, () => {
    suiteLayer(stores)((it) => {
      it.effect("rows come back as they were asked for, in order", () =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          const wanted = [0, 1, 2].map((part) =>
            delivery("kept", { part, parts: 3, text: `${part}`, isCron: part === 1 })
          )
          const rows = yield* write(outbox.insert(wanted))
          for (const [index, row] of rows.entries()) {
            const { address: place, cause, ...rest } = wanted[index]!
            assert.deepInclude({ ...row }, rest)
            assert.deepStrictEqual({ ...row.address }, { ...place })
            assert.deepStrictEqual(row.cause, cause)
            assert.strictEqual(row.attempts, 1)
          }
          assert.deepStrictEqual(yield* outbox.ofCause("turn", "kept"), rows)
          assert.deepStrictEqual(yield* outbox.get(rows[1]!.id), rows[1])
          assert.isNull(yield* outbox.get("none"))
          assert.deepStrictEqual(yield* write(outbox.insert([])), [])
        })
      )

      it.effect("says which chats wait, and for what, each copy in the place of its original", () =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          const waiting = (cause: string, chatId: string) =>
            delivery(cause, { state: "pending", address: address({ platform: "waits", chatId }) })
          const rows = yield* write(
            outbox.insert(["w1", "w2", "w3"].map((cause, n) => waiting(cause, n === 1 ? "a" : "b")))
          )
          const [first, second, third] = rows
          yield* write(outbox.settle(first!.id, { state: "unknown", reason: "?" }))
          yield* write(outbox.settle(second!.id, { state: "pending", notBefore: 7, reason: "flood" }))
          yield* write(outbox.settle(third!.id, { state: "pending", notBefore: 9, reason: "flood" }))
          const [copy] = yield* write(outbox.insert([{ ...waiting("w1", "b"), resendOf: first!.id }]))
          const chats = (yield* outbox.waitingChats).filter(({ platform }) => platform === "waits")
          assert.deepStrictEqual(
            chats.map(({ chatId, notBefore }) => [chatId, notBefore]),
            [
              ["b", 9],
              ["a", 7]
            ]
          )
          const inB = yield* outbox.waitingIn({ platform: "waits", chatId: "b" }, 10)
          assert.deepStrictEqual(
            inB.map(({ id }) => id),
            [copy!.id, third!.id]
          )
          assert.lengthOf(yield* outbox.waitingIn({ platform: "waits", chatId: "b" }, 1), 1)
          for (const row of [copy, second, third])
            yield* write(outbox.settle(row!.id, { state: "suppressed", reason: "done" }))
        })
      )

      it.effect("a message of thousands of parts keeps their order", () =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          const parts = 2_600
          const wanted = Array.from({ length: parts }, (_, part) => delivery("long", { part, parts }))
          const rows = yield* write(outbox.insert(wanted))
          assert.deepStrictEqual(
            rows.map((row) => row.part),
            wanted.map((one) => one.part)
          )
          assert.deepStrictEqual(yield* write(outbox.insert(wanted.slice(0, 3))), rows.slice(0, 3))
        })
      )

      it.effect("one row for (cause, target, part), and one that was sent again", () =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          const [first] = yield* write(outbox.insert([delivery("once")]))
          const [again, other] = yield* write(
            outbox.insert([
              delivery("once", { text: "changed" }),
              delivery("once", { address: address({ platform: "telegram", chatId: "1", threadId: "9" }) })
            ])
          )
          assert.deepStrictEqual(again, first)
          assert.notStrictEqual(other?.id, first?.id)
          yield* write(outbox.settle(first!.id, { state: "unknown", reason: "no answer" }))
          const [resent] = yield* write(outbox.insert([delivery("once", { resendOf: first!.id })]))
          assert.strictEqual(resent?.resendOf, first?.id)
          const [third] = yield* write(outbox.insert([delivery("once", { resendOf: resent!.id })]))
          assert.strictEqual(third?.id, resent?.id)
          assert.strictEqual((yield* outbox.ofCause("turn", "once")).length, 3)
        })
      )

      it.effect("a state for each thing that can happen", () =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          const [row] = yield* write(outbox.insert([delivery("states", { state: "pending" })]))
          const now = () => outbox.get(row!.id)
          assert.deepInclude({ ...(yield* now()) }, { state: "pending", attempts: 0, settledAt: null })
          yield* write(outbox.markSending(row!.id))
          yield* write(outbox.noteMessage(row!.id, "p1"))
          assert.deepInclude({ ...(yield* now()) }, { state: "sending", attempts: 1, platformMessageId: "p1" })
          yield* write(outbox.settle(row!.id, { state: "pending", notBefore: 99, reason: "flood" }))
          assert.deepInclude(
            { ...(yield* now()) },
            { state: "pending", notBefore: 99, reason: "flood", settledAt: null }
          )
          yield* write(outbox.markSending(row!.id))
          assert.deepInclude({ ...(yield* now()) }, { attempts: 2, notBefore: null, reason: null })
          yield* TestClock.adjust(1_000)
          yield* write(outbox.settle(row!.id, { state: "unknown", reason: "timeout" }))
          assert.deepInclude({ ...(yield* now()) }, { state: "unknown", reason: "timeout" })
          assert.isNotNull((yield* now())?.settledAt)
          yield* write(outbox.settle(row!.id, { state: "sent", platformMessageId: null, note: "cut" }))
          yield* write(outbox.settle(row!.id, { state: "failed", reason: "late" }))
          yield* write(outbox.markSending(row!.id))
          assert.deepInclude({ ...(yield* now()) }, { state: "sent", platformMessageId: "p1", reason: "cut" })
        })
      )

      it.effect("a streamed reply's row becomes the answer's", () =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          const [streamed] = yield* write(
            outbox.insert([delivery("stream", { part: 0, text: "so far", transcriptId: null, replyToPerson: false })])
          )
          yield* write(outbox.noteMessage(streamed!.id, "p9"))
          const row = yield* write(
            outbox.become(streamed!.id, delivery("answer", { part: 0, parts: 2, text: "whole", transcriptId: 5 }))
          )
          assert.deepInclude(
            { ...row },
            {
              id: streamed!.id,
              text: "whole",
              parts: 2,
              transcriptId: 5,
              platformMessageId: "p9",
              replyToPerson: true,
              state: "sending",
              createdAt: streamed!.createdAt
            }
          )
          assert.deepStrictEqual(yield* outbox.ofCause("turn", "stream"), [])
          assert.deepStrictEqual(yield* outbox.ofCause("turn", "answer"), [row])
          assert.isTrue(Exit.isFailure(yield* Effect.exit(write(outbox.become("none", delivery("x"))))))
        })
      )

      it.effect("lists by state, oldest first for work and newest first for people", () =>
        Effect.gen(function* () {
          const outbox = yield* Outbox
          const rows = yield* write(outbox.insert(["l1", "l2", "l3", "l4"].map((cause) => delivery(cause))))
          const [a, b, c] = rows.map((row) => row.id)
          yield* write(outbox.settle(a!, { state: "sent", platformMessageId: "1", note: null }))
          yield* write(outbox.settle(b!, { state: "failed", reason: "x" }))
          yield* write(outbox.settle(c!, { state: "suppressed", reason: "x" }))
          const mine = new Set(rows.map((row) => row.id))
          const causes = (found: ReadonlyArray<{ readonly id: string; readonly cause: { readonly id: string } }>) =>
            found.filter((row) => mine.has(row.id)).map((row) => row.cause.id)
          assert.deepStrictEqual(causes(yield* outbox.inState(["failed", "suppressed"], 100)), ["l2", "l3"])
          assert.deepStrictEqual(causes(yield* outbox.inState(["sent", "failed"], 100)), ["l1", "l2"])
          assert.deepStrictEqual(yield* outbox.inState([], 100), [])
          assert.strictEqual((yield* outbox.inState(["sending"], 1)).length, 1)
          assert.deepStrictEqual(causes(yield* outbox.list({ limit: 100 })), ["l4", "l3", "l2", "l1"])
          assert.deepStrictEqual(causes(yield* outbox.list({ limit: 100, state: "failed" })), ["l2"])
          assert.deepStrictEqual(causes(yield* outbox.list({ limit: 100, state: "sent" })), ["l1"])
        })
      )

      it.effect("a home channel is what was set, else what is configured", () =>
        Effect.gen(function* () {
          const homes = yield* HomeChannels
          assert.strictEqual((yield* homes.get("telegram"))?.chatId, "configured")
          assert.isNull(yield* homes.get("slack"))
          yield* homes.set(address({ platform: "telegram", chatId: "2", threadId: "3", scopeId: "s", anchor: "m" }))
          yield* homes.set(address({ platform: "slack", chatId: "4" }))
          assert.deepStrictEqual(
            yield* homes.get("telegram"),
            address({ platform: "telegram", chatId: "2", threadId: "3", scopeId: "s" })
          )
          assert.deepStrictEqual((yield* homes.all).map((home) => `${home.platform}:${home.chatId}`).toSorted(), [
            "slack:4",
            "telegram:2"
          ])
        })
      )
    })
  })
