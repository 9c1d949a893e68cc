import { assert, describe, it, layer } from "@effect/vitest"
import { Deferred, Effect, Schema } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import { Completion, CompletionChunk } from "../../../src/services/api/Completions.js"
import { ApiServer } from "../../../src/services/api/ApiServer.js"
import * as AnswerNotes from "../../../src/services/delivery/AnswerNotes.js"
import { Drain } from "../../../src/services/operation/Drain.js"
import { SessionId } from "../../../src/services/session/Session.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { Transcript } from "../../../src/services/session/Transcript.js"
import { type Act, ask, echo, fetching, Play, readEvents, server, withServer } from "./support.js"

const path = "/v1/chat/completions"
const user = (content: unknown) => ({ role: "user", content })

const begin = Effect.map(Play, (play) => {
  play.accepted.length = 0
  play.stopped.length = 0
  play.receipt = null
  play.act = echo
  return play
})

const codeOf = (json: unknown): string => (json as { readonly error: { readonly code: string } }).error.code

const streamed = (body: object, headers: Record<string, string> = {}) =>
  Effect.flatMap(ApiServer, ({ url }) =>
    Effect.promise(async () => {
      const response = await fetching(`${url}${path}`, { body: { stream: true, ...body }, headers })
      return { response, lines: await readEvents(response) }
    })
  )

const chunksOf = (lines: ReadonlyArray<string>) =>
  lines
    .filter((line) => line !== "[DONE]")
    .map((line) => Schema.decodeUnknownSync(Schema.parseJson(CompletionChunk), { onExcessProperty: "error" })(line))

const textOf = (lines: ReadonlyArray<string>): string =>
  chunksOf(lines)
    .map((chunk) => chunk.choices[0]?.delta.content ?? "")
    .join("")

