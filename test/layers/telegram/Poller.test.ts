import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Redacted, Scope, TestClock } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as Registry from "../../../src/layers/adapter/AdapterRegistry.js"
import * as TelegramAdapter from "../../../src/layers/telegram/TelegramAdapter.js"
import type { Adapter, AdapterState } from "../../../src/services/adapter/Adapter.js"
import { GatewayLock, TokenInUse } from "../../../src/services/operation/GatewayLock.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import { scaled } from "../../scale.js"
import { advancing } from "../../contract/Adapter.js"
import * as AdapterAdmission from "../../contract/AdapterAdmission.js"
import { adapterFor, connect, settingsOf, shelf } from "./connected.js"
import { directoryOf } from "./directory.js"
import { settle, until } from "./until.js"

const { Faults } = TelegramServer

const stateOf = (adapter: Adapter, tag: AdapterState["_tag"]) =>
  until(`the state ${tag}`, adapter.state, (state) => state._tag === tag)

const texts = (admission: AdapterAdmission.AdapterAdmission) =>
  Effect.map(admission.admitted.all, (all) => all.map((one) => one.event.text))

const started = (server: Parameters<typeof adapterFor>[0], environment = {}) =>
  Effect.gen(function* () {
    const admission = yield* AdapterAdmission.make
    const adapter = yield* adapterFor(server, admission, { requireMention: false }, environment)
    return { admission, adapter: adapter ?? assert.fail("no adapter") }
  })

