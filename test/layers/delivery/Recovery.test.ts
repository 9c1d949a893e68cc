import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, TestClock } from "effect"
import { SendRefused, SendRetryable, SendUncertain } from "../../../src/services/adapter/Adapter.js"
import * as Notice from "../../../src/services/delivery/Notice.js"
import * as NotifierLayer from "../../../src/layers/delivery/Notifier.js"
import { Hints } from "../../../src/services/delivery/Hints.js"
import { Notifier } from "../../../src/services/delivery/Notifier.js"
import { Database } from "../../../src/services/state/Database.js"
import { settingsLayer } from "../support/hands.js"
import { at, durable, type Life, life, outgoing, type Platform, platform, settle } from "./support.js"

const mark = Notice.replyRecovered().text
const uncertain = new SendUncertain({ platform: "telegram", detail: "read timeout" })
const flood = (seconds: number) =>
  new SendRetryable({ platform: "telegram", detail: "Too Many Requests", retryAfterMillis: seconds * 1_000 })
const hang = () => Effect.never

const stateOf = (gateway: Life) =>
  Effect.map(gateway.outbox.list({ limit: 100 }), (rows) =>
    rows.toReversed().map((row) => `${row.resendOf === null ? "" : "copy "}${row.state}`)
  )

describe("at boot", () => {
  it.scoped("a reply found on its way is in doubt and is sent once more, marked; nothing else is", () =>
    Effect.gen(function* () {
      const chat = platform()
      const first = yield* life([chat])
      chat.onSend = hang
      yield* Effect.fork(first.delivery.deliver(outgoing("1", "the answer")))
      yield* Effect.fork(
        first.delivery.deliver(outgoing("2", "a notice", { cause: { kind: "notice", id: "n" }, replyToPerson: false }))
      )
      yield* settle
      yield* first.kill
      chat.onSend = (_message, arrives) => arrives
      const second = yield* life([chat])
      assert.deepStrictEqual(yield* second.delivery.recover, { sent: 1, unknown: 2, resent: 1 })
      assert.deepStrictEqual(
        chat.posted.map((posted) => posted.text),
        [`${mark}\n\nthe answer`]
      )
      assert.deepStrictEqual(yield* stateOf(second), ["unknown", "unknown", "copy sent"])
      const rows = yield* second.outbox.list({ limit: 10 })
      const copy = rows.find((row) => row.resendOf !== null)
      const original = rows.find((row) => row.id === copy?.resendOf)
      assert.deepInclude(
        { ...copy },
        {
          cause: original?.cause ?? { kind: "turn", id: "" },
          via: "origin",
          part: 1,
          replyToPerson: true
        }
      )
      yield* second.stop
      const third = yield* life([chat])
      assert.deepStrictEqual(yield* third.delivery.recover, { sent: 0, unknown: 0, resent: 0 })
      assert.lengthOf(chat.posted, 1)
    }).pipe(Effect.provide(durable))
  )

  it.scoped(
    "a refusal is the only answer to a message: it is sent once more as an answer is, and what eases is not",
    () =>
      Effect.gen(function* () {
        const chat = platform()
        const first = yield* life([chat])
        chat.onSend = hang
        const paused = { at: 0, reason: null, by: "ada" }
        const refusals = [
          Notice.sessionSuspended(),
          Notice.busyFull({ waiting: 32 }),
          Notice.drainRefused({ restart: false }),
          Notice.pauseRefused(paused),
          Notice.limitReached({ words: "the day's limit" })
        ]
        const notices = [...refusals, Notice.busySteered(), Notice.busyQueued({ position: 1 })]
        const notifier = NotifierLayer.layer.pipe(
          Layer.provide(
            Layer.mergeAll(Layer.succeedContext(first.context), Layer.mock(Hints, {}), settingsLayer("/home/ada"))
          )
        )
        yield* Effect.forEach(notices, (notice, index) =>
          Effect.flatMap(Notifier, ({ tell }) =>
            tell({ sessionKey: `key-${index}`, address: at(`${index}`), about: "1" }, notice)
          ).pipe(Effect.provide(notifier), Effect.fork)
        )
        yield* settle
        yield* first.kill
        chat.onSend = (_message, arrives) => arrives
        const second = yield* life([chat])
        assert.deepInclude(yield* second.delivery.recover, { unknown: notices.length, resent: refusals.length })
        yield* settle
        assert.sameMembers(
          chat.posted.map(({ text }) => text),
          refusals.map(({ text }) => `${mark}\n\n${text}`)
        )
      }).pipe(Effect.provide(durable))
  )

  it.scoped("what a platform had asked to wait for has not left: it waits on, is sent as it is, and once", () =>
    Effect.gen(function* () {
      const chat = platform("telegram", { maxMessageLength: 200 })
      const first = yield* life([chat])
      chat.onSend = (message, arrives) => (message.text.includes("(1/") ? arrives : Effect.fail(flood(8)))
      const job = { kind: "cron", id: "run_1" } as const
      yield* Effect.fork(
        first.delivery.deliver(outgoing("1", "several words ".repeat(40), { cause: job, replyToPerson: false }))
      )
      yield* settle
      yield* TestClock.adjust("3 seconds")
      yield* first.kill
      const before = chat.calls.length
      chat.onSend = (_message, arrives) => arrives
      const second = yield* life([chat])
      assert.deepStrictEqual(yield* second.delivery.recover, { sent: 0, unknown: 0, resent: 0 })
      yield* settle
      assert.lengthOf(chat.calls, before)
      yield* TestClock.adjust("4900 millis")
      yield* settle
      assert.lengthOf(chat.calls, before)
      yield* TestClock.adjust("200 millis")
      yield* settle
      assert.deepStrictEqual(
        chat.posted.map((posted) => /\((\d)\/4\)$/.exec(posted.text)?.[1]),
        ["1", "2", "3", "4"]
      )
      assert.deepStrictEqual(new Set(yield* stateOf(second)), new Set(["sent"]))
    }).pipe(Effect.provide(durable))
  )

  it.scoped("what is tried again after a pause is in doubt again", () =>
    Effect.gen(function* () {
      const chat = platform()
      const first = yield* life([chat])
      chat.onSend = () => (chat.calls.length === 1 ? Effect.fail(flood(8)) : Effect.never)
      yield* Effect.fork(first.delivery.deliver(outgoing("1", "the answer")))
      yield* settle
      yield* TestClock.adjust("8 seconds")
      yield* settle
      assert.lengthOf(chat.calls, 2)
      yield* first.kill
      chat.onSend = (_message, arrives) => arrives
      const second = yield* life([chat])
      assert.deepStrictEqual(yield* second.delivery.recover, { sent: 1, unknown: 1, resent: 1 })
      assert.deepStrictEqual(yield* stateOf(second), ["unknown", "copy sent"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("a copy that is in doubt itself has no copy", () =>
    Effect.gen(function* () {
      const chat = platform()
      const first = yield* life([chat])
      chat.onSend = hang
      yield* Effect.fork(first.delivery.deliver(outgoing("1", "the answer")))
      yield* settle
      yield* first.kill
      const second = yield* life([chat])
      yield* Effect.fork(second.delivery.recover)
      yield* settle
      assert.deepStrictEqual(yield* stateOf(second), ["unknown", "copy sending"])
      yield* second.kill
      const third = yield* life([chat])
      assert.deepStrictEqual(yield* third.delivery.recover, { sent: 0, unknown: 1, resent: 0 })
      assert.deepStrictEqual(yield* stateOf(third), ["unknown", "copy unknown"])
      assert.lengthOf(chat.calls, 2)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("what was stopped before it was begun goes as it is, in order", () =>
    Effect.gen(function* () {
      const chat = platform()
      const first = yield* life([chat])
      chat.onSend = hang
      for (const text of ["begun", "second", "third"]) {
        yield* Effect.fork(first.delivery.deliver(outgoing("1", text)))
        yield* settle
      }
      yield* first.stop
      assert.deepStrictEqual(yield* stateOf(first), ["sending", "pending", "pending"])
      chat.onSend = (_message, arrives) => arrives
      const second = yield* life([chat])
      assert.deepStrictEqual(yield* second.delivery.recover, { sent: 3, unknown: 1, resent: 1 })
      assert.deepStrictEqual(
        chat.posted.map((posted) => posted.text),
        [`${mark}\n\nbegun`, "second", "third"]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("the parts after the one that was on its way go as they are", () =>
    Effect.gen(function* () {
      const chat = platform("telegram", { maxMessageLength: 200 })
      const first = yield* life([chat])
      chat.onSend = (message, arrives) => (message.text.includes("(2/") ? Effect.never : arrives)
      yield* Effect.fork(first.delivery.deliver(outgoing("1", "several words ".repeat(40))))
      yield* settle
      yield* first.stop
      chat.onSend = (_message, arrives) => arrives
      const second = yield* life([chat])
      yield* second.delivery.recover
      const rows = new Map((yield* second.outbox.list({ limit: 20 })).map((row) => [row.id, row]))
      const carried = [...new Set(chat.posted.map((posted) => posted.deliveryId))].map((id) => rows.get(id))
      assert.deepStrictEqual(
        carried.map((row) => [row?.part, row?.resendOf !== null]),
        Array.from({ length: rows.size - 1 }, (_, index) => [index + 1, index === 1])
      )
      assert.isTrue(carried.every((row) => row?.state === "sent"))
    }).pipe(Effect.provide(durable))
  )

  it.scoped("so do those after a part that was on its way when the gateway was killed, a job's too", () =>
    Effect.gen(function* () {
      const chat = platform("telegram", { maxMessageLength: 200 })
      const first = yield* life([chat])
      chat.onSend = (message, arrives) => (message.text.includes("(2/") ? Effect.never : arrives)
      const long = "several words ".repeat(40)
      const job = { cause: { kind: "cron", id: "run_1" }, replyToPerson: false } as const
      for (const message of [outgoing("1", long), outgoing("2", long, job)])
        yield* Effect.fork(first.delivery.deliver(message))
      yield* settle
      yield* first.kill
      chat.onSend = (_message, arrives) => arrives
      const second = yield* life([chat])
      assert.deepStrictEqual(yield* second.delivery.recover, { sent: 5, unknown: 2, resent: 1 })
      const rows = new Map((yield* second.outbox.list({ limit: 20 })).map((row) => [row.id, row]))
      const partsIn = (chatId: string) =>
        [...new Set(chat.posted.flatMap((posted) => (posted.chatId === chatId ? [posted.deliveryId] : [])))].map(
          (id) => {
            const row = rows.get(id)
            return `${row?.resendOf === null ? "" : "copy of "}${row?.part}`
          }
        )
      assert.deepStrictEqual(partsIn("1"), ["1", "copy of 2", "3", "4"])
      assert.deepStrictEqual(partsIn("2"), ["1", "3", "4"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("a text that stands in a transcript needs no copy where that is its proof", () =>
    Effect.gen(function* () {
      const page = platform("web", { platformIds: false })
      const first = yield* life([page])
      page.onSend = hang
      yield* Effect.fork(
        first.delivery.deliver(outgoing("", "the answer", { address: at("ses_1", null, "web"), transcriptId: 5 }))
      )
      yield* settle
      yield* first.kill
      const second = yield* life([page])
      assert.deepStrictEqual(yield* second.delivery.recover, { sent: 0, unknown: 0, resent: 0 })
      const [row] = yield* second.outbox.list({ limit: 1 })
      assert.deepInclude({ ...row }, { state: "sent", platformMessageId: "5" })
      assert.lengthOf(page.calls, 1)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("a copy that the notice makes too long for the platform is two messages of one row", () =>
    Effect.gen(function* () {
      const chat = platform()
      const first = yield* life([chat])
      chat.onSend = hang
      const full = "x ".repeat(2_048)
      yield* Effect.fork(first.delivery.deliver(outgoing("1", full)))
      yield* settle
      yield* first.kill
      chat.onSend = (_message, arrives) => arrives
      const second = yield* life([chat])
      yield* second.delivery.recover
      assert.lengthOf(chat.posted, 2)
      assert.isTrue(chat.posted.every((posted) => posted.text.length <= 4_096))
      assert.isTrue(chat.posted[0]?.text.startsWith(mark))
      assert.deepStrictEqual(yield* stateOf(second), ["unknown", "copy sent"])
    }).pipe(Effect.provide(durable))
  )

  it.scoped("what is over a day old is in doubt and stays so", () =>
    Effect.gen(function* () {
      const chat = platform()
      const first = yield* life([chat])
      chat.onSend = hang
      yield* Effect.fork(first.delivery.deliver(outgoing("1", "the answer")))
      yield* settle
      yield* first.kill
      yield* TestClock.adjust("25 hours")
      const second = yield* life([chat])
      assert.deepStrictEqual(yield* second.delivery.recover, { sent: 0, unknown: 1, resent: 0 })
      assert.lengthOf(chat.posted, 0)
    }).pipe(Effect.provide(durable))
  )

  it.scoped(
    "a platform that hangs does not keep the gateway from opening, and one that connects late is not kept waiting",
    () =>
      Effect.gen(function* () {
        const chat = platform()
        const first = yield* life([chat])
        chat.onSend = hang
        for (const to of ["1", "2"]) yield* Effect.fork(first.delivery.deliver(outgoing(to, `to ${to}`)))
        yield* settle
        yield* first.kill
        chat.onSend = (message, arrives) => (message.address.chatId === "1" ? Effect.never : arrives)
        chat.state = { _tag: "Starting" }
        const second = yield* life([chat])
        assert.deepStrictEqual(yield* second.delivery.recover, { sent: 0, unknown: 2, resent: 2 })
        chat.state = { _tag: "Connected" }
        yield* settle
        yield* TestClock.adjust("1 seconds")
        yield* settle
        assert.lengthOf(chat.posted, 1)
        yield* second.kill
        const third = yield* life([chat])
        const opening = yield* Effect.fork(third.delivery.recover)
        yield* settle
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(yield* Fiber.join(opening), { sent: 0, unknown: 1, resent: 0 })
      }).pipe(Effect.provide(durable))
  )

  it.scoped("a person is told by the next life of a reply that failed in this one's last commit", () =>
    Effect.gen(function* () {
      const chat = platform()
      const first = yield* life([chat])
      chat.onSend = () =>
        Effect.fail(new SendRefused({ platform: "telegram", detail: "not that", code: "bad_request" }))
      // Nothing here sends what waits: it ends before that.
      yield* first.delivery.deliver(outgoing("1", "x".repeat(5_000)))
      assert.deepStrictEqual(first.commits, ["delivery.insert", "delivery.settle"])
      yield* first.kill
      assert.deepStrictEqual(yield* stateOf(first), ["failed", "failed", "pending"])
      chat.onSend = (_message, arrives) => arrives
      const second = yield* life([chat])
      assert.deepStrictEqual(yield* second.delivery.recover, { sent: 1, unknown: 0, resent: 0 })
      assert.match(chat.posted[0]?.text ?? "", /could not deliver it here.*not that/)
      assert.lengthOf(chat.posted, 1)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("what this process is sending itself is left alone", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const database = yield* Database
      const gate = yield* Deferred.make<void>()
      chat.onSend = (_message, arrives) => Effect.zipRight(Deferred.await(gate), arrives)
      const sending = yield* Effect.fork(gateway.delivery.deliver(outgoing("1", "under way")))
      const step = yield* gateway.delivery.prepare(outgoing("2", "prepared"))
      const rows = yield* database.write("answer", step(null))
      yield* settle
      assert.deepStrictEqual(yield* gateway.delivery.recover, { sent: 0, unknown: 0, resent: 0 })
      yield* Deferred.succeed(gate, undefined)
      assert.isTrue((yield* Fiber.join(sending)).ok)
      assert.isTrue((yield* gateway.delivery.dispatch(rows)).ok)
      assert.lengthOf(chat.posted, 2)
    }).pipe(Effect.provide(durable))
  )
})

describe("while the gateway runs", () => {
  const lost: Platform["onSend"] = (_message, arrives) => Effect.zipRight(arrives, Effect.fail(uncertain))
  const arrives: Platform["onSend"] = (_message, arrive) => arrive
  const pass = (seconds: number) => Effect.zipRight(TestClock.adjust(`${seconds} seconds`), settle)
  const texts = (chat: Platform) => chat.posted.map(({ text }) => text)

  it.scoped("a reply in doubt is sent once more after a few seconds, marked, its copy written with the doubt", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      yield* gateway.delivery.recover
      chat.onSend = lost
      yield* gateway.delivery.deliver(outgoing("1", "the answer"))
      assert.deepStrictEqual(gateway.commits, ["delivery.insert", "delivery.settle"])
      assert.deepStrictEqual(yield* stateOf(gateway), ["unknown", "copy pending"])
      chat.onSend = arrives
      yield* gateway.delivery.deliver(outgoing("1", "the next"))
      yield* gateway.delivery.deliver(outgoing("2", "elsewhere"))
      yield* pass(4)
      assert.deepStrictEqual(texts(chat), ["the answer", "elsewhere"])
      yield* pass(2)
      assert.deepStrictEqual(texts(chat), ["the answer", "elsewhere", `${mark}\n\nthe answer`, "the next"])
      yield* pass(3_600)
      yield* gateway.stop
      const next = yield* life([chat])
      assert.deepStrictEqual(yield* next.delivery.recover, { sent: 0, unknown: 0, resent: 0 })
      assert.lengthOf(chat.calls, 4)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("what nobody waits for is left in doubt, and so is a copy", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      yield* gateway.delivery.recover
      chat.onSend = lost
      for (const kind of ["cron", "send_message"] as const)
        yield* gateway.delivery.deliver(outgoing("1", kind, { cause: { kind, id: "1" }, replyToPerson: false }))
      yield* gateway.delivery.deliver(outgoing("1", "the answer"))
      yield* pass(3_600)
      assert.deepStrictEqual(yield* stateOf(gateway), ["unknown", "unknown", "unknown", "copy unknown"])
      assert.lengthOf(chat.calls, 4)
      yield* gateway.stop
      const next = yield* life([chat])
      assert.strictEqual((yield* next.delivery.recover).resent, 0)
      assert.lengthOf(chat.calls, 4)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("a restart before the copy has gone sends it, once", () =>
    Effect.gen(function* () {
      for (const end of ["kill", "stop"] as const) {
        const chat = platform()
        const gateway = yield* life([chat])
        yield* gateway.delivery.recover
        chat.onSend = lost
        yield* gateway.delivery.deliver(outgoing(end, "the answer"))
        yield* gateway[end]
        chat.onSend = arrives
        for (const sent of [1, 0]) {
          const next = yield* life([chat])
          assert.deepStrictEqual(yield* next.delivery.recover, { sent, unknown: 0, resent: 0 })
          yield* pass(60)
          yield* next.stop
        }
        assert.deepStrictEqual(texts(chat), ["the answer", `${mark}\n\nthe answer`])
      }
    }).pipe(Effect.provide(durable))
  )

  it.scoped("the parts after the one in doubt follow its copy, also when they were sent as what waits", () =>
    Effect.gen(function* () {
      const chat = platform("telegram", { maxMessageLength: 200 })
      const gateway = yield* life([chat])
      yield* gateway.delivery.recover
      // A part of the first message is in doubt when it is first sent, a part of the second when it has waited for that.
      const doubtful = ["(2/", "(3/"]
      chat.onSend = (message, arrive) => {
        const next = doubtful.find((part) => message.text.includes(part) && !message.text.startsWith(mark))
        if (next === undefined) return arrive
        doubtful.splice(doubtful.indexOf(next), 1)
        return Effect.fail(uncertain)
      }
      yield* gateway.delivery.deliver(outgoing("1", "several words ".repeat(40)))
      yield* pass(60)
      const parts = new Map((yield* gateway.outbox.list({ limit: 20 })).map((row) => [row.id, row]))
      const carried = [...new Set(chat.posted.map(({ deliveryId }) => parts.get(deliveryId)))]
      assert.deepStrictEqual(
        carried.map((row) => [row?.part, row?.resendOf !== null]),
        carried.map((_, index) => [index + 1, index === 1 || index === 2])
      )
      assert.isTrue(carried.length > 3 && carried.every((row) => row?.state === "sent"))
    }).pipe(Effect.provide(durable))
  )
})
