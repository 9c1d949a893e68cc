import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, TestClock } from "effect"
import { type Address, address } from "../../../src/fibers/DeliveryOrigin.js"
import type { Adapter, OutboundMessage } from "../../../src/services/adapter/Adapter.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import { withWall } from "../support/wallClock.js"
import { connect } from "./connected.js"
import { settle } from "./until.js"

const { Faults } = TelegramServer

const at = (chat: { readonly id: number }, fields: Partial<Address> = {}): Address =>
  address({ platform: "telegram", chatId: String(chat.id), ...fields })

const send = (adapter: Adapter, where: Address, text: string, fields: Partial<OutboundMessage> = {}) =>
  adapter.send({ address: where, text, deliveryId: text, transcriptId: null, buttons: [], ...fields })

const sent = (server: TelegramServer.TelegramServer, text: string) =>
  server.calls.waitFor(text, (call) => call.method === "sendMessage" && call.text === text)

const methods = (server: TelegramServer.TelegramServer) =>
  Effect.map(server.calls.all, (calls) => calls.map((call) => call.method))

describe("Telegram outbound", () => {
  it.scoped("goes to the chat itself when the topic is gone, and says so", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const forum = server.group(1, { is_forum: true })
      yield* server.addTopic(forum, 7)
      const where = at(forum, { threadId: "7" })
      assert.isNull((yield* send(adapter, where, "there")).note)
      yield* server.removeTopic(forum, 7)
      assert.match((yield* send(adapter, where, "gone")).note ?? "", /topic is gone/)
      assert.deepStrictEqual(
        (yield* server.posted(forum)).map(({ text, threadId }) => [text, threadId]),
        [
          ["there", 7],
          ["gone", null]
        ]
      )
    })
  )

  it.scoped("has failed, with what to do, from a refusal of its token on, before a poll is told so", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      yield* server.fault("sendMessage", Faults.unauthorized)
      const error = yield* Effect.flip(send(adapter, at(server.dm(server.user(1))), "hello"))
      assert.match(error.message, /^telegram refuses the token: .*Unauthorized/)
      const state = yield* adapter.state
      assert.strictEqual(state._tag, "Failed")
      assert.include(state._tag === "Failed" ? state.remedy : "", "TELEGRAM_BOT_TOKEN")
    })
  )

  it.scoped("routes into a private topic by its id and an answer, also when nothing is answered", () =>
    Effect.gen(function* () {
      const { server, adapter, admission } = yield* connect()
      const ada = server.user(1)
      const chat = server.dm(ada)
      yield* server.addTopic(chat, 5)
      const asked = yield* server.say({ chat, from: ada, text: "asked", topic: 5 })
      yield* admission.admitted.waitFor("it", () => true)
      yield* send(adapter, at(chat, { threadId: "5", anchor: String(asked) }), "an answer")
      yield* send(adapter, at(chat, { threadId: "5" }), "a notice")
      const own = (yield* server.posted(chat)).filter((message) => message.from.is_bot)
      assert.deepStrictEqual(
        own.map(({ text, threadId, replyTo }) => [text, threadId, replyTo]),
        [
          ["an answer", 5, asked],
          ["a notice", 5, asked]
        ]
      )
    })
  )

  it.scoped("writes into General without its id, which only the typing sign takes", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const forum = server.group(1, { is_forum: true })
      yield* send(adapter, at(forum, { threadId: "1" }), "to all")
      assert.isNull((yield* sent(server, "to all")).threadId)
      yield* adapter.typing(at(forum, { threadId: "1" }))
      assert.strictEqual(
        (yield* server.calls.waitFor("typing", (call) => call.method === "sendChatAction")).threadId,
        1
      )
    })
  )

  it.scoped("asks once what kind of chat it is, and addresses a channel's direct messages in their own way", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const direct = server.group(1, { is_direct_messages: true })
      for (const text of ["one", "two"]) yield* send(adapter, at(direct, { threadId: "9" }), text)
      const call = yield* sent(server, "two")
      assert.strictEqual(call.parameters["direct_messages_topic_id"], 9)
      assert.notProperty(call.parameters, "message_thread_id")
      assert.deepStrictEqual(yield* methods(server), ["getMe", "getChat", "sendMessage", "sendMessage"])
      // A topic in a private chat has the same shape of address and is none of those (seed: #52060).
      const chat = server.dm(server.user(1))
      yield* server.addTopic(chat, 9)
      yield* send(adapter, at(chat, { threadId: "9" }), "three")
      assert.strictEqual((yield* sent(server, "three")).parameters["message_thread_id"], 9)
      // A chat that cannot be looked up is taken for one with ordinary topics.
      const forum = server.group(2, { is_forum: true })
      yield* server.addTopic(forum, 9)
      yield* server.fault("getChat", Faults.page(502))
      yield* send(adapter, at(forum, { threadId: "9" }), "four")
      assert.strictEqual((yield* sent(server, "four")).parameters["message_thread_id"], 9)
    })
  )

  it.scoped("needs no question about a chat that it was written from", () =>
    Effect.gen(function* () {
      const { server, adapter, admission } = yield* connect({ requireMention: false })
      const forum = server.group(1, { is_forum: true })
      yield* server.addTopic(forum, 7)
      yield* server.say({ chat: forum, from: server.user(1), text: "hi", topic: 7 })
      yield* admission.admitted.waitFor("it", () => true)
      yield* send(adapter, at(forum, { threadId: "7" }), "hello")
      assert.notInclude(yield* methods(server), "getChat")
      assert.deepStrictEqual(yield* adapter.chatInfo(String(forum.id)), { name: "Group 1", type: "group" })
      assert.notInclude(yield* methods(server), "getChat")
    })
  )

  it.scoped("follows a group that became a supergroup", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const old = server.group(1)
      const grown = server.group(2)
      yield* server.fault("sendMessage", Faults.migrated(grown.id), { chatId: old.id })
      assert.match((yield* send(adapter, at(old), "hello")).note ?? "", /supergroup/)
      assert.deepStrictEqual(
        (yield* server.posted(grown)).map((message) => message.text),
        ["hello"]
      )
    })
  )

  it.scoped("does not circle when every detour fails", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const chat = server.group(1)
      yield* server.fault("sendMessage", Faults.migrated(chat.id - 1), { times: 50 })
      const error = yield* Effect.flip(send(adapter, at(chat), "x"))
      assert.strictEqual(error._tag, "SendRefused")
      assert.isAtMost((yield* methods(server)).filter((method) => method === "sendMessage").length, 3)
    })
  )

  it.scoped("answers a message that was deleted without it", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const chat = server.dm(server.user(1))
      yield* send(adapter, at(chat, { anchor: "4711" }), "still")
      assert.isNull((yield* server.posted(chat))[0]?.replyTo ?? null)
    })
  )

  it.scoped("leaves a chat alone no longer when the clock is set back", () =>
    withWall((set) =>
      Effect.gen(function* () {
        const { server, adapter } = yield* connect()
        const chat = server.dm(server.user(1))
        yield* server.fault("sendMessage", Faults.floodControl(5))
        yield* Effect.flip(send(adapter, at(chat), "first"))
        yield* set(-3_600_000)
        yield* TestClock.adjust("5 seconds")
        yield* send(adapter, at(chat), "second")
        assert.lengthOf(yield* server.posted(chat), 1)
      })
    )
  )

  it.scoped("leaves a chat alone while flood control lasts, and no other", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const [chat, other] = [server.dm(server.user(1)), server.dm(server.user(2))]
      yield* server.fault("sendMessage", Faults.floodControl(5))
      yield* Effect.flip(send(adapter, at(chat), "first"))
      yield* TestClock.adjust("2 seconds")
      const error = yield* Effect.flip(send(adapter, at(chat), "second"))
      assert.deepInclude({ ...error }, { _tag: "SendRetryable", retryAfterMillis: 3_000 })
      yield* adapter.typing(at(chat))
      assert.deepStrictEqual(yield* methods(server), ["getMe", "sendMessage"])
      yield* send(adapter, at(other), "third")
      yield* TestClock.adjust("3 seconds")
      yield* send(adapter, at(chat), "fourth")
      assert.deepStrictEqual(
        (yield* server.posted(chat)).map((message) => message.text),
        ["fourth"]
      )
    })
  )

  it.scoped.each([
    ["lost before it was taken", Faults.drop, false],
    ["lost after it was taken", Faults.drop, true],
    ["answered by a proxy that gave up", Faults.page(502), true],
    ["answered 500", Faults.serverError(500), true],
    ["answered with nonsense", Faults.garbage(), true]
  ] as const)("says uncertain when the answer is %s", ([, fault, accepted]) =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const chat = server.dm(server.user(1))
      // On a new connection, and on one that was kept from an earlier call.
      for (const other of [server.dm(server.user(2)), chat]) {
        yield* server.fault("sendMessage", fault, { accepted })
        const error = yield* Effect.flip(send(adapter, at(other), "perhaps"))
        assert.strictEqual(error._tag, "SendUncertain")
        yield* settle
        assert.strictEqual((yield* server.posted(other)).length, accepted ? 1 : 0)
        yield* adapter.typing(at(other))
      }
    })
  )

  it.scoped.each([true, false])("waits 30 s for an answer and no longer (taken: %s)", (accepted) =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const chat = server.dm(server.user(1))
      yield* server.fault("sendMessage", Faults.hang, { accepted })
      const sending = yield* Effect.fork(Effect.flip(send(adapter, at(chat), "slow")))
      yield* server.calls.waitFor("the call", (call) => call.text === "slow")
      yield* TestClock.adjust("29 seconds")
      yield* settle
      assert.isNull(sending.unsafePoll())
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Effect.fromFiber(sending))._tag, "SendUncertain")
    })
  )

  it.scoped("says that nothing left when there is nobody to take it", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const chat = server.dm(server.user(1))
      yield* server.down
      yield* settle
      const error = yield* Effect.flip(send(adapter, at(chat), "x"))
      assert.deepInclude({ ...error }, { _tag: "SendRetryable", retryAfterMillis: null })
      assert.notInclude(JSON.stringify(error), server.token)
    })
  )

  it.scoped("ends a call that nobody waits for any more", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const chat = server.dm(server.user(1))
      yield* server.fault("sendMessage", Faults.hang)
      const sending = yield* Effect.fork(send(adapter, at(chat), "slow"))
      yield* server.calls.waitFor("the call", (call) => call.text === "slow")
      yield* Effect.sync(() => sending.unsafeInterruptAsFork(sending.id()))
      assert.isTrue(Exit.isInterrupted(yield* sending.await))
      yield* send(adapter, at(chat), "next")
    })
  )

  it.scoped("reacts to a message, takes it back, and says what Telegram does not know", () =>
    Effect.gen(function* () {
      const { adapter, server } = yield* connect()
      const chat = server.dm(server.user(1))
      const { platformMessageId } = yield* send(adapter, at(chat), "well")
      const react = (id: string | null, emoji: string | null) =>
        adapter.react?.(at(chat), id ?? "", emoji) ?? Effect.void
      yield* react(platformMessageId, "👍")
      assert.deepStrictEqual((yield* server.posted(chat))[0]?.reactions, ["👍"])
      yield* react(platformMessageId, null)
      assert.deepStrictEqual((yield* server.posted(chat))[0]?.reactions, [])
      for (const [id, emoji, code] of [
        [platformMessageId, "🦀", "reaction_unknown"],
        ["999", "👍", "message_gone"],
        ["no id", "👍", "message_gone"]
      ] as const)
        assert.deepInclude(yield* Effect.flip(react(id, emoji)), { _tag: "SendRefused", code })
    })
  )

  it.scoped("may repeat an edit whose answer is lost", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const chat = server.dm(server.user(1))
      const { platformMessageId } = yield* send(adapter, at(chat), "a")
      yield* server.fault("editMessageText", Faults.drop, { accepted: true })
      const edit = adapter.edit(at(chat), platformMessageId ?? "", "b", { final: true })
      assert.strictEqual((yield* Effect.flip(edit))._tag, "SendRetryable")
      yield* edit
      assert.deepInclude((yield* server.posted(chat))[0], { text: "b", edits: 1 })
    })
  )

  it.scoped("shows code as code", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const chat = server.dm(server.user(1))
      const { platformMessageId } = yield* send(adapter, at(chat), "So:\n```ts\nlet a\n```")
      const pre = [{ type: "pre", offset: 4, length: 5, language: "ts" }]
      assert.deepInclude((yield* server.posted(chat))[0], { text: "So:\nlet a", entities: pre })
      yield* adapter.edit(at(chat), platformMessageId ?? "", "So:\n```ts\nlet b\n```", { final: true })
      assert.deepInclude((yield* server.posted(chat))[0], { text: "So:\nlet b", entities: pre })
    })
  )

  it.scoped("leaves out a button whose value is too long, and says so", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const chat = server.dm(server.user(1))
      const buttons = [
        { label: "Yes", value: "y".repeat(64) },
        { label: "Why", value: "😀".repeat(17) }
      ]
      const receipt = yield* send(adapter, at(chat), "?", { buttons })
      assert.match(receipt.note ?? "", /Why/)
      assert.deepStrictEqual(
        (yield* server.posted(chat))[0]?.buttons.map((button) => button.text),
        ["Yes"]
      )
    })
  )

  it.scoped("gives the typing sign up after 1.5 s", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const chat = server.dm(server.user(1))
      yield* server.fault("sendChatAction", Faults.hang)
      const typing = yield* Effect.fork(adapter.typing(at(chat)))
      yield* server.calls.waitFor("it", (call) => call.method === "sendChatAction")
      yield* TestClock.adjust("1500 millis")
      yield* Effect.fromFiber(typing)
    })
  )

  it.scoped("takes a channel by its name, and refuses a topic that is no number", () =>
    Effect.gen(function* () {
      const { server, adapter } = yield* connect()
      const channel = server.group(1, { type: "channel", username: "news" })
      yield* send(adapter, address({ platform: "telegram", chatId: "@news" }), "extra")
      assert.strictEqual((yield* server.posted(channel)).length, 1)
      const error = yield* Effect.flip(send(adapter, at(channel, { threadId: "general" }), "x"))
      assert.strictEqual(error._tag, "SendRefused")
    })
  )
})
