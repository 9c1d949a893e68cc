import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Layer, Ref, Schema, type Scope, TestServices } from "effect"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as WebAdapter from "../../../src/layers/web/Adapter.js"
import { ApiServer, type ApiServerError } from "../../../src/services/api/ApiServer.js"
import { MessageView } from "../../../src/services/api/Sessions.js"
import { Delivery, type Outgoing } from "../../../src/services/delivery/Delivery.js"
import { Outbox } from "../../../src/services/delivery/Outbox.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { SessionId } from "../../../src/services/session/Session.js"
import { SessionKey } from "../../../src/services/session/SessionKey.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { Transcript } from "../../../src/services/session/Transcript.js"
import { Database } from "../../../src/services/state/Database.js"
import { StateLocked } from "../../../src/services/state/StateError.js"
import { adapterContract, type AdapterHarness, type PlatformFault } from "../../contract/Adapter.js"
import * as AdapterAdmission from "../../contract/AdapterAdmission.js"
import { sourceOf } from "../../../src/layers/http/Surfaces.js"
import { ask, backstage, fetching, serverBefore } from "../http/support.js"

const rowsOf = Schema.decodeUnknownSync(Schema.Array(MessageView))

/** Stores that fail once on command; the adapter alone stands on them. */
const faulty = (context: Context.Context<SessionStore | Database>, fault: Ref.Ref<PlatformFault | null>) => {
  const sessions = Context.get(context, SessionStore)
  const database = Context.get(context, Database)
  const struck = (which: PlatformFault) =>
    Effect.map(
      Ref.getAndUpdate(fault, (now) => (now === which ? null : now)),
      (now) => now === which
    )
  return Layer.merge(
    Layer.succeed(SessionStore, {
      ...sessions,
      get: (id) => Effect.flatMap(struck("chat_not_found"), (gone) => (gone ? Effect.succeed(null) : sessions.get(id)))
    }),
    Layer.succeed(Database, {
      ...database,
      write: (operation, step, patience) =>
        Effect.flatMap(struck("unreachable"), (locked) =>
          locked
            ? Effect.fail(new StateLocked({ operation, detail: "held", waitedMillis: 20_000 }))
            : database.write(operation, step, patience)
        )
    })
  )
}

/** The page's client: it posts one message after the other and posts again what was not taken. */
const harness: Effect.Effect<AdapterHarness, ApiServerError, Scope.Scope> = Effect.gen(function* () {
  const admission = yield* AdapterAdmission.make
  const context = yield* TestServices.provideLive(Layer.build(serverBefore(admission.layer)))
  const fault = yield* Ref.make<PlatformFault | null>(null)
  const adapter = yield* WebAdapter.make.pipe(Effect.provide(faulty(context, fault)), Effect.provide(context))
  const { url } = Context.get(context, ApiServer)
  const created = (yield* Effect.provide(ask("/api/sessions", { body: {} }), context)).json as { readonly id: string }
  const pending = yield* Ref.make(0)
  const ids = yield* Ref.make(0)
  const line = yield* Effect.makeSemaphore(1)

  const post = (text: string, messageId: string): Effect.Effect<void> =>
    Effect.promise(async () => {
      for (;;) {
        const response = await fetching(`${url}/api/sessions/${created.id}/chat`, {
          body: { text, messageId },
          headers: { accept: "text/event-stream" }
        })
        await response.body?.cancel()
        if (response.status < 500) return
      }
    })

  return {
    adapter,
    admission,
    places: {
      dm: DeliveryOrigin.address({ platform: "web", chatId: created.id }),
      group: null,
      thread: null
    },
    chatTypes: { dm: "dm", group: "group", thread: "thread" },
    say: (_, text) =>
      Effect.gen(function* () {
        const messageId = `m${yield* Ref.updateAndGet(ids, (n) => n + 1)}`
        yield* Effect.acquireUseRelease(
          Ref.update(pending, (n) => n + 1),
          () => line.withPermits(1)(post(text, messageId)),
          () => Ref.update(pending, (n) => n - 1)
        )
        return messageId
      }),
    press: null,
    shown: ({ chatId }) =>
      Effect.map(Effect.provide(ask(`/api/sessions/${chatId}/messages?limit=1000`), context), ({ json }) =>
        rowsOf(json).map((row) => ({
          messageId: String(row.id),
          text: row.text,
          threadId: null,
          replyTo: null,
          buttons: []
        }))
      ),
    fault: (next) => Ref.set(fault, next),
    acknowledged: Effect.repeat(
      Effect.zipRight(
        Effect.promise(() => new Promise(setImmediate)),
        Ref.get(pending)
      ),
      {
        until: (n) => n === 0
      }
    ).pipe(Effect.asVoid),
    unacknowledged: Ref.get(pending),
    without: new Set(["forbidden", "flood", "lost", "replies", "bots"])
  }
})

