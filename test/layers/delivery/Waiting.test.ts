import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, TestClock } from "effect"
import { SendRefused, SendRetryable, SendUncertain } from "../../../src/services/adapter/Adapter.js"
import { Database } from "../../../src/services/state/Database.js"
import { StateDiskFull } from "../../../src/services/state/StateError.js"
import { withWall } from "../support/wallClock.js"
import * as WriteDoor from "../support/writeDoor.js"
import { at, durable, life, outgoing, platform, settle } from "./support.js"

const flood = (seconds: number) =>
  new SendRetryable({ platform: "telegram", detail: "Too Many Requests", retryAfterMillis: seconds * 1_000 })
const unreachable = new SendRetryable({ platform: "telegram", detail: "connection refused", retryAfterMillis: null })

/** Lets `seconds` pass as they would, with what they wake. */
const pass = (seconds: number) =>
  Effect.gen(function* () {
    yield* settle
    for (let left = seconds; left > 0; left -= 15) {
      yield* TestClock.adjust(`${Math.min(15, left)} seconds`)
      yield* settle
    }
  })

const texts = (chat: ReturnType<typeof platform>) => chat.posted.map((posted) => posted.text)

describe("flood control", () => {
  it.scoped("makes the row wait with its time on it, everything new for the chat behind it, and no other chat", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      yield* gateway.delivery.recover
      chat.onSend = (message, arrives) => (message.address.chatId === "1" ? Effect.fail(flood(45)) : arrives)
      const first = yield* gateway.delivery.deliver(outgoing("1", "first"))
      assert.isTrue(first.ok)
      assert.include(first.problem, "Too Many Requests")
      const [row] = yield* gateway.outbox.inState(["pending"], 10)
      assert.strictEqual(row?.notBefore, 45_000)
      chat.onSend = (_message, arrives) => arrives
      const second = yield* gateway.delivery.deliver(outgoing("1", "second"))
      const third = yield* gateway.delivery.deliver(outgoing("1", "third", { address: at("1", "topic") }))
      const other = yield* gateway.delivery.deliver(outgoing("2", "elsewhere"))
      assert.deepStrictEqual(
        [second, third, other].map((delivered) => delivered.deliveries[0]?.state),
        ["pending", "pending", "sent"]
      )
      assert.lengthOf(
        chat.calls.filter((call) => call.message.address.chatId === "1"),
        1
      )
      yield* pass(44)
      assert.deepStrictEqual(texts(chat), ["elsewhere"])
      yield* pass(2)
      assert.deepStrictEqual(texts(chat), ["elsewhere", "first", "second", "third"])
      const after = yield* gateway.delivery.deliver(outgoing("1", "fourth"))
      assert.strictEqual(after.deliveries[0]?.state, "sent")
      assert.lengthOf(yield* gateway.outbox.inState(["pending", "sending"], 10), 0)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("lasts as long as it lasts when the clock is set back", () =>
    withWall((set) =>
      Effect.gen(function* () {
        const chat = platform()
        const gateway = yield* life([chat])
        yield* gateway.delivery.recover
        chat.onSend = () => Effect.fail(flood(45))
        yield* gateway.delivery.deliver(outgoing("1", "first"))
        chat.onSend = (_message, arrives) => arrives
        yield* set(-3_600_000)
        yield* gateway.delivery.deliver(outgoing("1", "second"))
        yield* pass(44)
        assert.deepStrictEqual(texts(chat), [])
        yield* pass(2)
        assert.deepStrictEqual(texts(chat), ["first", "second"])
      })
    ).pipe(Effect.provide(durable))
  )

  /** A penalty of so many seconds, the gateway's end, and another gateway after the clock was set. */
  const afterRestart = (seconds: number, setBy: number, first = seconds) =>
    withWall((set) =>
      Effect.gen(function* () {
        const chat = platform()
        yield* Effect.scoped(
          Effect.gen(function* () {
            const before = yield* life([chat])
            yield* before.delivery.recover
            chat.onSend = (message, arrives) =>
              message.address.chatId === "1" ? Effect.fail(flood(chat.calls.length <= 1 ? first : seconds)) : arrives
            yield* before.delivery.deliver(outgoing("1", "first"))
            if (first === seconds) return
            yield* pass(first + 1)
            assert.lengthOf(chat.calls, 2)
            yield* before.delivery.deliver(outgoing("2", "elsewhere"))
          })
        )
        chat.posted.length = 0
        chat.onSend = (_message, arrives) => arrives
        yield* set(setBy)
        const after = yield* life([chat])
        yield* after.delivery.recover
        return chat
      })
    )

  it.scoped("of an hour is sat out by the next start too, to its end", () =>
    Effect.gen(function* () {
      const chat = yield* afterRestart(3_600, 0)
      yield* pass(3_590)
      assert.deepStrictEqual(texts(chat), [])
      yield* pass(15)
      assert.deepStrictEqual(texts(chat), ["first"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("that an earlier process wrote down before the clock was set back lasts as long as was asked for", () =>
    Effect.gen(function* () {
      const chat = yield* afterRestart(45, -3_600_000)
      yield* pass(44)
      assert.deepStrictEqual(texts(chat), [])
      yield* pass(2)
      assert.deepStrictEqual(texts(chat), ["first"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped(
    "of a message that had waited long before is told from a clock set back by what else was written down",
    () =>
      Effect.gen(function* () {
        // Written down 2 h ago, so that the clock set back by 1 h does not show before that.
        const chat = yield* afterRestart(45, -3_600_000, 7_200)
        yield* pass(60)
        assert.deepStrictEqual(texts(chat), ["first"])
      }).pipe(Effect.provide(durable))
  )

  it.scoped("holds back also the copy of what was in doubt before it", () =>
    Effect.gen(function* () {
      const chat = platform()
      yield* Effect.scoped(
        Effect.gen(function* () {
          const before = yield* life([chat])
          yield* before.delivery.recover
          chat.onSend = () => Effect.fail(new SendUncertain({ platform: "telegram", detail: "no answer" }))
          yield* before.delivery.deliver(outgoing("1", "in doubt"))
          chat.onSend = () => Effect.fail(flood(3_600))
          yield* before.delivery.deliver(outgoing("1", "behind it"))
          yield* pass(6)
          assert.lengthOf(chat.calls, 2)
        })
      )
      chat.onSend = (_message, arrives) => arrives
      const after = yield* life([chat])
      yield* after.delivery.recover
      yield* pass(3_590)
      assert.deepStrictEqual(texts(chat), [])
      yield* pass(15)
      assert.lengthOf(texts(chat), 2)
      assert.include(texts(chat)[0], "in doubt")
      assert.strictEqual(texts(chat)[1], "behind it")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("of a few seconds is sat out", () =>
    Effect.gen(function* () {
      const chat = platform()
      let calls = 0
      chat.onSend = (_message, arrives) => (++calls === 1 ? Effect.fail(flood(3)) : arrives)
      const gateway = yield* life([chat])
      const sending = yield* Effect.fork(gateway.delivery.deliver(outgoing("1", "hello")))
      yield* settle
      yield* TestClock.adjust("2900 millis")
      yield* settle
      assert.strictEqual(calls, 1)
      yield* TestClock.adjust("100 millis")
      assert.isTrue((yield* sending.await)._tag === "Success")
      assert.deepStrictEqual(texts(chat), ["hello"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("in the middle of a message makes its later parts wait too, in order", () =>
    Effect.gen(function* () {
      const chat = platform("telegram", { maxMessageLength: 200 })
      const gateway = yield* life([chat])
      yield* gateway.delivery.recover
      chat.onSend = (message, arrives) => (message.text.includes("(2/") ? Effect.fail(flood(60)) : arrives)
      const words = Array.from({ length: 100 }, (_, index) => `word${index}`).join(" ")
      const delivered = yield* gateway.delivery.deliver(outgoing("1", words))
      assert.isTrue(delivered.ok)
      const states = delivered.deliveries.map((row) => row.state)
      assert.deepStrictEqual(states, ["sent", ...states.slice(1).map(() => "pending")])
      chat.onSend = (_message, arrives) => arrives
      yield* pass(61)
      assert.strictEqual(
        texts(chat)
          .map((text) => text.replace(/ \(\d+\/\d+\)$/, ""))
          .join(" "),
        words
      )
    }).pipe(Effect.provide(durable))
  )
})

describe("what waits", () => {
  it.scoped("is given up after three attempts, and says so", () =>
    Effect.gen(function* () {
      const chat = platform()
      chat.onSend = () => Effect.fail(unreachable)
      const gateway = yield* life([chat])
      yield* gateway.delivery.recover
      const sending = yield* Effect.fork(gateway.delivery.deliver(outgoing("1", "hello")))
      yield* pass(10)
      yield* pass(720)
      yield* sending.await
      const [row] = (yield* gateway.outbox.list({ limit: 9 })).filter(({ cause }) => cause.kind === "turn")
      assert.strictEqual(row?.state, "failed")
      assert.strictEqual(row?.attempts, 3)
      assert.include(row?.reason, "given up after 3 attempts")
      const asked = () => chat.calls.filter(({ message }) => message.text === "hello")
      // Three attempts of three calls each, and none since.
      assert.lengthOf(asked(), 9)
      chat.onSend = (_message, arrives) => arrives
      yield* pass(1_200)
      assert.lengthOf(asked(), 9)
      // Once the chat can be reached again the person knows that there was an answer.
      assert.lengthOf(texts(chat), 1)
      assert.include(texts(chat)[0], "I have an answer for you but could not deliver it here.")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("for a platform that is away costs no attempt, and goes when it is back", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      yield* gateway.delivery.recover
      chat.onSend = () => Effect.fail(flood(30))
      yield* gateway.delivery.deliver(outgoing("1", "hello"))
      chat.state = { _tag: "Reconnecting", error: "no network" }
      yield* pass(300)
      assert.lengthOf(chat.calls, 1)
      chat.state = { _tag: "Connected" }
      chat.onSend = (_message, arrives) => arrives
      yield* pass(120)
      assert.deepStrictEqual(texts(chat), ["hello"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("without an adapter fails after 24 h, and is told about", () =>
    Effect.gen(function* () {
      const first = yield* life([])
      const delivered = yield* first.delivery.deliver(outgoing("1", "hello"))
      assert.strictEqual(delivered.deliveries[0]?.state, "pending")
      assert.include(delivered.problem, "not connected")
      yield* first.stop
      yield* TestClock.adjust("24 hours")
      const gateway = yield* life([])
      const watch = yield* gateway.activity.watch((event) => event._tag === "delivery.settled")
      yield* gateway.delivery.recover
      assert.lengthOf(yield* gateway.outbox.inState(["pending"], 10), 1)
      yield* pass(150)
      const [event] = yield* watch.take
      assert.include(event, { state: "failed" })
      const rows = yield* gateway.outbox.list({ limit: 9 })
      assert.include(rows.find(({ cause }) => cause.kind === "turn")?.reason, "24 h")
      assert.include(rows.find(({ cause }) => cause.kind === "notice")?.text, "could not deliver")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("and is then refused takes its later parts with it", () =>
    Effect.gen(function* () {
      const chat = platform("telegram", { maxMessageLength: 200 })
      const gateway = yield* life([chat])
      yield* gateway.delivery.recover
      chat.onSend = () => Effect.fail(flood(60))
      yield* gateway.delivery.deliver(outgoing("1", "many words ".repeat(60)))
      chat.onSend = () =>
        Effect.fail(new SendRefused({ platform: "telegram", detail: "bot was blocked", code: "forbidden" }))
      yield* pass(61)
      const rows = yield* gateway.outbox.list({ limit: 20 })
      assert.isAbove(rows.length, 2)
      assert.isTrue(rows.every((row) => row.state === "failed"))
      assert.lengthOf(chat.calls, 2)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("for one slow chat holds up no other", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      yield* gateway.delivery.recover
      chat.onSend = () => Effect.fail(flood(30))
      yield* gateway.delivery.deliver(outgoing("1", "slow"))
      yield* gateway.delivery.deliver(outgoing("2", "quick"))
      chat.onSend = (message, arrives) => (message.address.chatId === "1" ? Effect.never : arrives)
      yield* pass(31)
      assert.deepStrictEqual(texts(chat), ["quick"])
    }).pipe(Effect.provide(durable))
  )
})

describe("a full disk", () => {
  /** A gateway whose settlements find no room while `disk.full`. */
  const cramped = (chat: ReturnType<typeof platform>, disk: { full: boolean }) =>
    Effect.flatMap(Database, (database) =>
      Effect.provideService(
        life([chat]),
        Database,
        WriteDoor.behind(database, (operation, write) =>
          Effect.suspend(() =>
            disk.full && operation === "delivery.settle"
              ? Effect.fail(new StateDiskFull({ operation, detail: "no room" }))
              : write
          )
        )
      )
    )

  it.scoped("is over: what became of a message is written down then, and it is not sent again", () =>
    Effect.gen(function* () {
      const chat = platform()
      const disk = { full: false }
      const gateway = yield* cramped(chat, disk)
      yield* gateway.delivery.recover
      disk.full = true
      assert.isTrue(Exit.isFailure(yield* Effect.exit(gateway.delivery.deliver(outgoing("1", "here")))))
      chat.onSend = () => Effect.fail(new SendRefused({ platform: "telegram", detail: "no", code: "forbidden" }))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(gateway.delivery.deliver(outgoing("2", "nowhere")))))
      chat.onSend = (_message, arrives) => arrives
      yield* pass(30)
      assert.lengthOf(yield* gateway.outbox.inState(["sending"], 10), 2)
      disk.full = false
      yield* pass(6)
      assert.deepStrictEqual(
        (yield* gateway.outbox.list({ limit: 10 }))
          .filter(({ text }) => text === "here" || text === "nowhere")
          .map(({ platformMessageId, state, text }) => [text, state, platformMessageId])
          .toSorted(),
        [
          ["here", "sent", "m1"],
          ["nowhere", "failed", null]
        ]
      )
      yield* gateway.delivery.deliver(outgoing("1", "and on"))
      assert.deepStrictEqual(
        texts(chat).filter((text) => text === "here" || text === "and on"),
        ["here", "and on"]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("leaves the later parts of a message waiting, which follow once there is room", () =>
    Effect.gen(function* () {
      const chat = platform("telegram", { maxMessageLength: 200 })
      const disk = { full: false }
      const gateway = yield* cramped(chat, disk)
      yield* gateway.delivery.recover
      disk.full = true
      const text = Array.from({ length: 90 }, (_, index) => `word${index}`).join(" ")
      assert.isTrue(Exit.isFailure(yield* Effect.exit(gateway.delivery.deliver(outgoing("1", text)))))
      assert.lengthOf(chat.posted, 1)
      yield* pass(10)
      assert.lengthOf(chat.posted, 1)
      disk.full = false
      yield* pass(12)
      assert.strictEqual(
        texts(chat)
          .join(" ")
          .replaceAll(/\s\(\d\/4\)/g, ""),
        text
      )
      assert.lengthOf(yield* gateway.outbox.inState(["pending", "sending", "unknown"], 10), 0)
    }).pipe(Effect.provide(durable))
  )
})
