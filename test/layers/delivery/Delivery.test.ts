import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, TestClock } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as Turn from "../../../src/fibers/Turn.js"
import { SendRefused, SendRetryable, SendUncertain } from "../../../src/services/adapter/Adapter.js"
import type { DeliveryRow } from "../../../src/services/delivery/Outbox.js"
import { Database } from "../../../src/services/state/Database.js"
import { at, durable, knownSecret, life, outgoing, platform, settle, turn } from "./support.js"

const refused = (code: string) => new SendRefused({ platform: "telegram", detail: "no", code })
const retryable = (retryAfterMillis: number | null = null) =>
  new SendRetryable({ platform: "telegram", detail: "connection refused", retryAfterMillis })
const uncertain = new SendUncertain({ platform: "telegram", detail: "read timeout" })

const shape = (row: DeliveryRow) => ({ ...row })

describe("a reply", () => {
  it.scoped("is a row before it leaves and settled after: one commit before, one after", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const database = yield* Database
      const states: Array<string> = []
      chat.onSend = (message, arrives) =>
        Effect.zipRight(
          Effect.flatMap(Effect.orDie(gateway.outbox.get(message.deliveryId)), (row) =>
            Effect.sync(() => states.push(row?.state ?? "none"))
          ),
          arrives
        )
      const step = yield* gateway.delivery.prepare(outgoing("1", "hello"))
      const rows = yield* database.write("answer", step(7))
      let ended = 0
      const along = Effect.sync(() => void (ended += 1))
      const delivered = yield* gateway.delivery.dispatch(rows, [], along)
      assert.deepStrictEqual(states, ["sending"])
      assert.isTrue(delivered.ok)
      assert.isNull(delivered.problem)
      assert.deepStrictEqual(gateway.commits, ["delivery.settle"])
      assert.strictEqual(ended, 1)
      const [row] = yield* gateway.outbox.list({ limit: 10 })
      assert.strictEqual(row?.state, "sent")
      assert.strictEqual(row?.platformMessageId, "m1")
      assert.strictEqual(row?.transcriptId, 7)
      assert.deepStrictEqual(delivered.deliveries.map(shape), row === undefined ? [] : [shape(row)])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("bears who it is for and why it was sent, and leaves under the same facts", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const marked = turn("1", { marker: CronMarker.cron({ job: "j", run: "r" }) })
      yield* Turn.enter(marked)(gateway.delivery.deliver(outgoing("1", "from a job")))
      yield* Turn.enter(turn("2"))(gateway.delivery.deliver(outgoing("2", "from a person's turn")))
      yield* gateway.delivery.deliver(outgoing("3", "from nobody"))
      const rows = (yield* gateway.outbox.list({ limit: 10 })).toReversed()
      assert.deepStrictEqual(
        rows.map(({ isCron, sessionKey, turnId, via }) => ({ isCron, sessionKey, turnId, via })),
        [
          { isCron: true, sessionKey: "agent:main:telegram:dm:1", turnId: "turn-1", via: "origin" },
          { isCron: false, sessionKey: "agent:main:telegram:dm:2", turnId: "turn-2", via: "origin" },
          { isCron: false, sessionKey: null, turnId: null, via: "origin" }
        ]
      )
      assert.deepStrictEqual(
        chat.calls.map(({ facts }) => [facts.identity.chatId._tag, facts.marker._tag]),
        [
          ["Value", "Cron"],
          ["Value", "NotCron"],
          ["Unset", "Unset"]
        ]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("sent from a process that a cron run started is cron, whatever is bound", () =>
    Effect.gen(function* () {
      const gateway = yield* life([platform()], { HERMES_CRON_SESSION: "1" })
      yield* gateway.delivery.deliver(outgoing("1", "hello"))
      yield* Turn.enter(turn("1"))(gateway.delivery.deliver(outgoing("1", "explicitly not")))
      const rows = yield* gateway.outbox.list({ limit: 10 })
      assert.deepStrictEqual(
        rows.map((row) => row.isCron),
        [false, true]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("loses its secrets on the way out, also from what the platform says about it", () =>
    Effect.gen(function* () {
      const chat = platform()
      chat.onSend = () =>
        Effect.fail(
          new SendRefused({
            platform: "telegram",
            detail: "POST https://api.telegram.org/bot123456789:AAbbCCddEEffGGhhIIjjKKllMMnnOOppQQr/sendMessage",
            code: "forbidden"
          })
        )
      const gateway = yield* life([chat])
      const delivered = yield* gateway.delivery.deliver(outgoing("1", `the key is ${knownSecret}, keep it`))
      assert.strictEqual(chat.calls[0]?.message.text, "the key is [redacted], keep it")
      const [row] = yield* gateway.outbox.list({ limit: 1 })
      assert.notInclude(row?.text, knownSecret)
      for (const said of [row?.reason, delivered.problem]) {
        assert.include(said, "/bot[redacted]/sendMessage")
        assert.notInclude(said, "AAbbCC")
      }
    }).pipe(Effect.provide(durable))
  )

  it.scoped("has its transcript row as proof where the platform names no message", () =>
    Effect.gen(function* () {
      const page = platform("web", { platformIds: false })
      const gateway = yield* life([page])
      yield* gateway.delivery.deliver(outgoing("1", "x", { address: at("ses_1", null, "web"), transcriptId: 42 }))
      const [row] = yield* gateway.outbox.list({ limit: 1 })
      assert.strictEqual(row?.state, "sent")
      assert.strictEqual(row?.platformMessageId, "42")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("that is empty is not sent and not said to be", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      for (const text of [" \n ", "\u200b\ufeff", "\u2800\u00ad\u{e0041}"]) {
        const delivered = yield* gateway.delivery.deliver(
          outgoing("1", text, { cause: { kind: "send_message", id: `call${text}` }, replyToPerson: false })
        )
        assert.isFalse(delivered.ok)
        assert.isNotNull(delivered.problem)
      }
      assert.lengthOf(chat.calls, 0)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("that somebody waits for is never nothing", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      for (const text of ["\u200b", "[[as_document]]"]) yield* gateway.delivery.deliver(outgoing("1", text))
      assert.lengthOf(chat.posted, 2)
      for (const { text } of chat.posted) assert.include(text, "empty answer")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("of a file alone that may not go is sent to nobody, and says why; with words it is the words", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const byHand = (text: string) =>
        gateway.delivery.deliver(
          outgoing("1", text, { cause: { kind: "send_message", id: `call ${text}` }, replyToPerson: false })
        )
      const nothing = yield* byHand("MEDIA:gone.png")
      assert.deepInclude(nothing, { ok: false, deliveries: [] })
      assert.match(nothing.problem ?? "", /^nothing was sent: gone\.png was not sent: files cannot be sent to telegram/)
      assert.lengthOf(chat.calls, 0)
      const some = yield* byHand("Look: MEDIA:gone.png")
      assert.isTrue(some.ok)
      assert.lengthOf(some.left, 1)
      assert.match(chat.posted[0]?.text ?? "", /^Look:\n\nI could not attach gone\.png/)
      // Whoever waits for an answer hears of it in the chat.
      const reply = yield* gateway.delivery.deliver(outgoing("1", "MEDIA:gone.png"))
      assert.isTrue(reply.ok)
      assert.match(chat.posted[1]?.text ?? "", /^I could not attach gone\.png/)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("is told about when it is settled", () =>
    Effect.gen(function* () {
      const gateway = yield* life([platform()])
      const watch = yield* gateway.activity.watch((event) => event._tag === "delivery.settled")
      yield* gateway.delivery.deliver(outgoing("1", "hello"))
      const [event] = yield* watch.take
      assert.include(event, { _tag: "delivery.settled", platform: "telegram", state: "sent" })
    }).pipe(Effect.provide(durable))
  )

  it.scoped("goes on when whoever asked for it is interrupted", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gate = yield* Deferred.make<void>()
      chat.onSend = (_message, arrives) => Effect.zipRight(Deferred.await(gate), arrives)
      const gateway = yield* life([chat])
      const asking = yield* Effect.fork(gateway.delivery.deliver(outgoing("1", "hello")))
      yield* settle
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(asking)))
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      const [row] = yield* gateway.outbox.list({ limit: 1 })
      assert.strictEqual(row?.state, "sent")
      assert.lengthOf(chat.posted, 1)
    }).pipe(Effect.provide(durable))
  )
})

describe("a send that fails", () => {
  it.scoped("where nothing can have left is tried three times, after 2 s and 4 s and a little", () =>
    Effect.gen(function* () {
      const chat = platform()
      const times: Array<number> = []
      const now = TestClock.currentTimeMillis
      chat.onSend = (_message, arrives) =>
        Effect.flatMap(now, (time) => {
          times.push(time)
          return times.length < 3 ? Effect.fail(retryable()) : arrives
        })
      const gateway = yield* life([chat])
      const sending = yield* Effect.fork(gateway.delivery.deliver(outgoing("1", "hello")))
      for (let second = 0; second < 16; second += 1) {
        yield* settle
        yield* TestClock.adjust("500 millis")
      }
      const delivered = yield* Fiber.join(sending)
      assert.isTrue(delivered.ok)
      assert.lengthOf(times, 3)
      const [first = 0, second = 0, third = 0] = times
      assert.isTrue(second - first >= 2_000 && second - first <= 3_000, `${second - first}`)
      assert.isTrue(third - second >= 4_000 && third - second <= 5_000, `${third - second}`)
      assert.lengthOf(chat.posted, 1)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("in doubt is never sent again: a read timeout", () =>
    Effect.gen(function* () {
      const chat = platform()
      chat.onSend = (_message, arrives) => Effect.zipRight(arrives, Effect.fail(uncertain))
      const gateway = yield* life([chat])
      const delivered = yield* gateway.delivery.deliver(outgoing("1", "hello"))
      yield* TestClock.adjust("2 days")
      assert.isFalse(delivered.ok)
      assert.strictEqual(delivered.deliveries[0]?.state, "unknown")
      assert.lengthOf(chat.calls, 1)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("by not coming back is in doubt after 60 s, even when it cannot be interrupted", () =>
    Effect.gen(function* () {
      const chat = platform()
      chat.onSend = () => Effect.uninterruptible(Effect.never)
      const gateway = yield* life([chat])
      const sending = yield* Effect.fork(gateway.delivery.deliver(outgoing("1", "hello")))
      yield* settle
      yield* TestClock.adjust("59 seconds")
      yield* settle
      assert.strictEqual((yield* gateway.outbox.list({ limit: 1 }))[0]?.state, "sending")
      yield* TestClock.adjust("1 seconds")
      const delivered = yield* Fiber.join(sending)
      assert.strictEqual(delivered.deliveries[0]?.state, "unknown")
      assert.lengthOf(chat.calls, 1)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("by throwing is in doubt, and the next message is none the worse", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      chat.onSend = () => Effect.die(new Error("a bug of the adapter"))
      const broken = yield* gateway.delivery.deliver(outgoing("1", "one"))
      chat.onSend = (_message, arrives) => arrives
      const next = yield* gateway.delivery.deliver(outgoing("1", "two"))
      assert.strictEqual(broken.deliveries[0]?.state, "unknown")
      assert.isTrue(next.ok)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("by a refusal of the chat is final", () =>
    Effect.gen(function* () {
      const chat = platform()
      chat.onSend = () => Effect.fail(refused("chat_not_found"))
      const gateway = yield* life([chat])
      const delivered = yield* gateway.delivery.deliver(outgoing("1", "hello"))
      assert.strictEqual(delivered.deliveries[0]?.state, "failed")
      assert.include(delivered.problem, "chat_not_found")
      // A chat that is gone takes no notice either.
      assert.lengthOf(chat.calls, 1)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("by a refusal of the text's form is sent once more as plain text, 3,500 characters of it", () =>
    Effect.gen(function* () {
      const chat = platform()
      chat.onSend = (message, arrives) => (message.plain === true ? arrives : Effect.fail(refused("bad_request")))
      const gateway = yield* life([chat])
      yield* gateway.delivery.recover
      const delivered = yield* gateway.delivery.deliver(outgoing("1", `*${"x".repeat(4_000)}`))
      assert.isTrue(delivered.ok)
      assert.lengthOf(chat.calls, 2)
      assert.strictEqual(chat.posted[0]?.text, `*${"x".repeat(3_499)}…`)
      assert.include(delivered.deliveries[0]?.reason, "plain text")
      chat.onSend = () => Effect.fail(refused("bad_request"))
      const twice = yield* gateway.delivery.deliver(outgoing("1", "again"))
      assert.strictEqual(twice.deliveries[0]?.state, "failed")
      // And the person is told, in both forms, in vain.
      yield* settle
      assert.lengthOf(
        chat.calls.filter(({ message }) => message.text === "again"),
        2
      )
      assert.lengthOf(chat.calls, 6)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("ends its message: later parts fail with it and are not sent", () =>
    Effect.gen(function* () {
      const chat = platform()
      chat.onSend = (message, arrives) => (message.text.includes("(2/") ? Effect.fail(refused("forbidden")) : arrives)
      const gateway = yield* life([chat])
      const text = Array.from({ length: 12 }, (_, line) => `${line} ${"word ".repeat(200)}`).join("\n")
      const delivered = yield* gateway.delivery.deliver(outgoing("1", text))
      assert.isFalse(delivered.ok)
      assert.deepStrictEqual(
        delivered.deliveries.map((row) => [row.part, row.state]),
        [
          [1, "sent"],
          [2, "failed"],
          ...Array.from({ length: delivered.deliveries.length - 2 }, (_, rest) => [rest + 3, "failed"])
        ]
      )
      assert.isAbove(delivered.deliveries.length, 2)
      assert.lengthOf(chat.posted, 1)
      assert.include(delivered.deliveries.at(-1)?.reason, "part 2")
    }).pipe(Effect.provide(durable))
  )
})

describe("a long text", () => {
  it.scoped("is parts in order, each settled, buttons with the last", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const words = Array.from({ length: 3_000 }, (_, index) => `word${index}`).join(" ")
      const buttons = [{ label: "Yes", value: "yes" }]
      const delivered = yield* gateway.delivery.deliver(outgoing("1", words, { buttons }))
      assert.isTrue(delivered.ok)
      const texts = chat.posted.map((posted) => posted.text.replace(/ \(\d+\/\d+\)$/, ""))
      assert.strictEqual(texts.join(" "), words)
      assert.isTrue(chat.posted.every((posted) => posted.text.length <= 4_096))
      assert.deepStrictEqual(
        chat.calls.map((call) => call.message.buttons.length),
        [...texts.slice(1).map(() => 0), 1]
      )
      assert.isTrue(delivered.deliveries.every((row) => row.state === "sent"))
    }).pipe(Effect.provide(durable))
  )

  it.scoped("of 10 MB is at most 50 messages, and the last says what is left", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const delivered = yield* gateway.delivery.deliver(outgoing("1", "lorem ipsum ".repeat(900_000)))
      assert.isTrue(delivered.ok)
      assert.isAtMost(chat.posted.length, 50)
      assert.match(chat.posted.at(-1)?.text ?? "", /\d+ more characters/)
    }).pipe(Effect.provide(durable))
  )
})

describe("order", () => {
  it.scoped("within a chat is that of asking, and one chat's slow send holds up no other", () =>
    Effect.gen(function* () {
      const chat = platform()
      const slow = yield* Deferred.make<void>()
      chat.onSend = (message, arrives) =>
        message.text === "slow" ? Effect.zipRight(Deferred.await(slow), arrives) : arrives
      const gateway = yield* life([chat])
      yield* Effect.fork(gateway.delivery.deliver(outgoing("1", "slow")))
      yield* settle
      yield* Effect.fork(gateway.delivery.deliver(outgoing("1", "behind it", { address: at("1", "topic") })))
      yield* settle
      const other = yield* gateway.delivery.deliver(outgoing("2", "elsewhere"))
      assert.isTrue(other.ok)
      assert.deepStrictEqual(
        chat.posted.map((posted) => posted.text),
        ["elsewhere"]
      )
      yield* Deferred.succeed(slow, undefined)
      yield* settle
      assert.deepStrictEqual(
        chat.posted.map((posted) => posted.text),
        ["elsewhere", "slow", "behind it"]
      )
    }).pipe(Effect.provide(durable))
  )
})

describe("a row that was dispatched already", () => {
  it.scoped("is not sent again", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const message = outgoing("1", "once")
      yield* gateway.delivery.deliver(message)
      const again = yield* gateway.delivery.deliver(message)
      assert.isTrue(again.ok)
      assert.lengthOf(chat.posted, 1)
      assert.lengthOf(yield* gateway.outbox.list({ limit: 10 }), 1)
    }).pipe(Effect.provide(durable))
  )
})

describe("a message that is asked for twice at a time", () => {
  it.scoped("is sent once, and both learn what became of it", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gate = yield* Deferred.make<void>()
      chat.onSend = (_message, arrives) => Effect.zipRight(Deferred.await(gate), arrives)
      const gateway = yield* life([chat])
      const message = outgoing("1", "once")
      const first = yield* Effect.fork(gateway.delivery.deliver(message))
      yield* settle
      const second = yield* Effect.fork(gateway.delivery.deliver(message))
      yield* settle
      yield* Deferred.succeed(gate, undefined)
      for (const asked of [first, second]) {
        const delivered = yield* Fiber.join(asked)
        assert.deepStrictEqual(
          delivered.deliveries.map((row) => [row.state, row.platformMessageId]),
          [["sent", "m1"]]
        )
      }
      assert.lengthOf(chat.calls, 1)
    }).pipe(Effect.provide(durable))
  )
})

describe("typing", () => {
  it.scoped("is shown where it can be, and never holds up the work", () =>
    Effect.gen(function* () {
      const chat = platform()
      const mute = platform("sms", { typing: false })
      const gateway = yield* life([chat, mute])
      yield* gateway.delivery.typing(at("1"))
      yield* gateway.delivery.typing(at("1", null, "sms"))
      yield* gateway.delivery.typing(at("1", null, "nowhere"))
      assert.lengthOf(chat.typed, 1)
      assert.lengthOf(mute.typed, 0)
      const stuck = { ...chat.adapter, platform: "stuck", typing: () => Effect.uninterruptible(Effect.never) }
      const other = yield* life([{ ...chat, adapter: stuck }])
      const typing = yield* Effect.fork(other.delivery.typing(at("1", null, "stuck")))
      yield* settle
      yield* TestClock.adjust("1500 millis")
      yield* Fiber.join(typing)
    }).pipe(Effect.provide(durable))
  )
})
