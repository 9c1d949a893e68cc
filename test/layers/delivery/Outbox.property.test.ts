/**
 * Random messages, failures, crashes and restarts. Whatever happens: every row ends settled, what is settled is true,
 * nothing is sent twice but for the one marked copy, and a chat's messages arrive in the order in which they were asked for.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, FastCheck as fc, Logger, LogLevel, Scope, TestClock, TestContext } from "effect"
import { SendRefused, SendRetryable, SendUncertain } from "../../../src/services/adapter/Adapter.js"
import * as Notice from "../../../src/services/delivery/Notice.js"
import type { DeliveryRow } from "../../../src/services/delivery/Outbox.js"
import { scaled } from "../../scale.js"
import { at, durable, type Life, life, type Platform, platform, settle } from "./support.js"

const mark = Notice.replyRecovered().text
const chats = ["1", "2", "3"] as const
const moods = [
  "well",
  "unreachable",
  "flooded",
  "arrives and times out",
  "is lost and times out",
  "refuses",
  "refuses form",
  "hangs"
] as const
type Mood = (typeof moods)[number] | "arrives and lies"

type Step =
  | { readonly _tag: "Say"; readonly chat: string; readonly reply: boolean; readonly long: boolean }
  | { readonly _tag: "Mood"; readonly chat: string; readonly mood: Mood }
  | { readonly _tag: "Pass"; readonly seconds: number }
  | { readonly _tag: "Kill" }
  | { readonly _tag: "Stop" }

const chat = fc.constantFrom(...chats)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ _tag: fc.constant("Say" as const), chat, reply: fc.boolean(), long: fc.boolean() })
  },
  { weight: 4, arbitrary: fc.record({ _tag: fc.constant("Mood" as const), chat, mood: fc.constantFrom(...moods) }) },
  { weight: 3, arbitrary: fc.record({ _tag: fc.constant("Pass" as const), seconds: fc.integer({ min: 1, max: 90 }) }) },
  { weight: 1, arbitrary: fc.constant({ _tag: "Kill" as const }) },
  { weight: 1, arbitrary: fc.constant({ _tag: "Stop" as const }) }
)

const name = "telegram"
const moody = (): { readonly chat: Platform; readonly moods: Map<string, Mood> } => {
  const feelings = new Map<string, Mood>()
  const made = platform(name, { maxMessageLength: 300 })
  made.onSend = (message, arrives) => {
    switch (feelings.get(message.address.chatId) ?? "well") {
      case "well":
        return arrives
      case "unreachable":
        return Effect.fail(new SendRetryable({ platform: name, detail: "refused", retryAfterMillis: null }))
      case "arrives and lies":
        return Effect.zipRight(
          arrives,
          Effect.fail(new SendRetryable({ platform: name, detail: "refused", retryAfterMillis: null }))
        )
      case "flooded":
        return Effect.fail(new SendRetryable({ platform: name, detail: "flood", retryAfterMillis: 30_000 }))
      case "arrives and times out":
        return Effect.zipRight(arrives, Effect.fail(new SendUncertain({ platform: name, detail: "timeout" })))
      case "is lost and times out":
        return Effect.fail(new SendUncertain({ platform: name, detail: "timeout" }))
      case "refuses":
        return Effect.fail(new SendRefused({ platform: name, detail: "blocked", code: "forbidden" }))
      case "refuses form":
        return message.plain === true
          ? arrives
          : Effect.fail(new SendRefused({ platform: name, detail: "bad markup", code: "bad_request" }))
      case "hangs":
        return Effect.never
    }
  }
  return { chat: made, moods: feelings }
}

/** `n` in the text is the order of asking. */
const textOf = (n: number, long: boolean): string => (long ? `#${n} ${"some words ".repeat(60)}#` : `#${n}#`)

