import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { address } from "../../../src/fibers/DeliveryOrigin.js"
import type { Adapter } from "../../../src/services/adapter/Adapter.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import * as AdapterAdmission from "../../contract/AdapterAdmission.js"
import { adapterFor } from "./connected.js"

const { Faults } = TelegramServer

/** A server with a private chat in which the bot may open topics, and what the home remembers. */
const world = Effect.gen(function* () {
  const server = yield* TelegramServer.make()
  const admission = yield* AdapterAdmission.make
  const remembered = new Map<string, string>()
  const start = Effect.flatMap(adapterFor(server, admission, {}, {}, remembered), (adapter) =>
    adapter === null ? Effect.dieMessage("no adapter was registered") : Effect.succeed(adapter)
  )
  const chat = server.dm(server.user(1), { is_forum: true })
  const opened = Effect.map(server.calls.all, (calls) =>
    calls.filter(({ method }) => method === "createForumTopic").map(({ parameters }) => parameters["name"])
  )
  const arrived = (at: TelegramServer.TelegramChat) =>
    Effect.map(server.posted(at), (posted) => posted.map(({ text, threadId }) => [text, threadId] as const))
  return { server, start, chat, opened, arrived }
})

const send = (adapter: Adapter, chat: { readonly id: number }, topic: string, text: string) =>
  adapter.send({
    address: address({ platform: "telegram", chatId: String(chat.id), threadId: topic }),
    text,
    deliveryId: text,
    transcriptId: null,
    buttons: []
  })

describe("named topics of private chats", () => {
  it.scoped("are opened by the first message, and found by the next and after a restart", () =>
    Effect.gen(function* () {
      const { arrived, chat, opened, server, start } = yield* world
      const adapter = yield* start
      const first = yield* send(adapter, chat, "Reports", "one")
      const topic = (yield* server.posted(chat))[0]?.threadId ?? null
      assert.isNotNull(topic)
      assert.strictEqual(first.note, `opened the topic “Reports” (${topic})`)
      assert.isNull((yield* send(adapter, chat, "reports", "two")).note)
      yield* send(yield* start, chat, "Reports", "three")
      // Another name is another topic.
      yield* send(adapter, chat, "News", "four")
      assert.deepStrictEqual(yield* opened, ["Reports", "News"])
      const there = yield* arrived(chat)
      assert.deepStrictEqual(there.slice(0, 3), [
        ["one", topic],
        ["two", topic],
        ["three", topic]
      ])
      assert.notInclude([topic, null], there[3]?.[1])
    })
  )

  it.scoped("two messages at once open one", () =>
    Effect.gen(function* () {
      const { arrived, chat, opened, server, start } = yield* world
      const adapter = yield* start
      const both = Effect.forEach(["one", "two"], (text) => send(adapter, chat, "Reports", text), {
        concurrency: "unbounded"
      })
      yield* both
      assert.deepStrictEqual(yield* opened, ["Reports"])
      // And one instead of it when both find it gone.
      const [gone] = (yield* arrived(chat)).map(([, thread]) => thread ?? 0)
      yield* server.removeTopic(chat, gone ?? 0)
      yield* both
      assert.deepStrictEqual(yield* opened, ["Reports", "Reports"])
      const threads = (yield* arrived(chat)).map(([, thread]) => thread)
      assert.strictEqual(new Set(threads).size, 2)
      assert.notInclude(threads, null)
    })
  )

  it.scoped("are opened anew once when they are gone; after that the rule for topics that are gone holds", () =>
    Effect.gen(function* () {
      const { arrived, chat, opened, server, start } = yield* world
      const adapter = yield* start
      yield* send(adapter, chat, "Reports", "one")
      const before = (yield* arrived(chat))[0]?.[1] ?? 0
      yield* server.removeTopic(chat, before)
      const { note } = yield* send(adapter, chat, "Reports", "two")
      const after = (yield* arrived(chat))[1]?.[1] ?? 0
      assert.strictEqual(note, `opened the topic “Reports” (${after}) anew, because topic ${before} is gone`)
      assert.notInclude([0, before], after)
      // Gone as often as it is opened.
      yield* server.fault("sendMessage", Faults.badRequest("message thread not found"), { times: 2 })
      assert.match(
        (yield* send(adapter, chat, "Reports", "three")).note ?? "",
        /anew.*its topic is gone; sent to the chat itself/
      )
      assert.deepStrictEqual((yield* arrived(chat))[2], ["three", null])
      assert.strictEqual((yield* opened).length, 3)
      // One that is numbered is nobody's to open again.
      yield* send(adapter, chat, String(before), "four")
      assert.strictEqual((yield* opened).length, 3)
      assert.deepStrictEqual((yield* arrived(chat))[3], ["four", null])
    })
  )

  it.scoped("a topic that was opened before the message got lost is the next message's", () =>
    Effect.gen(function* () {
      const { arrived, chat, opened, server, start } = yield* world
      yield* server.fault("sendMessage", Faults.drop)
      assert.strictEqual((yield* Effect.flip(send(yield* start, chat, "Reports", "lost")))._tag, "SendUncertain")
      yield* send(yield* start, chat, "Reports", "found")
      assert.deepStrictEqual(yield* opened, ["Reports"])
      assert.strictEqual((yield* arrived(chat)).length, 1)
    })
  )

  it.scoped("a chat without topics refuses in words, and a doubt about the opening is none about the message", () =>
    Effect.gen(function* () {
      const { chat, opened, server, start } = yield* world
      const adapter = yield* start
      const plain = server.dm(server.user(2))
      const refused = yield* Effect.flip(send(adapter, plain, "Reports", "one"))
      assert.strictEqual(refused._tag === "SendRefused" ? refused.code : "", "no_topics")
      assert.match(
        refused.message,
        /“Reports” could not be opened: .*not a forum.*@BotFather.*telegram:500000002 without/
      )
      assert.deepStrictEqual(yield* server.posted(plain), [])
      yield* server.fault("createForumTopic", Faults.drop)
      assert.strictEqual((yield* Effect.flip(send(adapter, chat, "Reports", "two")))._tag, "SendRetryable")
      yield* TestClock.adjust("5 seconds")
      yield* send(adapter, chat, "x".repeat(127) + "😀😀", "three")
      assert.deepStrictEqual(yield* opened, ["Reports", "Reports", "x".repeat(127) + "😀"])
    })
  )
})