describe("Telegram poller", () => {
  it.scoped("gives up on a token that is refused, says what to do, and asks no more", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer.make()
      const { adapter } = yield* started({ ...server, token: "4242:revoked" })
      const state = yield* stateOf(adapter, "Failed")
      assert.match(state._tag === "Failed" ? state.remedy : "", /TELEGRAM_BOT_TOKEN/)
      const before = yield* server.connections
      yield* TestClock.adjust("1 hour")
      yield* settle
      assert.strictEqual(yield* server.connections, before)
      assert.notInclude(JSON.stringify(state), "revoked")
    })
  )

  it.scoped("comes back by itself when the network does, with what was written meanwhile", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer.make()
      yield* server.down
      const { adapter, admission } = yield* started(server)
      const away = yield* stateOf(adapter, "Reconnecting")
      assert.match(away._tag === "Reconnecting" ? away.error : "", /ECONNREFUSED/)
      const chat = server.dm(server.user(1))
      yield* server.say({ chat, from: server.user(1), text: "while away" })
      yield* server.up
      yield* advancing(stateOf(adapter, "Connected"))
      yield* admission.admitted.waitFor("it", (one) => one.event.text === "while away")
      yield* server.down
      yield* stateOf(adapter, "Reconnecting")
      yield* server.say({ chat, from: server.user(1), text: "again" })
      yield* server.up
      yield* advancing(admission.admitted.waitFor("it", (one) => one.event.text === "again"))
      yield* advancing(stateOf(adapter, "Connected"))
    })
  )

  it.scoped("backs off to 30 s and never stops trying", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer.make()
      yield* server.fault("getMe", Faults.page(503), { times: 40 })
      const { adapter } = yield* started(server)
      yield* stateOf(adapter, "Reconnecting")
      let minutes = 0
      const minute = Effect.gen(function* () {
        yield* settle
        yield* TestClock.adjust("30 seconds")
        yield* settle
        yield* TestClock.adjust("30 seconds")
        minutes += 1
        return yield* adapter.state
      })
      yield* until("it comes back", minute, (state) => state._tag === "Connected")
      // Forty failures, each but the first few followed by 15 to 30 s.
      assert.isAbove(minutes, 8)
    })
  )

  it.scoped("survives whatever a poll answers, without losing or repeating anything", () =>
    Effect.gen(function* () {
      const { server, admission, adapter } = yield* connect()
      const chat = server.dm(server.user(1))
      const faults = [
        Faults.page(502),
        Faults.garbage(),
        Faults.garbage("[]"),
        Faults.garbage('{"ok":true,"result":{}}')
      ]
      for (const [index, fault] of [
        ...faults,
        Faults.drop,
        Faults.serverError(500),
        Faults.floodControl(3)
      ].entries()) {
        yield* server.fault("getUpdates", fault)
        yield* server.say({ chat, from: server.user(1), text: `before ${index}` })
        yield* server.say({ chat, from: server.user(1), text: `after ${index}` })
        yield* advancing(admission.admitted.waitFor("the second", (one) => one.event.text === `after ${index}`))
      }
      yield* advancing(stateOf(adapter, "Connected"))
      assert.deepStrictEqual(
        yield* texts(admission),
        Array.from({ length: 7 }, (_, n) => [`before ${n}`, `after ${n}`]).flat()
      )
    })
  )

  it.scoped("waits for flood control as long as it is told", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer.make()
      yield* server.fault("getUpdates", Faults.floodControl(60))
      const { adapter } = yield* started(server)
      yield* stateOf(adapter, "Reconnecting")
      yield* settle
      yield* TestClock.adjust("59 seconds")
      yield* settle
      assert.strictEqual((yield* adapter.state)._tag, "Reconnecting")
      yield* TestClock.adjust("1 second")
      yield* stateOf(adapter, "Connected")
    })
  )

  it.scoped("forgives one conflict and gives up on another poller", () =>
    Effect.gen(function* () {
      const { server, adapter, admission } = yield* connect()
      const chat = server.dm(server.user(1))
      yield* server.fault("getUpdates", Faults.conflict)
      yield* server.say({ chat, from: server.user(1), text: "one" })
      yield* server.say({ chat, from: server.user(1), text: "two" })
      yield* advancing(admission.admitted.waitFor("it", (one) => one.event.text === "two"))
      yield* server.fault("getUpdates", Faults.conflict, { times: 3 })
      yield* server.say({ chat, from: server.user(1), text: "three" })
      const state = yield* advancing(stateOf(adapter, "Failed"))
      assert.match(state._tag === "Failed" ? state.remedy : "", /another program polls/)
      // What is to be said may still be said.
      const address = { platform: "telegram", chatId: String(chat.id), threadId: null, anchor: null, scopeId: null }
      yield* adapter.send({ address, text: "still here", deliveryId: "1", transcriptId: null, buttons: [] })
    })
  )

  it.scoped("removes a webhook and keeps what waits", () =>
    Effect.gen(function* () {
      const { server, admission } = yield* connect()
      const conflict = Faults.error(409, "Conflict: can't use getUpdates method while webhook is active")
      yield* server.fault("getUpdates", conflict)
      const chat = server.dm(server.user(1))
      yield* server.say({ chat, from: server.user(1), text: "one" })
      yield* server.say({ chat, from: server.user(1), text: "two" })
      yield* advancing(admission.admitted.waitFor("it", (one) => one.event.text === "two"))
      const call = yield* server.calls.waitFor("deleteWebhook", (one) => one.method === "deleteWebhook")
      assert.notStrictEqual(call.parameters["drop_pending_updates"], true)
    })
  )

  it.scoped("admits once what comes twice, out of order or late", () =>
    Effect.gen(function* () {
      const { server, admission } = yield* connect()
      const chat = server.dm(server.user(1))
      const say = (text: string) => server.say({ chat, from: server.user(1), text })
      yield* server.fault("getUpdates", Faults.page(502))
      yield* say("wake")
      yield* server.distort((batch) => [...batch].reverse().concat(batch))
      yield* Effect.forEach(["a", "b", "c"], say)
      yield* advancing(admission.admitted.waitFor("c", (one) => one.event.text === "c"))
      let late: ReadonlyArray<unknown> = []
      yield* server.distort((batch) => {
        late = batch
        return []
      })
      yield* say("late")
      yield* until(
        "it was held back",
        Effect.sync(() => late.length),
        (held) => held > 0
      )
      yield* server.distort((batch) => [...batch.slice(1), ...late, ...batch])
      yield* say("d")
      yield* say("e")
      yield* advancing(admission.admitted.waitFor("e", (one) => one.event.text === "e"))
      yield* until("everything confirmed", server.pending, (pending) => pending === 0)
      const all = yield* texts(admission)
      assert.deepStrictEqual([...all].sort(), ["a", "b", "c", "d", "e", "late", "wake"])
      assert.deepStrictEqual(all.slice(0, 4), ["wake", "a", "b", "c"])
    })
  )

  it.scoped("passes over what it cannot read without losing what follows", () =>
    Effect.gen(function* () {
      const { server, admission } = yield* connect()
      const chat = server.dm(server.user(1))
      const strange: ReadonlyArray<Record<string, unknown>> = [
        { telepathy: { from: "beyond" } },
        { message: { message_id: "no number" } },
        { message: null },
        { callback_query: { id: 3 } },
        { my_chat_member: { chat } },
        {}
      ]
      for (const [index, fields] of strange.entries()) {
        yield* server.update(fields)
        yield* server.say({ chat, from: server.user(1), text: `after ${index}` })
      }
      const written = yield* server.say({ chat, from: server.user(1), text: "said" })
      yield* server.edit({ chat, from: server.user(1), messageId: written, text: "changed" })
      yield* server.say({ chat, from: server.user(1), text: "/start" })
      yield* server.distort((batch) => [null, "x", { update_id: "y" }, ...batch])
      yield* server.say({ chat, from: server.user(1), text: "last" })
      yield* admission.admitted.waitFor("the last", (one) => one.event.text === "last")
      assert.deepStrictEqual(yield* texts(admission), [...strange.map((_, index) => `after ${index}`), "said", "last"])
      yield* until("everything confirmed", server.pending, (pending) => pending === 0)
    })
  )

  it.scoped("makes one message of an album, unconfirmed until it is whole, and keeps nobody else waiting", () =>
    Effect.gen(function* () {
      const { server, admission } = yield* connect()
      const [ada, bob] = [server.user(1), server.user(2)]
      const ids = yield* server.album({ chat: server.dm(ada), from: ada, text: "my holidays" }, 3)
      yield* server.say({ chat: server.dm(bob), from: bob, text: "hello" })
      yield* advancing(admission.admitted.waitFor("the other chat", (one) => one.event.text === "hello"))
      assert.isAtLeast(yield* server.pending, 3)
      assert.strictEqual(yield* admission.calls, 1)
      const { event } = yield* advancing(
        admission.admitted.waitFor("the album", (one) => one.event.text.startsWith("my holidays"))
      )
      assert.strictEqual(event.text.match(/photo \(/g)?.length, 3)
      assert.strictEqual(event.messageId, String(ids.at(-1)))
      yield* advancing(until("everything confirmed", server.pending, (pending) => pending === 0))
      assert.strictEqual(yield* admission.calls, 2)
    })
  )

  it.scoped("makes one message of a text that the client split", () =>
    Effect.gen(function* () {
      const { server, admission } = yield* connect()
      const chat = server.dm(server.user(1))
      for (const text of ["a".repeat(4_096), "b".repeat(4_096), "end"]) {
        yield* server.say({ chat, from: server.user(1), text })
      }
      const { event } = yield* advancing(admission.admitted.waitFor("it", (one) => one.event.text.endsWith("end")))
      assert.strictEqual(event.text, `${"a".repeat(4_096)}\n${"b".repeat(4_096)}\nend`)
    })
  )

  it.scoped("does not let a full batch behind an album stand still", () =>
    Effect.gen(function* () {
      const { server, admission } = yield* connect()
      const ada = server.user(1)
      yield* admission.close
      yield* server.say({ chat: server.dm(ada), from: ada, text: "first" })
      yield* settle
      yield* server.album({ chat: server.dm(ada), from: ada }, 2)
      for (let n = 0; n < 250; n += 1) {
        const user = server.user(2 + (n % 7))
        yield* server.say({ chat: server.dm(user), from: user, text: `n ${n}` })
      }
      yield* admission.open
      // Without the clock moving the album cannot become due.
      yield* advancing(admission.admitted.waitFor("the last", (one) => one.event.text === "n 249"))
      yield* advancing(until("everything confirmed", server.pending, (pending) => pending === 0))
      assert.strictEqual((yield* texts(admission)).length, 252)
    })
  )

  it.scoped("retries a message that breaks admission and then lets it go, the other chats unharmed", () =>
    Effect.gen(function* () {
      const { server, admission } = yield* connect()
      const [ada, bob] = [server.user(1), server.user(2)]
      yield* admission.breakNext(3)
      yield* server.say({ chat: server.dm(ada), from: ada, text: "poison" })
      yield* advancing(until("three attempts", admission.calls, (calls) => calls === 3))
      yield* server.say({ chat: server.dm(bob), from: bob, text: "fine" })
      yield* advancing(admission.admitted.waitFor("the other", (one) => one.event.text === "fine"))
      yield* advancing(until("everything confirmed", server.pending, (pending) => pending === 0))
      assert.deepStrictEqual(yield* texts(admission), ["fine"])
    })
  )

  it.scoped("confirms what it took when it ends, and only that", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer.make()
      const admission = yield* AdapterAdmission.make
      const scope = yield* Scope.make()
      yield* adapterFor(server, admission).pipe(Scope.extend(scope))
      yield* server.polls.waitFor("a poll", () => true)
      const chat = server.dm(server.user(1))
      // Ends in the middle of admission: not taken, so it comes again.
      yield* admission.close
      yield* server.say({ chat, from: server.user(1), text: "in the middle" })
      yield* settle
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* server.pending, 1)
      yield* admission.open
      const again = yield* Scope.make()
      yield* adapterFor(server, admission).pipe(Scope.extend(again))
      yield* admission.admitted.waitFor("it", (one) => one.event.text === "in the middle")
      yield* server.say({ chat, from: server.user(1), text: "held" })
      yield* admission.admitted.waitFor("it", (one) => one.event.text === "held")
      yield* Scope.close(again, Exit.void)
      assert.strictEqual(yield* server.pending, 0)
    })
  )

  it.scoped("gets again after a crash what was admitted and not confirmed, and admission knows it", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer.make()
      const admission = yield* AdapterAdmission.make
      const scope = yield* Scope.make()
      const adapter = yield* adapterFor(server, admission).pipe(Scope.extend(scope))
      yield* server.polls.waitFor("a poll", () => true)
      // The poll that would confirm it fails, and so does the last word: all that a crash can do.
      yield* server.fault("getUpdates", Faults.page(502), { times: 2 })
      yield* server.say({ chat: server.dm(server.user(1)), from: server.user(1), text: "once" })
      yield* stateOf(adapter ?? assert.fail("no adapter"), "Reconnecting")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* server.pending, 1)
      yield* adapterFor(server, admission)
      yield* until("everything confirmed", server.pending, (pending) => pending === 0)
      assert.strictEqual(yield* admission.calls, 2)
      assert.deepStrictEqual(yield* texts(admission), ["once"])
    })
  )

  it.scoped("acknowledges a press and says why when it did nothing", () =>
    Effect.gen(function* () {
      const { server, admission, adapter } = yield* connect()
      const user = server.user(1)
      const chat = server.dm(user)
      const address = { platform: "telegram", chatId: String(chat.id), threadId: null, anchor: null, scopeId: null }
      const buttons = [{ label: "Yes", value: "approve:1" }]
      const { platformMessageId } = yield* adapter.send({
        address,
        text: "?",
        deliveryId: "1",
        transcriptId: null,
        buttons
      })
      const press = server.press({ chat, from: user, messageId: Number(platformMessageId), value: "approve:1" })
      const answer = (id: string) =>
        server.calls.waitFor("the answer", (call) => call.parameters["callback_query_id"] === id)
      assert.isNull((yield* answer(yield* press)).text)
      yield* admission.answerNext({ _tag: "Ignored", rule: "a stranger" })
      assert.match((yield* answer(yield* press)).text ?? "", /not yours/)
      yield* admission.answerNext({ _tag: "Refused", code: "drain.refused", text: "shutting down" })
      assert.strictEqual((yield* answer(yield* press)).text, "shutting down")
    })
  )

  it.scoped("keeps a cron marker that the process was started with", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer.make()
      const { admission } = yield* started(server, { HERMES_CRON_SESSION: "1", HERMES_CRON_JOB_ID: "job" })
      yield* server.say({ chat: server.dm(server.user(1)), from: server.user(1), text: "x" })
      const { arrival } = yield* admission.admitted.waitFor("it", () => true)
      assert.strictEqual(arrival.marker._tag, "Cron")
    })
  )

  it.scoped("is not there when it is disabled or has no token", () =>
    Effect.gen(function* () {
      const server = yield* TelegramServer.make()
      const admission = yield* AdapterAdmission.make
      assert.isNull(yield* adapterFor(server, admission, { enabled: false }))
      assert.isNull(yield* adapterFor(server, admission, { token: null }))
      yield* settle
      assert.strictEqual(yield* server.connections, 0)
    })
  )

  it.scoped("says what is wrong with an address that is none", () =>
    Effect.gen(function* () {
      const { adapter } = yield* started({ apiRoot: "telegram.example", token: "4242:loopback" })
      const state = yield* stateOf(adapter, "Failed")
      assert.match(state._tag === "Failed" ? state.remedy : "", /api_root/)
      const address = { platform: "telegram", chatId: "1", threadId: null, anchor: null, scopeId: null }
      const message = { address, text: "x", deliveryId: "1", transcriptId: null, buttons: [] }
      const error = yield* Effect.flip(adapter.send(message))
      assert.match(error.message, /api_root/)
    })
  )

  it.scoped("does not start beside a gateway that has the same token", () =>
    Effect.gen(function* () {
      const admission = yield* AdapterAdmission.make
      const taken = Layer.succeed(GatewayLock, {
        home: "/nowhere",
        holdToken: (platform) => Effect.fail(new TokenInUse({ platform }))
      })
      const edges = Layer.mergeAll(
        admission.layer,
        directoryOf(),
        shelf,
        Registry.layer,
        AmbientEnvironment.layer({}),
        taken,
        settingsOf({ token: Redacted.make("1:x"), apiRoot: "http://127.0.0.1:9" })
      )
      const exit = yield* Effect.exit(Layer.build(TelegramAdapter.layer.pipe(Layer.provide(edges))))
      assert.match(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", /already uses this telegram token/)
    })
  )

  it.scoped("keeps its connections", () =>
    Effect.gen(function* () {
      const { server, admission, adapter } = yield* connect()
      const user = server.user(1)
      const chat = server.dm(user)
      const address = { platform: "telegram", chatId: String(chat.id), threadId: null, anchor: null, scopeId: null }
      for (let n = 0; n < scaled(300, 30); n += 1) {
        yield* server.say({ chat, from: user, text: `ask ${n}` })
        yield* admission.admitted.waitFor("it", (one) => one.event.text === `ask ${n}`)
        yield* adapter.send({ address, text: `answer ${n}`, deliveryId: `${n}`, transcriptId: null, buttons: [] })
      }
      assert.isAtMost(yield* server.connections, 3)
    })
  )
})
