import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import * as Turn from "../../../src/fibers/Turn.js"
import { SendRefused, SendRetryable, SendUncertain } from "../../../src/services/adapter/Adapter.js"
import type { Outgoing, ReplyStream } from "../../../src/services/delivery/Delivery.js"
import type { DeliveryRow } from "../../../src/services/delivery/Outbox.js"
import { Database } from "../../../src/services/state/Database.js"
import { at, durable, knownSecret, type Life, life, outgoing, platform, settle, turn } from "./support.js"

const flood = (retryAfterMillis: number | null) =>
  new SendRetryable({ platform: "telegram", detail: "Too Many Requests", retryAfterMillis })

const opened = (gateway: Life, chatId = "1") =>
  Effect.gen(function* () {
    const { text: _text, transcriptId: _id, ...rest } = outgoing(chatId, "")
    const stream = yield* gateway.delivery.stream(rest)
    if (stream === null) return assert.fail("the surface can edit")
    return { stream, message: rest }
  })

/** Says `text` so far after `millis`. */
const say = (stream: ReplyStream, millis: number, text: string) =>
  Effect.gen(function* () {
    yield* TestClock.adjust(`${millis} millis`)
    yield* stream.update(text)
    yield* settle
  })

/** As a conversation ends a turn: the answer and its rows in one transaction, then the delivery. */
const answer = (
  gateway: Life,
  started: DeliveryRow | null,
  message: Omit<Outgoing, "text" | "transcriptId">,
  text: string,
  passOn = true
) =>
  Effect.gen(function* () {
    const database = yield* Database
    const grown = started === null || !passOn ? {} : { grown: started }
    const step = yield* gateway.delivery.prepare({ ...message, text, ...grown })
    const rows = yield* database.write("answer", step(9))
    return yield* Effect.flatten(gateway.delivery.begin(rows, { started }))
  })

const long = "The quick brown fox jumps over the lazy dog, again and again. "