layer(server(), { excludeTestServices: true })("chat completions", (it) => {
  it.effect("answers a request that stands alone, from a hidden session that ends with it", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const answer = yield* ask(path, {
        body: {
          model: "gpt-whatever",
          temperature: 0.3,
          messages: [
            { role: "system", content: "Be brief." },
            user("first"),
            {
              role: "assistant",
              content: null,
              tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }]
            },
            { role: "tool", tool_call_id: "c1", content: "found" },
            { role: "assistant", content: "second" },
            { role: "developer", content: "And kind." },
            user([
              { type: "text", text: "third" },
              { type: "text", text: "fourth" }
            ])
          ]
        }
      })
      assert.strictEqual(answer.status, 200, answer.text)
      const completion = Schema.decodeUnknownSync(Completion, { onExcessProperty: "error" })(answer.json)
      assert.strictEqual(completion.choices[0]?.message.content, "You said: third\nfourth")
      assert.deepStrictEqual(completion.usage, { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 })

      const { event, arrival } = play.accepted[0]!
      assert.strictEqual(event.text, "third\nfourth")
      assert.strictEqual(event.instructions, "Be brief.\n\nAnd kind.")
      assert.isTrue(event.verbatim)
      assert.include(event.source, { platform: "api_server", chatId: event.sessionId, chatType: "dm", userId: "owner" })
      assert.include(arrival, { authorizedUpstream: true, asyncDelivery: false, unattended: "unattended" })

      const sessions = yield* SessionStore
      const session = yield* sessions.get(event.sessionId ?? "")
      assert.isTrue(session?.hidden)
      assert.isNotNull(session?.endedAt)
      const rows = yield* (yield* Transcript).load(SessionId.make(event.sessionId ?? ""))
      assert.deepStrictEqual(
        rows.slice(0, 4).map(({ message }) => [message._tag, message.text]),
        [
          ["user", "first"],
          ["assistant", ""],
          ["tool", "found"],
          ["assistant", "second"]
        ]
      )
      assert.strictEqual(rows[2]?.message._tag === "tool" ? rows[2].message.tool : "", "look")
    })
  )

  it.effect("streams the answer as it grows, with its usage when asked", () =>
    Effect.gen(function* () {
      yield* begin
      const { response, lines } = yield* streamed({
        messages: [user("hello")],
        stream_options: { include_usage: true }
      })
      assert.strictEqual(response.status, 200)
      assert.include(response.headers.get("content-type") ?? "", "text/event-stream")
      assert.strictEqual(response.headers.get("x-content-type-options"), "nosniff")
      assert.strictEqual(lines.at(-1), "[DONE]")
      const chunks = chunksOf(lines)
      assert.strictEqual(chunks[0]?.choices[0]?.delta.role, "assistant")
      assert.strictEqual(textOf(lines), "You said: hello")
      assert.strictEqual(chunks.at(-2)?.choices[0]?.finish_reason, "stop")
      assert.deepStrictEqual(chunks.at(-1)?.usage, { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 })
      assert.strictEqual(new Set(chunks.map((chunk) => chunk.id)).size, 1)
    })
  )

  it.effect("says of an answer that ran into the model's limit that it did", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const cut = AnswerNotes.around("It begins", { truncated: true, spokenBy: "stand-in/small", ageMillis: null })
      play.act = ({ end, say }) => Effect.zipRight(say("It begins"), end(cut))
      const { lines } = yield* streamed({ messages: [user("tell me all")] })
      assert.strictEqual(chunksOf(lines).at(-1)?.choices[0]?.finish_reason, "length")
      const { json } = yield* ask(path, { body: { messages: [user("tell me all")] } })
      assert.strictEqual(Schema.decodeUnknownSync(Completion)(json).choices[0]?.finish_reason, "length")
    })
  )

  it.effect("says of an answer that was kept back that it was", () =>
    Effect.gen(function* () {
      const play = yield* begin
      play.act = ({ end, say }) => Effect.zipRight(say("I can't"), end("I can't help with that.", "answered", true))
      const { lines } = yield* streamed({ messages: [user("do it")] })
      assert.strictEqual(chunksOf(lines).at(-1)?.choices[0]?.finish_reason, "content_filter")
      const { json } = yield* ask(path, { body: { messages: [user("do it")] } })
      assert.strictEqual(Schema.decodeUnknownSync(Completion)(json).choices[0]?.finish_reason, "content_filter")
    })
  )

  it.effect("says between two parts that the first was no answer, where one broke off or was thought", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const after =
        (segment: object, whole: boolean): Act =>
        ({ place, say, publish, end }) =>
          Effect.gen(function* () {
            yield* say("PARTIAL ONE ")
            yield* publish({ _tag: "text.segment", ...place, ...segment })
            if (!whole) yield* say("WHOLE ")
            yield* end("WHOLE ANSWER")
          })
      const heard = Effect.map(streamed({ messages: [user("?")] }), ({ lines }) => textOf(lines))
      const again = "PARTIAL ONE \n\n[The answer broke off; again from its beginning:]\n\nWHOLE ANSWER"
      for (const whole of [false, true]) {
        play.act = after({ again: true }, whole)
        assert.strictEqual(yield* heard, again)
      }
      play.act = after({ unsaid: true }, false)
      assert.strictEqual(yield* heard, "PARTIAL ONE \n\n[That was thought; the answer:]\n\nWHOLE ANSWER")
    })
  )

  it.effect("sends what was not streamed, and keeps delegates' words out", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const act: Act = ({ place, say, publish, end }) =>
        Effect.gen(function* () {
          yield* say("Let me look.")
          yield* publish({ _tag: "text.segment", ...place })
          yield* publish({ _tag: "delegate.started", ...place, delegationId: "d", childTurnId: "child", goal: "g" })
          yield* publish({ _tag: "text.delta", sessionKey: "k", sessionId: "other", turnId: "child", text: "CHILD" })
          yield* say("It is ")
          yield* end("It is green.\n\nSpoken by a stand-in.")
        })
      play.act = act
      const { lines } = yield* streamed({ messages: [user("what colour?")] })
      assert.strictEqual(textOf(lines), "Let me look.\n\nIt is green.\n\nSpoken by a stand-in.")
      play.act = ({ end }) => end("All at once.")
      assert.strictEqual(textOf((yield* streamed({ messages: [user("?")] })).lines), "All at once.")
    })
  )

  it.effect("goes on with a session of its own surface, and begins it under the given name", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const headers = { "X-Hermes-Session-Id": "my-session" }
      for (const text of ["one", "two"])
        assert.strictEqual(
          (yield* ask(path, {
            headers,
            body: { messages: [user("ignored"), { role: "assistant", content: "x" }, user(text)] }
          })).status,
          200
        )
      assert.deepStrictEqual(
        play.accepted.map(({ event }) => [event.sessionId, event.text]),
        [
          ["my-session", "one"],
          ["my-session", "two"]
        ]
      )
      assert.include(play.accepted[0]?.arrival, { asyncDelivery: true, unattended: "unattended" })
      assert.deepStrictEqual(
        play.accepted.map(({ event }) => event.verbatim),
        [false, false]
      )
      const rows = yield* (yield* Transcript).load(SessionId.make("my-session"))
      assert.deepStrictEqual(
        rows.map(({ message }) => message.text),
        ["one", "You said: one", "two", "You said: two"]
      )
      const { response } = yield* streamed({ messages: [user("three")] }, headers)
      assert.strictEqual(response.headers.get("x-hermes-session-id"), "my-session")

      const created = (yield* ask("/api/sessions", { body: {} })).json as { readonly id: string }
      const foreign = yield* ask(path, {
        headers: { "X-Hermes-Session-Id": created.id },
        body: { messages: [user("?")] }
      })
      assert.strictEqual(foreign.status, 404, "a session of the page is not this surface's")
      for (const bad of ["../etc", "a/b", "C:x", "x".repeat(101)])
        assert.strictEqual(
          (yield* ask(path, { headers: { "X-Hermes-Session-Id": bad }, body: { messages: [user("?")] } })).status,
          400,
          bad
        )
    })
  )

  it.effect("says what a request lacks", () =>
    Effect.gen(function* () {
      yield* begin
      const bad: ReadonlyArray<readonly [body: unknown, code: string, message?: string]> = [
        [{}, "invalid_request"],
        [{ messages: [] }, "invalid_request"],
        [{ messages: [{ role: "assistant", content: "x" }] }, "no_question"],
        [{ messages: [user("x"), { role: "assistant", content: "x" }] }, "no_question"],
        [{ messages: [user("  ")] }, "no_question"],
        [{ messages: [{ role: "system", content: "x" }] }, "no_question"],
        [{ messages: [{ role: "robot", content: "x" }] }, "invalid_request"],
        [{ messages: "hello" }, "invalid_request", "messages: Expected a list, actual"],
        [{ messages: [{ role: "user", content: "x" }], n: 2 }, "invalid_request", "n: one answer is given at a time"],
        [
          { messages: [{ role: "user", content: "x" }], tool_choice: "required" },
          "invalid_request",
          "tool_choice: the agent uses its own tools"
        ],
        [
          { messages: [{ role: "user", content: 5 }] },
          "invalid_request",
          "messages.0.content: has to be a text, or a list of text parts"
        ]
      ]
      for (const [body, code, message = ""] of bad) {
        const answer = yield* ask(path, { body })
        assert.strictEqual(answer.status, 400, answer.text)
        assert.strictEqual(codeOf(answer.json), code, JSON.stringify(body))
        assert.include(answer.text, message)
      }
      const image = yield* ask(path, {
        body: { messages: [user([{ type: "image_url", image_url: { url: "data:," } }])] }
      })
      assert.strictEqual(image.status, 400)
      assert.include(image.text, "only text is taken here")
    })
  )

  it.effect("tells a turn that failed, was cut or went elsewhere from an answer", () =>
    Effect.gen(function* () {
      const play = yield* begin
      for (const [outcome, status, code] of [
        ["failed", 502, "turn_failed"],
        ["interrupted", 409, "interrupted"],
        ["suspended", 409, "suspended"],
        ["steered", 409, "steered"],
        ["dropped", 409, "dropped"]
      ] as const) {
        play.act = ({ say, end }) => Effect.zipRight(say("half"), end("told", outcome))
        const answer = yield* ask(path, { body: { messages: [user("?")] } })
        assert.strictEqual(answer.status, status)
        assert.strictEqual(codeOf(answer.json), code)
        const { lines } = yield* streamed({ messages: [user("?")] })
        assert.strictEqual(lines.at(-1), "[DONE]")
        assert.strictEqual(codeOf(JSON.parse(lines.at(-2) ?? "")), code)
      }
      play.act = ({ end }) => end("Here is what I can do.", "command")
      assert.include((yield* ask(path, { body: { messages: [user("/help")] } })).text, "Here is what I can do.")
    })
  )

  it.effect("passes on why admission refuses", () =>
    Effect.gen(function* () {
      const play = yield* begin
      for (const [receipt, status] of [
        [{ _tag: "Refused", code: "busy.full", text: "full" }, 429],
        [{ _tag: "Refused", code: "drain.refused", text: "later" }, 503],
        [{ _tag: "Ignored", rule: "nobody" }, 403],
        [{ _tag: "Duplicate" }, 409]
      ] as const) {
        play.receipt = receipt
        for (const stream of [false, true])
          assert.strictEqual((yield* ask(path, { body: { stream, messages: [user("?")] } })).status, status)
      }
    })
  )

  it.effect("keeps the marker that a command forwards", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const context = (value: unknown) => ({ "x-hermes-context": JSON.stringify(value) })
      const body = { messages: [user("?")] }
      yield* ask(path, { body, headers: context({ HERMES_CRON_SESSION: "1", HERMES_CRON_JOB_ID: "j7" }) })
      const marker = play.accepted[0]?.arrival.marker
      assert.isTrue(CronMarker.same(marker ?? CronMarker.unset, CronMarker.cron({ job: "j7", run: null })))
      yield* ask(path, { body })
      assert.strictEqual(play.accepted[1]?.arrival.marker._tag, "Unset")
      for (const bad of ["{", "[]", '{"PATH":"/"}', '{"HERMES_CRON_SESSION":1}', '{"API_SERVER_KEY":"x"}'])
        assert.strictEqual((yield* ask(path, { body, headers: { "x-hermes-context": bad } })).status, 400, bad)
    })
  )

  it.effect("ends the turn of a request that stands alone when its client goes away, and no other", () =>
    Effect.gen(function* () {
      const play = yield* begin
      const { url } = yield* ApiServer
      const leave = (headers: Record<string, string>, stream: boolean) =>
        Effect.gen(function* () {
          const begun = yield* Deferred.make<void>()
          const gone = yield* Deferred.make<void>()
          play.act = ({ say }) =>
            say("…").pipe(Effect.zipRight(Deferred.succeed(begun, undefined)), Effect.zipRight(Deferred.await(gone)))
          const controller = new AbortController()
          const fetched = fetch(`${url}${path}`, {
            method: "POST",
            signal: controller.signal,
            headers: { authorization: "Bearer the-key-of-this-home", ...headers },
            body: JSON.stringify({ stream, messages: [user("?")] })
          }).then(
            (response) => response.text().catch(() => ""),
            () => ""
          )
          yield* Deferred.await(begun)
          const before = (yield* (yield* Drain).items).length
          assert.strictEqual(before, 1, "the run is counted while it lasts")
          controller.abort()
          yield* Effect.promise(() => fetched)
          const drain = yield* Drain
          yield* drain.idle(["api"])
          yield* Deferred.succeed(gone, undefined)
        })
      yield* leave({}, true)
      yield* leave({}, false)
      assert.strictEqual(play.stopped.length, 2)
      assert.include(play.stopped[0] ?? "", "agent:main:api_server:dm:")
      yield* leave({ "x-hermes-session-id": "stays" }, true)
      assert.strictEqual(play.stopped.length, 2)
    })
  )

  it.effect("lists the agent as a model", () =>
    Effect.gen(function* () {
      const { json } = yield* ask("/v1/models")
      assert.strictEqual(
        (json as { readonly data: ReadonlyArray<{ readonly id: string }> }).data[0]?.id,
        "hermes-agent"
      )
    })
  )
})

