import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Schema } from "effect"
import * as Tool from "../../../src/services/agent/Tool.js"
import { ToolRegistry } from "../../../src/services/agent/Toolbox.js"
import { ApiServer } from "../../../src/services/api/ApiServer.js"
import { Attached } from "../../../src/services/api/Deliveries.js"
import { PastHelperView } from "../../../src/services/api/Helpers.js"
import { ChatResult, MessageView, SessionView } from "../../../src/services/api/Sessions.js"
import { BusyModes } from "../../../src/services/conversation/BusyModes.js"
import { DelegationStore } from "../../../src/services/delegation/DelegationStore.js"
import { ActivityEvent } from "../../../src/services/operation/Activity.js"
import { SessionId } from "../../../src/services/session/Session.js"
import { SessionKey } from "../../../src/services/session/SessionKey.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { Transcript } from "../../../src/services/session/Transcript.js"
import { Database } from "../../../src/services/state/Database.js"
import { ask, echo, fetching, Play, readEvents, server } from "./support.js"

const exact = { onExcessProperty: "error" } as const
const oneSession = Schema.decodeUnknownSync(SessionView, exact)
const sessionsOf = Schema.decodeUnknownSync(Schema.Array(SessionView), exact)
const messagesOf = Schema.decodeUnknownSync(Schema.Array(MessageView), exact)
const attachedOf = Schema.decodeUnknownSync(Attached)
const eventOf = Schema.decodeUnknownSync(Schema.parseJson(ActivityEvent))

const create = (body: object = {}) => Effect.map(ask("/api/sessions", { body }), ({ json }) => oneSession(json))

const begin = Effect.map(Play, (play) => {
  play.accepted.length = 0
  play.stopped.length = 0
  play.receipt = null
  play.act = echo
  return play
})

const eventsOf = (id: string, body: object) =>
  Effect.flatMap(ApiServer, ({ url }) =>
    Effect.promise(async () => {
      const response = await fetching(`${url}/api/sessions/${id}/chat`, {
        body,
        headers: { accept: "text/event-stream" }
      })
      assert.include(response.headers.get("content-type") ?? "", "text/event-stream")
      return (await readEvents(response)).map((line) => eventOf(line))
    })
  )

const codeOf = (json: unknown): string => (json as { readonly error: { readonly code: string } }).error.code