const run = (steps: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    const { chat: telegram, moods: feelings } = moody()
    const scope = yield* Effect.scope
    const begin = Effect.gen(function* () {
      const gateway = yield* life([telegram])
      yield* Effect.forkIn(gateway.delivery.recover, scope)
      yield* settle
      return gateway
    })
    const pass = Effect.fn(function* (seconds: number) {
      yield* TestClock.adjust(`${seconds} seconds`)
      yield* settle
    })
    let gateway: Life = yield* begin
    let asked = 0
    const take = (one: Step) =>
      Effect.gen(function* () {
        switch (one._tag) {
          case "Say": {
            const n = (asked += 1)
            yield* Effect.forkIn(
              gateway.delivery.deliver({
                cause: { kind: one.reply ? "turn" : "notice", id: String(n) },
                address: at(one.chat),
                text: textOf(n, one.long),
                via: "origin",
                transcriptId: null,
                replyToPerson: one.reply
              }),
              scope
            )
            return yield* settle
          }
          case "Mood":
            return void feelings.set(one.chat, one.mood)
          case "Pass":
            return yield* pass(one.seconds)
          case "Kill":
          case "Stop":
            yield* one._tag === "Kill" ? gateway.kill : gateway.stop
            gateway = yield* begin
        }
      })
    for (const one of steps) yield* take(one)
    feelings.clear()
    // Whoever hangs is in doubt after a minute; whoever waits has waited ten at most.
    for (const seconds of [61, 61, 660, 10]) yield* pass(seconds)
    yield* gateway.stop
    const last = yield* begin
    yield* pass(60)
    return { rows: (yield* last.outbox.list({ limit: 10_000 })).toReversed(), telegram }
  })

const settled: ReadonlyArray<string> = ["sent", "failed", "unknown", "suppressed"]

const check = (rows: ReadonlyArray<DeliveryRow>, telegram: Platform): void => {
  const arrivals = (row: DeliveryRow) =>
    new Set(telegram.posted.filter((posted) => posted.deliveryId === row.id).map((posted) => posted.text)).size
  const all = (row: DeliveryRow) => telegram.posted.filter((posted) => posted.deliveryId === row.id).length
  for (const row of rows) {
    const said = `${row.id} ${row.cause.id}/${row.part} ${row.resendOf === null ? "" : "copy "}${row.state} (${row.reason})`
    assert.include(settled, row.state, said)
    // A copy may be two messages of one row; the same message never stands twice.
    assert.strictEqual(all(row), arrivals(row), `twice: ${said}`)
    if (row.resendOf === null) assert.isAtMost(all(row), 1, said)
    if (row.state === "sent") assert.isAtLeast(all(row), 1, said)
    if (row.state === "failed" && row.resendOf === null) assert.strictEqual(all(row), 0, said)
    if (row.resendOf !== null) {
      const original = rows.find((other) => other.id === row.resendOf)
      assert.strictEqual(original?.state, "unknown", said)
      assert.isTrue(original?.replyToPerson === true && original.resendOf === null, said)
      assert.isTrue(row.text.startsWith(mark), said)
    }
  }
  const copied = rows.flatMap((row) => (row.resendOf === null ? [] : [row.resendOf]))
  assert.strictEqual(new Set(copied).size, copied.length, "two copies of one row")
  const byId = new Map(rows.map((row) => [row.id, row]))
  for (const one of chats) {
    const order = telegram.posted
      .filter((posted) => {
        const row = byId.get(posted.deliveryId)
        return posted.chatId === one && row?.resendOf === null && !row.cause.id.startsWith("reply.undelivered")
      })
      .map((posted) => {
        const row = byId.get(posted.deliveryId)
        return Number(row?.cause.id) * 100 + (row?.part ?? 0)
      })
    assert.deepStrictEqual(
      order,
      order.toSorted((a, b) => a - b),
      `order in chat ${one}`
    )
  }
}

/** A world of its own for each path: database, clock, platform. */
const inWorld = (steps: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const { rows, telegram } = yield* run(steps).pipe(Effect.provide(durable), Scope.extend(scope))
    yield* Scope.close(scope, Exit.void)
    check(rows, telegram)
  }).pipe(Effect.provide(TestContext.TestContext), Logger.withMinimumLogLevel(LogLevel.None))

describe("the outbox", () => {
  it("keeps its word over random failures, crashes and restarts", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 24 }), (steps) => Effect.runPromise(inWorld(steps))),
      { numRuns: scaled(200, 10) }
    )
  }, 1_200_000)

  it("would be caught: a platform that takes a message and says that nothing left gets it twice", async () => {
    const steps: ReadonlyArray<Step> = [
      { _tag: "Mood", chat: "1", mood: "arrives and lies" },
      { _tag: "Say", chat: "1", reply: true, long: false },
      { _tag: "Pass", seconds: 10 }
    ]
    const exit = await Effect.runPromiseExit(inWorld(steps))
    assert.isTrue(Exit.isFailure(exit) && /twice/.test(String(exit.cause)))
  })
})