describe("the limit of concurrent runs", () => {
  const burst = (most: number) =>
    withServer({ maxConcurrentRuns: most })(
      Effect.gen(function* () {
        const play = yield* Play
        const gate = yield* Deferred.make<void>()
        const begun: Array<Deferred.Deferred<void>> = yield* Effect.all(
          Array.from({ length: 3 }, () => Deferred.make<void>())
        )
        let count = 0
        play.act = ({ end }) =>
          Effect.suspend(() => Deferred.succeed(begun[count++]!, undefined)).pipe(
            Effect.zipRight(Deferred.await(gate)),
            Effect.zipRight(end("done"))
          )
        const { url } = yield* ApiServer
        const run = () => fetching(`${url}${path}`, { body: { messages: [user("?")] } }).then((answer) => answer.status)
        const running = [run(), run(), run()]
        yield* Effect.all(begun.map((one) => Deferred.await(one)))
        const fourth = most === 3 ? yield* Effect.promise(run) : 0
        yield* Deferred.succeed(gate, undefined)
        const statuses = yield* Effect.promise(() => Promise.all(running))
        play.act = echo
        return { statuses, fourth, after: yield* Effect.promise(run) }
      })
    )

  it.scopedLive("answers 429 beyond it, and frees each place", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* burst(3), { statuses: [200, 200, 200], fourth: 429, after: 200 })
    })
  )

  it.scopedLive("is none at 0", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* burst(0)).statuses, [200, 200, 200])
    })
  )
})