adapterContract("web", harness)

describe("the page as a platform", () => {
  const newSession = Effect.gen(function* () {
    const sessions = yield* SessionStore
    const database = yield* Database
    const id = SessionId.make("page_1")
    const origin = sourceOf({ surface: "web", sessionId: id, profile: "default", uiSessionId: null })
    const key = SessionKey.make("agent:main:web:dm:page_1")
    return yield* database.write(
      "test.create",
      sessions.create({ id, key, source: "web", origin, parentId: null, hidden: false, model: null })
    )
  })

  const outgoing = (text: string, facts: Partial<Outgoing> = {}): Outgoing => ({
    cause: { kind: "send_message", id: `call_${text}` },
    address: DeliveryOrigin.address({ platform: "web", chatId: "page_1" }),
    text,
    via: "origin",
    transcriptId: null,
    replyToPerson: false,
    ...facts
  })

  const run = <A, E>(self: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof backstage>> | Scope.Scope>) =>
    Effect.provide(self, backstage())

  it.scopedLive("keeps what arrives as a row, an event and an unread mark, with the row as its proof", () =>
    run(
      Effect.gen(function* () {
        const session = yield* newSession
        const heard = yield* (yield* Activity).watch((event) => event._tag === "message.stored")
        const delivered = yield* (yield* Delivery).deliver(outgoing("your job is done"))
        const rows = yield* (yield* Transcript).load(session.id)
        assert.deepStrictEqual(
          rows.map((row) => [row.message._tag, row.message.text]),
          [["assistant", "your job is done"]]
        )
        assert.include(delivered.deliveries[0], { state: "sent", platformMessageId: String(rows[0]?.id) })
        const [event] = yield* heard.take
        assert.deepInclude(event, { sessionId: session.id, sessionKey: session.key ?? "", messageId: rows[0]?.id })
        assert.isTrue((yield* (yield* SessionStore).get(session.id))?.unread)
      })
    )
  )

  it.scopedLive("adds no second row where the answer has one", () =>
    run(
      Effect.gen(function* () {
        const session = yield* newSession
        const transcript = yield* Transcript
        const [row] = yield* (yield* Database).write(
          "test.answer",
          transcript.append(session.id, "turn_1", [
            { _tag: "assistant", text: "hello", reasoning: null, toolCalls: [], finishReason: "stop" }
          ])
        )
        const delivered = yield* (yield* Delivery).deliver(outgoing("hello", { transcriptId: row?.id ?? null }))
        assert.strictEqual((yield* transcript.load(session.id)).length, 1)
        assert.include(delivered.deliveries[0], { state: "sent", platformMessageId: String(row?.id) })
      })
    )
  )

  it.scopedLive("leaves questions, notices and the answers to commands out of the transcript", () =>
    run(
      Effect.gen(function* () {
        const session = yield* newSession
        const delivery = yield* Delivery
        const buttons = [{ label: "Approve", value: "approve:1" }]
        const outcomes = [
          yield* delivery.deliver(outgoing("May I?", { cause: { kind: "approval", id: "a" }, buttons })),
          yield* delivery.deliver(outgoing("One moment", { cause: { kind: "notice", id: "n" } })),
          yield* delivery.deliver(outgoing("Idle.", { cause: { kind: "command", id: "c" } }))
        ]
        assert.deepStrictEqual(
          outcomes.map((one) => one.ok),
          [true, true, true]
        )
        assert.strictEqual((yield* (yield* Transcript).load(session.id)).length, 0)
        // The control: the same way, another cause.
        yield* delivery.deliver(outgoing("news", { cause: { kind: "cron", id: "r" } }))
        assert.strictEqual((yield* (yield* Transcript).load(session.id)).length, 1)
      })
    )
  )

  it.scopedLive("goes to the conversation's present session, and refuses one that never was", () =>
    run(
      Effect.gen(function* () {
        const session = yield* newSession
        const sessions = yield* SessionStore
        const origin = sourceOf({ surface: "web", sessionId: session.id, profile: "default", uiSessionId: null })
        const { fresh } = yield* sessions.reset(SessionKey.make(session.key ?? ""), origin)
        yield* (yield* Delivery).deliver(outgoing("later"))
        const transcript = yield* Transcript
        assert.strictEqual((yield* transcript.load(session.id)).length, 0)
        assert.strictEqual((yield* transcript.load(fresh.id)).length, 1)
        const nowhere = yield* (yield* Delivery).deliver(
          outgoing("lost", { address: DeliveryOrigin.address({ platform: "web", chatId: "never" }) })
        )
        assert.isFalse(nowhere.ok)
        const [row] = yield* (yield* Outbox).list({ limit: 1, state: "failed" })
        assert.include(row?.reason, "never")
      })
    )
  )
})