describe("a growing reply", () => {
  it.scoped("does not begin before it has spoken for 0.8 s: an instant answer is one send", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { message, stream } = yield* opened(gateway)
      yield* say(stream, 0, "Hello ")
      yield* say(stream, 790, "Hello, this is the answer ")
      assert.lengthOf(chat.calls, 0)
      const started = yield* stream.started
      assert.isNull(started)
      const delivered = yield* answer(gateway, started, message, "Hello, this is the answer.")
      assert.isTrue(delivered.ok)
      assert.lengthOf(chat.calls, 1)
      assert.lengthOf(chat.edits, 0)
      assert.lengthOf(yield* gateway.outbox.list({ limit: 10 }), 1)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("is a row before its first message, edited at its pace, and becomes the answer's row", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      let stateAtSend = ""
      chat.onSend = (sent, arrives) =>
        Effect.zipRight(
          Effect.flatMap(Effect.orDie(gateway.outbox.get(sent.deliveryId)), (row) =>
            Effect.sync(() => (stateAtSend = row?.state ?? "none"))
          ),
          arrives
        )
      const { message, stream } = yield* opened(gateway)
      yield* say(stream, 800, "One ")
      assert.strictEqual(stateAtSend, "sending")
      assert.deepStrictEqual(
        chat.posted.map((posted) => posted.text),
        ["One"]
      )
      yield* say(stream, 100, "One two ")
      assert.lengthOf(chat.edits, 0, "too little, too soon")
      yield* say(stream, 200, "One two and a good deal more than that ")
      assert.lengthOf(chat.edits, 1, "24 characters more")
      yield* say(stream, 790, "One two and a good deal more than that, yes ")
      assert.lengthOf(chat.edits, 1)
      yield* say(stream, 20, "One two and a good deal more than that, yes ")
      assert.lengthOf(chat.edits, 2, "0.8 s later")
      const started = yield* stream.started
      assert.strictEqual(started?.platformMessageId, "m1")
      const delivered = yield* answer(gateway, started, message, "One two and a good deal more than that, yes!")
      assert.isTrue(delivered.ok)
      assert.deepStrictEqual(chat.edits.at(-1), {
        id: "m1",
        text: "One two and a good deal more than that, yes!",
        final: true
      })
      assert.isTrue(chat.edits.slice(0, -1).every((edit) => !edit.final))
      const rows = yield* gateway.outbox.list({ limit: 10 })
      assert.lengthOf(rows, 1)
      assert.deepInclude(
        { ...rows[0] },
        {
          id: started?.id ?? "",
          cause: message.cause,
          state: "sent",
          platformMessageId: "m1",
          transcriptId: 9,
          replyToPerson: true,
          text: "One two and a good deal more than that, yes!"
        }
      )
      assert.lengthOf(chat.posted, 1)
    }).pipe(Effect.provide(durable))
  )

  it.scoped("is edited down to the answer where what was shown is taken back", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { message, stream } = yield* opened(gateway)
      yield* say(stream, 800, "The person wants a greeting. ")
      yield* say(stream, 10, "")
      const delivered = yield* answer(gateway, yield* stream.started, message, "Hello.")
      assert.isTrue(delivered.ok)
      assert.deepStrictEqual(
        chat.posted.map((posted) => posted.text),
        ["Hello."]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("leaves nothing of what was taken back where a segment ends", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { stream } = yield* opened(gateway)
      yield* say(stream, 800, "The person wants a search. ")
      yield* say(stream, 10, "")
      yield* stream.segment
      yield* settle
      assert.deepStrictEqual(
        chat.posted.map((posted) => posted.text),
        ["…"]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("hands its message over when its row is not given on", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { message, stream } = yield* opened(gateway)
      yield* say(stream, 800, long)
      const delivered = yield* answer(gateway, yield* stream.started, message, "The end.", false)
      assert.isTrue(delivered.ok)
      assert.deepStrictEqual(
        chat.posted.map((posted) => posted.text),
        ["The end."]
      )
      const rows = (yield* gateway.outbox.list({ limit: 10 })).toReversed()
      assert.deepStrictEqual(
        rows.map((row) => row.state),
        ["suppressed", "sent"]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("longer than a message is edited to the first part; the rest are messages", () =>
    Effect.gen(function* () {
      const chat = platform("telegram", { maxMessageLength: 200 })
      const gateway = yield* life([chat])
      const { message, stream } = yield* opened(gateway)
      const text = long.repeat(8).trim()
      yield* say(stream, 800, long)
      yield* say(stream, 800, long.repeat(3))
      yield* say(stream, 800, long.repeat(8))
      assert.isTrue(chat.posted.every((posted) => posted.text.length <= 200))
      const delivered = yield* answer(gateway, yield* stream.started, message, text)
      assert.isTrue(delivered.ok)
      assert.strictEqual(chat.posted.map((posted) => posted.text.replace(/ \(\d+\/\d+\)$/, "")).join(" "), text)
      const rows = yield* gateway.outbox.list({ limit: 10 })
      assert.lengthOf(rows, chat.posted.length)
      assert.isTrue(rows.every((row) => row.state === "sent"))
    }).pipe(Effect.provide(durable))
  )

  it.scoped("stops editing after three strikes and still ends with the whole text", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { message, stream } = yield* opened(gateway)
      yield* say(stream, 800, "One ")
      let tries = 0
      chat.onEdit = () => Effect.suspend(() => ((tries += 1), Effect.fail(flood(null))))
      for (let word = 0; word < 60; word += 1) yield* say(stream, 500, `One ${"more ".repeat(word + 1)}`)
      assert.strictEqual(tries, 3)
      chat.onEdit = () => Effect.void
      const delivered = yield* answer(gateway, yield* stream.started, message, "One and done.")
      assert.isTrue(delivered.ok)
      assert.strictEqual(chat.posted[0]?.text, "One and done.")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("keeps away as long as flood control asks", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { stream } = yield* opened(gateway)
      yield* say(stream, 800, "One ")
      let tries = 0
      chat.onEdit = () => Effect.suspend(() => ((tries += 1), tries === 1 ? Effect.fail(flood(5_000)) : Effect.void))
      yield* say(stream, 800, "One two ")
      assert.strictEqual(tries, 1)
      yield* say(stream, 4_000, `One two ${long}`)
      assert.strictEqual(tries, 1)
      yield* say(stream, 1_000, `One two ${long}`)
      assert.strictEqual(tries, 2)
      yield* stream.abandon
    }).pipe(Effect.provide(durable))
  )

  it.scoped("whose message is gone is sent anew", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { message, stream } = yield* opened(gateway)
      yield* say(stream, 800, long)
      const started = yield* stream.started
      chat.onEdit = () => Effect.fail(new SendRefused({ platform: "telegram", detail: "gone", code: "message_gone" }))
      const delivered = yield* answer(gateway, started, message, "The answer.")
      assert.isTrue(delivered.ok)
      assert.strictEqual(delivered.deliveries[0]?.platformMessageId, "m2")
      assert.strictEqual(chat.posted.at(-1)?.text, "The answer.")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("that was said before tools ran stays, and what follows is a new message", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { message, stream } = yield* opened(gateway)
      yield* say(stream, 900, "Let me look that up ")
      yield* stream.update("Let me look that up.")
      yield* stream.segment
      assert.deepStrictEqual(
        (yield* gateway.outbox.list({ limit: 10 })).map((row) => [row.state, row.replyToPerson]),
        [["sent", false]]
      )
      yield* say(stream, 900, "It is ")
      const delivered = yield* answer(gateway, yield* stream.started, message, "It is 42.")
      assert.isTrue(delivered.ok)
      assert.deepStrictEqual(
        chat.posted.map((posted) => posted.text),
        ["Let me look that up.", "It is 42."]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("that is abandoned is settled as it stands; one that was answered is left alone", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { stream } = yield* opened(gateway)
      yield* say(stream, 900, "Half an ")
      yield* stream.abandon
      yield* stream.abandon
      const [row] = yield* gateway.outbox.list({ limit: 1 })
      assert.deepInclude({ ...row }, { state: "sent", reason: "the reply was not finished" })
      yield* say(stream, 5_000, long)
      assert.lengthOf(chat.posted, 1)
      const other = yield* opened(gateway)
      yield* say(other.stream, 900, "Another ")
      yield* answer(gateway, yield* other.stream.started, other.message, "Another answer.")
      const calls = chat.edits.length
      yield* other.stream.abandon
      assert.lengthOf(chat.edits, calls)
      assert.strictEqual(chat.posted.at(-1)?.text, "Another answer.")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("whose first message is in doubt gives up growing; the answer is a message of its own", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { message, stream } = yield* opened(gateway)
      chat.onSend = () => Effect.fail(new SendUncertain({ platform: "telegram", detail: "timeout" }))
      yield* say(stream, 900, long)
      yield* say(stream, 900, long.repeat(2))
      assert.lengthOf(chat.calls, 1)
      chat.onSend = (_message, arrives) => arrives
      const started = yield* stream.started
      assert.isNull(started)
      assert.isTrue((yield* answer(gateway, started, message, "The answer.")).ok)
      assert.deepStrictEqual(
        (yield* gateway.outbox.list({ limit: 10 })).map((row) => row.state),
        ["sent", "unknown"]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("never shows a secret, nor the first half of one", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { stream } = yield* opened(gateway)
      const token = "sk-abcdefghijklmnopqrstuvwx"
      const text = `Use ${knownSecret} and then ${token} to log in`
      for (let length = 1; length <= text.length; length += 1) yield* say(stream, 900, text.slice(0, length))
      yield* stream.segment
      const shown = [...chat.calls.map((call) => call.message.text), ...chat.edits.map((edit) => edit.text)]
      for (const seen of shown) {
        assert.notInclude(seen, knownSecret.slice(0, 8))
        assert.notInclude(seen, token.slice(0, 8))
      }
      assert.strictEqual(chat.posted[0]?.text, "Use [redacted] and then [redacted] to log in")
    }).pipe(Effect.provide(durable))
  )

  it.scoped("leaves under the identity of its turn", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const saying = Effect.gen(function* () {
        const { stream } = yield* opened(gateway, "7")
        yield* say(stream, 900, long)
        return yield* stream.started
      })
      const started = yield* Turn.enter(turn("7"))(saying)
      assert.strictEqual(started?.turnId, "turn-7")
      const [call] = chat.calls
      assert.deepStrictEqual(call?.facts.identity.chatId, { _tag: "Value", value: "7" })
    }).pipe(Effect.provide(durable))
  )

  it.scoped("is none where nothing can be edited", () =>
    Effect.gen(function* () {
      const sms = platform("sms", { messageEditing: false })
      const gateway = yield* life([sms])
      const { text: _text, transcriptId: _id, ...rest } = outgoing("1", "", { address: at("1", null, "sms") })
      assert.isNull(yield* gateway.delivery.stream(rest))
    }).pipe(Effect.provide(durable))
  )

  it.scoped("that a crash cut off is in doubt and never copied; a final edit that it cut off is made again", () =>
    Effect.gen(function* () {
      const chat = platform()
      const first = yield* life([chat])
      const cut = yield* opened(first, "1")
      yield* say(cut.stream, 900, long)
      const ending = yield* opened(first, "2")
      yield* say(ending.stream, 900, long)
      chat.onEdit = () => Effect.never
      yield* Effect.fork(answer(first, yield* ending.stream.started, ending.message, "The answer."))
      yield* settle
      yield* first.kill
      chat.onEdit = () => Effect.void
      const second = yield* life([chat])
      assert.deepStrictEqual(yield* second.delivery.recover, { sent: 1, unknown: 1, resent: 0 })
      assert.deepStrictEqual(
        chat.posted.map((posted) => [posted.chatId, posted.text]),
        [
          ["1", long.trim()],
          ["2", "The answer."]
        ]
      )
      assert.deepStrictEqual(
        (yield* second.outbox.list({ limit: 10 })).toReversed().map((row) => row.state),
        ["unknown", "sent"]
      )
    }).pipe(Effect.provide(durable))
  )

  it.scoped("of a turn that answered in an earlier life does not answer twice", () =>
    Effect.gen(function* () {
      const chat = platform()
      const gateway = yield* life([chat])
      const { message, stream } = yield* opened(gateway)
      yield* gateway.delivery.deliver({ ...message, text: "The answer.", transcriptId: 9 })
      yield* say(stream, 900, long)
      const delivered = yield* answer(gateway, yield* stream.started, message, "The answer.")
      assert.isTrue(delivered.ok)
      assert.deepStrictEqual(
        (yield* gateway.outbox.list({ limit: 10 })).toReversed().map((row) => row.state),
        ["sent", "suppressed"]
      )
      assert.lengthOf(
        chat.posted.filter((posted) => posted.text === "The answer."),
        1
      )
    }).pipe(Effect.provide(durable))
  )
})