layer(server(), { excludeTestServices: true })("sessions", (it) => {
  it.effect("say of a stored call what was told of it while it ran", () =>
    Effect.gen(function* () {
      const session = yield* create()
      const registry = yield* ToolRegistry
      yield* registry.add([
        Tool.make({
          name: "wait",
          toolset: "waiting",
          description: "Waits.",
          parameters: Schema.Struct({ drink: Schema.String, minutes: Schema.Int }),
          result: Tool.text("nothing"),
          preview: ({ minutes }) => `${minutes}\nminutes`,
          handler: () => Effect.succeed("")
        })
      ])
      const known = { id: "1", name: "wait", arguments: '{"drink":"tea","minutes":5}' }
      const unknown = { id: "2", name: "gone", arguments: '{"drink":"tea"}' }
      const [transcript, database] = yield* Effect.all([Transcript, Database])
      const row = {
        _tag: "assistant",
        text: "",
        reasoning: null,
        toolCalls: [known, unknown],
        finishReason: "tool_calls"
      } as const
      yield* database.write("test", transcript.append(SessionId.make(session.id), "turn_1", [row]))
      const [shown] = messagesOf((yield* ask(`/api/sessions/${session.id}/messages`)).json)
      assert.deepStrictEqual(shown?.toolCalls, [{ ...known, preview: "5 minutes" }, unknown])
      yield* ask(`/api/sessions/${session.id}`, { method: "DELETE" })
    })
  )

  it.effect("say what a message does while a turn runs, as it was chosen for each", () =>
    Effect.gen(function* () {
      const session = yield* create()
      const modes = yield* BusyModes
      const mode = Effect.map(ask(`/api/sessions/${session.id}/busy`), ({ json }) => json)
      assert.deepStrictEqual(yield* mode, { mode: "interrupt" })
      yield* modes.choose(SessionKey.make(session.key ?? ""), "queue")
      assert.deepStrictEqual(yield* mode, { mode: "queue" })
      assert.strictEqual((yield* ask("/api/sessions/nothing/busy")).status, 404)
      yield* ask(`/api/sessions/${session.id}`, { method: "DELETE" })
    })
  )

  it.effect("tell of the helpers that they had, and of theirs, and of nobody else's", () =>
    Effect.gen(function* () {
      const session = yield* create()
      const [transcript, database, delegations] = yield* Effect.all([Transcript, Database, DelegationStore])
      const begun = (id: string, parentTurnId: string) =>
        delegations.insert({
          id,
          parentTurnId,
          childTurnId: `turn of ${id}`,
          childSessionId: `session of ${id}`,
          callId: "1",
          goal: id
        })
      const said = { _tag: "user", text: "delegate", platformMessageId: null } as const
      yield* database.write("test", transcript.append(SessionId.make(session.id), "turn of the session", [said]))
      yield* database.write("test", begun("h1", "turn of the session"))
      yield* database.write("test", begun("h2", "turn of h1"))
      yield* database.write("test", begun("h3", "turn of another"))
      yield* database.write("test", delegations.settle("h1", "completed", "done"))
      const found = (query: string) =>
        Effect.map(ask(`/api/sessions/${session.id}/helpers${query}`), ({ json }) =>
          Schema.decodeUnknownSync(Schema.Array(PastHelperView), exact)(json)
        )
      const all = yield* found("")
      assert.deepStrictEqual(
        all.map(({ id, parentTurnId, sessionId, status }) => [id, parentTurnId, sessionId, status]),
        [
          ["h1", "turn of the session", "session of h1", "completed"],
          ["h2", "turn of h1", "session of h2", null]
        ]
      )
      assert.deepStrictEqual(
        (yield* found("?limit=1")).map(({ id }) => id),
        ["h2"]
      )
      yield* ask(`/api/sessions/${session.id}`, { method: "DELETE" })
    })
  )

  it.effect("are created, renamed, read, listed and deleted", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const made = yield* ask("/api/sessions", { body: { title: "Groceries" } })
      assert.strictEqual(made.status, 201)
      const session = oneSession(made.json)
      assert.include(session, {
        title: "Groceries",
        source: "web",
        platform: "web",
        chatId: session.id,
        userId: "owner",
        key: `agent:main:web:dm:${session.id}`,
        messages: 0
      })
      assert.match((made.json as { startedAt: string }).startedAt, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

      const renamed = yield* ask(`/api/sessions/${session.id}`, { method: "PATCH", body: { title: "Shopping" } })
      assert.strictEqual(oneSession(renamed.json).title, "Shopping")
      const other = yield* create({ title: "Other" })
      const taken = yield* ask(`/api/sessions/${other.id}`, { method: "PATCH", body: { title: "Shopping" } })
      assert.deepStrictEqual([taken.status, codeOf(taken.json)], [409, "title_taken"])

      const listed = sessionsOf((yield* ask("/api/sessions?limit=500")).json)
      assert.includeMembers(
        listed.map((one) => one.id),
        [session.id, other.id]
      )
      assert.strictEqual(sessionsOf((yield* ask("/api/sessions?limit=1")).json).length, 1)
      for (const limit of ["0", "501", "x", "1.5"])
        assert.strictEqual((yield* ask(`/api/sessions?limit=${limit}`)).status, 400, limit)
      assert.strictEqual(sessionsOf((yield* ask("/api/sessions?before=1999-01-01T00:00:00Z")).json).length, 0)
      assert.strictEqual((yield* ask("/api/sessions?before=yesterday")).status, 400)

      assert.strictEqual((yield* ask(`/api/sessions/${session.id}`, { method: "DELETE" })).status, 204)
      assert.deepStrictEqual(play.stopped, [session.key])
      for (const [method, at] of [
        ["GET", ""],
        ["DELETE", ""],
        ["GET", "/messages"],
        ["POST", "/stop"]
      ] as const)
        assert.strictEqual((yield* ask(`/api/sessions/${session.id}${at}`, { method })).status, 404, at)
      const gone = yield* ask(`/api/sessions/${session.id}/chat`, { body: { text: "hello?" } })
      assert.strictEqual(gone.status, 404)
    })
  )

  it.effect("answer in JSON when the turn has ended", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const session = yield* create()
      const answer = yield* ask(`/api/sessions/${session.id}/chat`, { body: { text: "hello", uiSessionId: "tab-3" } })
      assert.deepInclude(Schema.decodeUnknownSync(ChatResult, exact)(answer.json), {
        sessionId: session.id,
        outcome: "answered",
        text: "You said: hello"
      })
      const { event, arrival } = play.accepted[0]!
      assert.include(event.source, { platform: "web", chatId: session.id, userId: "owner", uiSessionId: "tab-3" })
      assert.strictEqual(event.sessionId, session.id)
      assert.include(arrival, { authorizedUpstream: true, asyncDelivery: true, unattended: null })

      const rows = messagesOf((yield* ask(`/api/sessions/${session.id}/messages`)).json)
      assert.deepStrictEqual(
        rows.map((row) => [row.role, row.text]),
        [
          ["user", "hello"],
          ["assistant", "You said: hello"]
        ]
      )
      const earlier = messagesOf(
        (yield* ask(`/api/sessions/${session.id}/messages?before=${rows[1]?.id}&limit=1`)).json
      )
      assert.deepStrictEqual(
        earlier.map((row) => row.id),
        [rows[0]?.id]
      )
    })
  )

  it.effect("tell what happens in the turn, its delegates and its questions, and nothing of others", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const session = yield* create()
      const other = { sessionKey: "other", sessionId: "other", turnId: "other" }
      const child = { sessionKey: "child", sessionId: "child", turnId: "child" }
      const grandchild = { sessionKey: "grand", sessionId: "grand", turnId: "grand" }
      play.act = ({ place, publish, say, end, sessionKey }) =>
        Effect.gen(function* () {
          yield* publish({ _tag: "turn.started", ...other, eventId: "e", parentTurnId: null, platform: "telegram" })
          yield* publish({ _tag: "text.delta", ...other, text: "OTHER" })
          yield* publish({ _tag: "delegate.started", ...place, delegationId: "d", childTurnId: "child", goal: "g" })
          yield* publish({ _tag: "turn.started", ...child, eventId: null, parentTurnId: place.turnId, platform: "" })
          yield* publish({ _tag: "delegate.started", ...child, delegationId: "e", childTurnId: "grand", goal: "g" })
          yield* publish({ _tag: "text.delta", ...grandchild, text: "deep" })
          yield* publish({ _tag: "turn.ended", ...child, eventId: null, outcome: "answered", text: "" })
          // Another turn of the same session, as when somebody else writes there.
          yield* publish({ _tag: "text.delta", ...place, turnId: "a stranger's", text: "STRANGER" })
          yield* publish({ _tag: "notice", sessionKey, code: "busy.queued", text: "one moment" })
          yield* publish({ _tag: "notice", sessionKey: "other", code: "busy.queued", text: "OTHER" })
          yield* say("mine")
          yield* end("mine")
        })
      const events = yield* eventsOf(session.id, { text: "go" })
      assert.deepStrictEqual(
        events.map((event) => event._tag),
        [
          "turn.started",
          "delegate.started",
          "turn.started",
          "delegate.started",
          "text.delta",
          "turn.ended",
          "notice",
          "text.delta",
          "turn.ended"
        ]
      )
      assert.notMatch(JSON.stringify(events), /OTHER|STRANGER/)
    })
  )

  it.effect("are found by what was said, put away, pinned, exported, imported and pruned", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const session = yield* create()
      play.act = ({ end }) => end("The heron stands in the reeds.")
      yield* eventsOf(session.id, { text: "where is the heron?" })
      const hits = (yield* ask("/api/sessions/search?q=heron")).json as ReadonlyArray<Record<string, unknown>>
      assert.isTrue(hits.some(({ snippet }) => snippet === "The >>>heron<<< stands in the reeds."))
      assert.deepStrictEqual((yield* ask("/api/sessions/search?q=%22%2A%28NOT")).json, [])
      assert.strictEqual((yield* ask("/api/sessions/search?q=x&limit=0")).status, 400)

      const put = (body: object) => ask(`/api/sessions/${session.id}`, { method: "PATCH", body })
      const listed = (query: string) =>
        Effect.map(ask(`/api/sessions?limit=500${query}`), ({ json }) =>
          (json as ReadonlyArray<{ readonly id: string }>).some(({ id }) => id === session.id)
        )
      yield* put({ archived: true, pinned: true })
      assert.deepStrictEqual(
        [yield* listed(""), yield* listed("&archived=true"), yield* listed("&pinned=true")],
        [false, true, true]
      )
      yield* put({ archived: false })
      assert.isTrue(yield* listed(""))

      const exported = (yield* ask(`/api/sessions/${session.id}/export`)).json as { readonly messages: unknown }
      assert.deepStrictEqual((yield* ask("/api/sessions/import", { body: exported })).json, { outcome: "present" })
      yield* ask("/api/sessions/prune", { body: { olderThanDays: 0 } })
      assert.strictEqual((yield* ask(`/api/sessions/${session.id}`)).status, 200)
      yield* ask(`/api/sessions/${session.id}`, { method: "DELETE" })
      assert.deepStrictEqual((yield* ask("/api/sessions/search?q=heron")).json, [])
      assert.deepStrictEqual((yield* ask("/api/sessions/import", { body: exported })).json, { outcome: "imported" })
      assert.strictEqual((yield* ask("/api/sessions/search?q=heron")).status, 200)
      const again = (yield* ask(`/api/sessions/${session.id}/export`)).json as { readonly messages: unknown }
      const texts = ({ messages }: { readonly messages: unknown }) =>
        (messages as ReadonlyArray<{ readonly text: string }>).map(({ text }) => text)
      assert.deepStrictEqual(texts(again), texts(exported))
      assert.strictEqual((yield* ask("/api/sessions/none/export")).status, 404)
      assert.deepInclude((yield* ask(`/api/sessions/${session.id}/compress`, { body: {} })).json as object, {
        outcome: "nothing_to_do"
      })
    })
  )

  it.effect("pass every piece of a long answer on, in order", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const session = yield* create()
      const pieces = Array.from({ length: 3_000 }, (_, index) => `${index} `)
      play.act = ({ say, end }) =>
        Effect.gen(function* () {
          for (const piece of pieces) yield* Effect.zipRight(say(piece), Effect.yieldNow())
          yield* end(pieces.join(""))
        })
      const events = yield* eventsOf(session.id, { text: "count" })
      const heard = events.flatMap((event) => (event._tag === "text.delta" ? [event.text] : []))
      assert.deepStrictEqual(heard, pieces)
    })
  )

  it.effect("answer a command that has no turn", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const session = yield* create()
      play.act = ({ place, eventId, publish }) =>
        publish({ _tag: "turn.ended", ...place, turnId: eventId, eventId, outcome: "command", text: "Help is here." })
      const events = yield* eventsOf(session.id, { text: "/help" })
      assert.deepInclude(events.at(-1), { _tag: "turn.ended", outcome: "command", text: "Help is here." })
    })
  )

  it.effect("find the end of a turn whose last word was missed", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const session = yield* create()
      play.act = ({ say, settle }) => Effect.zipRight(say("half"), settle("dropped"))
      const answer = yield* ask(`/api/sessions/${session.id}/chat`, { body: { text: "lost" } })
      assert.deepInclude(answer.json, { outcome: "dropped" })
    })
  )

  it.effect("bind a terminal to no platform, in its own directory, with its marker", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const session = yield* create({ surface: "cli" })
      assert.include(session, { source: "cli", platform: "cli" })
      const body = { text: "hi", surface: "cli", workingDirectory: "/srv", once: true }
      yield* ask(`/api/sessions/${session.id}/chat`, { body })
      const { event, arrival } = play.accepted[0]!
      assert.include(event.source, { platform: "", surface: "cli" })
      assert.include(arrival, { asyncDelivery: false, unattended: "single_query", workingDirectory: "/srv" })
      const headers = { "x-hermes-context": '{"HERMES_CRON_SESSION":"1","HERMES_SESSION_ID":"s"}' }
      yield* ask(`/api/sessions/${session.id}/chat`, { body: { text: "hi", surface: "cli" }, headers })
      assert.include(play.accepted[1]?.arrival, {
        asyncDelivery: true,
        unattended: "unattended",
        workingDirectory: null
      })
      assert.strictEqual(play.accepted[1]?.arrival.marker._tag, "Cron")
      const relative = { text: "hi", surface: "cli", workingDirectory: "here" }
      assert.strictEqual((yield* ask(`/api/sessions/${session.id}/chat`, { body: relative })).status, 400)
    })
  )

  it.effect("take messages, but no commands and no answers, from what the agent itself started", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const session = yield* create({ surface: "cli" })
      const headers = { "x-hermes-context": JSON.stringify({ HERMES_SESSION_ID: session.id }) }
      const chat = (text: string, more: object = {}) =>
        Effect.map(
          ask(`/api/sessions/${session.id}/chat`, { body: { text, surface: "cli", once: true }, ...more }),
          ({ status }) => status
        )
      const typed = [
        "/approve",
        " /approve always",
        "/approve_all",
        "/deny",
        "/new",
        "\u200b/approve",
        "/nothing",
        "yes",
        "OK",
        "👍"
      ]
      for (const text of typed) assert.strictEqual(yield* chat(text, { headers }), 403, text)
      assert.strictEqual(play.accepted.length, 0)
      // The control: a message is taken from it, and all of them from a person.
      assert.strictEqual(yield* chat("approve of this text?", { headers }), 200)
      for (const text of typed) assert.strictEqual(yield* chat(text), 200, text)
      assert.strictEqual(play.accepted.length, 1 + typed.length)
    })
  )

  it.effect("are continued on their own surface only", () =>
    Effect.gen(function* () {
      yield* begin
      const sessions = yield* SessionStore
      const database = yield* Database
      const web = yield* create()
      const cli = yield* create({ surface: "cli" })
      const chat = (id: string, surface: string) =>
        Effect.map(ask(`/api/sessions/${id}/chat`, { body: { text: "?", surface } }), ({ status }) => status)
      assert.deepStrictEqual(
        [
          yield* chat(web.id, "cli"),
          yield* chat(cli.id, "web"),
          yield* chat(web.id, "web"),
          yield* chat(cli.id, "cli")
        ],
        [409, 409, 200, 200]
      )
      yield* database.write("test.end", sessions.end(SessionId.make(web.id), "session_reset"))
      const ended = yield* ask(`/api/sessions/${web.id}/chat`, { body: { text: "?" } })
      assert.deepStrictEqual([ended.status, codeOf(ended.json)], [409, "session_ended"])
      const hidden = yield* database.write(
        "test.hidden",
        sessions.create({
          key: null,
          source: "subagent",
          origin: null,
          parentId: SessionId.make(cli.id),
          hidden: true,
          model: null
        })
      )
      assert.strictEqual(yield* chat(hidden.id, "web"), 404)
      assert.strictEqual((yield* ask(`/api/sessions/${hidden.id}/messages`)).status, 200, "it may be read")
      assert.strictEqual((yield* ask(`/api/sessions/${hidden.id}/busy`)).status, 200, "also where nobody writes")
    })
  )

  it.effect("go on when their reader goes away", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const session = yield* create()
      const begun = yield* Deferred.make<void>()
      const gone = yield* Deferred.make<void>()
      const finished = yield* Deferred.make<void>()
      play.act = ({ end }) =>
        Deferred.succeed(begun, undefined).pipe(
          Effect.zipRight(Deferred.await(gone)),
          Effect.zipRight(end("done")),
          Effect.zipRight(Deferred.succeed(finished, undefined))
        )
      const { url } = yield* ApiServer
      const controller = new AbortController()
      const fetched = fetch(`${url}/api/sessions/${session.id}/chat`, {
        method: "POST",
        signal: controller.signal,
        headers: { authorization: "Bearer the-key-of-this-home", accept: "text/event-stream" },
        body: JSON.stringify({ text: "take your time" })
      }).then(
        (response) => response.text().catch(() => ""),
        () => ""
      )
      yield* Deferred.await(begun)
      controller.abort()
      yield* Effect.promise(() => fetched)
      yield* Deferred.succeed(gone, undefined)
      yield* Deferred.await(finished)
      assert.deepStrictEqual(play.stopped, [])
      const rows = messagesOf((yield* ask(`/api/sessions/${session.id}/messages`)).json)
      assert.strictEqual(rows.at(-1)?.text, "done")
    })
  )

  it.effect("are stopped and marked as read", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const session = yield* create()
      assert.deepStrictEqual((yield* ask(`/api/sessions/${session.id}/stop`, { method: "POST" })).json, {
        stopped: true
      })
      assert.deepStrictEqual(play.stopped, [session.key])
      const sessions = yield* SessionStore
      const database = yield* Database
      yield* database.write("test.unread", sessions.setUnread(SessionId.make(session.id), true))
      assert.isTrue(oneSession((yield* ask(`/api/sessions/${session.id}`)).json).unread)
      const read = yield* ask(`/api/sessions/${session.id}`, { method: "PATCH", body: { unread: false } })
      assert.isFalse(oneSession(read.json).unread)
    })
  )

  it.effect("give back what was attached, a picture to be shown and a page only to be saved, and nothing else", () =>
    Effect.gen(function* () {
      const { url } = yield* ApiServer
      const attach = (name: string) =>
        Effect.map(ask(`/api/files?name=${name}`, { raw: "its bytes" }), ({ json }) => attachedOf(json).id)
      const fetched = (place: string) =>
        Effect.promise(async () => {
          const { headers, status } = await fetching(`${url}/api/files/${place}`, {})
          return { status, type: headers.get("content-type"), how: headers.get("content-disposition") ?? "" }
        })
      const picture = yield* fetched(`web/${yield* attach("sky.gif")}`)
      assert.deepStrictEqual([picture.status, picture.type], [200, "image/gif"])
      assert.include(picture.how, "inline; filename*=UTF-8''")
      const page = yield* fetched(`web/${yield* attach("page.html")}`)
      assert.deepStrictEqual([page.status, page.type], [200, "application/octet-stream"])
      assert.include(page.how, "attachment")
      for (const place of ["web/..%2F..%2F.env", "web/0123456789ab-none.gif", "web/.env"])
        assert.strictEqual((yield* fetched(place)).status, 404, place)
      assert.include([400, 404], (yield* fetched("..%2Fmedia/x")).status)
    })
  )
})
