import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Schema } from "effect"
import { createHash } from "node:crypto"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import { ApiServer } from "../../../src/services/api/ApiServer.js"
import { ClarificationRow } from "../../../src/services/agent/Clarification.js"
import { ClarificationView } from "../../../src/services/api/Clarifications.js"
import { HelperView } from "../../../src/services/api/Helpers.js"
import { ApprovalView } from "../../../src/services/api/Approvals.js"
import { DeliveryView, SendResult } from "../../../src/services/api/Deliveries.js"
import { ApprovalRow } from "../../../src/services/approval/Approval.js"
import { Outbox } from "../../../src/services/delivery/Outbox.js"
import { HomeChannels } from "../../../src/services/delivery/HomeChannels.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { GatewayStatus, HealthDetail } from "../../../src/services/operation/Health.js"
import { ask, fetching, Play, readEvents, server, Telegram } from "./support.js"

const exact = { onExcessProperty: "error" } as const
const codeOf = (json: unknown): string => (json as { readonly error: { readonly code: string } }).error.code

/** What the terminal tool of a Telegram turn would hand on. */
const insideTurn = {
  HERMES_SESSION_PLATFORM: "telegram",
  HERMES_SESSION_CHAT_ID: "42",
  HERMES_SESSION_THREAD_ID: "7",
  HERMES_SESSION_CHAT_NAME: "Çay & Kahve ☕",
  HERMES_SESSION_ID: "s1",
  HERMES_CRON_SESSION: ""
}
const context = (facts: object) => ({
  "x-hermes-context": JSON.stringify(facts).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`
  )
})

const question = new ApprovalRow({
  id: "approval_1",
  sessionKey: "agent:main:telegram:dm:42",
  turnId: "turn_1",
  callId: "call_1",
  tool: "terminal",
  subject: "rm -r build",
  reasons: ["it deletes"],
  state: "open",
  askedAt: 0,
  expiresAt: 300_000,
  answeredAt: null,
  answer: null,
  by: null
})

const wonder = new ClarificationRow({
  id: "call_9",
  sessionKey: "agent:main:telegram:dm:42",
  turnId: "turn_1",
  callId: "call_1",
  question: "Which colour?",
  choices: ["red", "blue"],
  several: false,
  state: "open",
  askedAt: 0,
  expiresAt: 300_000,
  answer: null,
  by: null
})

layer(server(), { excludeTestServices: true })("the rest of the surface", (it) => {
  it.effect("shows questions and takes the owner's answer", () =>
    Effect.gen(function* () {
      const play = yield* Play
      play.open = [question]
      for (const at of ["/api/approvals", "/api/approvals?state=open"]) {
        const listed = yield* ask(at)
        assert.deepStrictEqual(
          Schema.decodeUnknownSync(Schema.Array(ApprovalView), exact)(listed.json).map((row) => row.id),
          ["approval_1"]
        )
        assert.include((listed.json as ReadonlyArray<object>)[0], { expiresAt: "1970-01-01T00:05:00.000Z" })
      }
      const answer = yield* ask("/api/approvals/approval_1", { body: { approve: true } })
      assert.include(answer.json as object, { state: "approved", by: "owner" })
      const none = yield* ask("/api/approvals/nothing", { body: { approve: false, reason: "no" } })
      assert.strictEqual(none.status, 404)
      assert.deepStrictEqual(play.answers, [{ id: "approval_1", approve: true, by: "owner" }])
    })
  )

  it.effect("shows what the agent wonders and takes the owner's answer", () =>
    Effect.gen(function* () {
      const play = yield* Play
      play.wondered = [wonder]
      const listed = Schema.decodeUnknownSync(
        Schema.Array(ClarificationView),
        exact
      )((yield* ask("/api/clarifications")).json)
      assert.deepStrictEqual(
        listed.map(({ choices, id }) => [id, choices]),
        [["call_9", ["red", "blue"]]]
      )
      const answer = yield* ask("/api/clarifications/call_9", { body: { answer: "blue" } })
      assert.include(answer.json as object, { state: "answered", answer: "blue", by: "owner" })
      assert.strictEqual((yield* ask("/api/clarifications/nothing", { body: { answer: "blue" } })).status, 404)
      for (const body of [{ answer: " " }, { answer: "x".repeat(4_001) }, {}])
        assert.strictEqual((yield* ask("/api/clarifications/call_9", { body })).status, 400)
    })
  )

  it.effect("shows helpers at work and ends one", () =>
    Effect.gen(function* () {
      const play = yield* Play
      play.stopped.length = 0
      const listed = yield* ask("/api/helpers")
      const helpers = Schema.decodeUnknownSync(Schema.Array(HelperView), exact)(listed.json)
      assert.deepStrictEqual(
        helpers.map(({ background, doing, goal, id }) => [id, goal, doing, background]),
        [["helper_1", "count", "speaking", true]]
      )
      assert.include((yield* ask("/api/helpers/helper_1/stop", { body: {} })).json as object, { id: "helper_1" })
      assert.strictEqual((yield* ask("/api/helpers/nobody/stop", { body: {} })).status, 404)
      assert.deepStrictEqual(play.stopped, ["helper_1"])
    })
  )

  it.effect("refuses to what the agent started what only its owner may do", () =>
    Effect.gen(function* () {
      const play = yield* Play
      play.open = [question]
      play.wondered = [wonder]
      play.answers.length = 0
      play.pairings.length = 0
      const forbidden: ReadonlyArray<readonly [string, object | undefined]> = [
        ["/api/approvals/approval_1", { approve: true }],
        ["/api/approvals/approval_1", { approve: false }],
        ["/api/clarifications/call_9", { answer: "blue" }],
        ["/api/helpers/helper_1/stop", {}],
        ["/api/pairing/approve", { platform: "telegram", code: "ABCD2345" }],
        ["/api/pairing/revoke", { platform: "telegram", userId: "7" }],
        ["/api/session/exchange", {}]
      ]
      for (const facts of [insideTurn, { HERMES_CRON_SESSION: "1" }, { HERMES_SESSION_PLATFORM: "" }])
        for (const [at, body] of forbidden) {
          const answer = yield* ask(at, { method: "POST", body, headers: context(facts) })
          assert.deepStrictEqual([answer.status, codeOf(answer.json)], [403, "not_for_the_agent"], at)
        }
      assert.deepStrictEqual([play.answers.length, play.pairings.length], [0, 0])
      // The control: the owner may, and the agent may do everything else.
      for (const [at, body] of forbidden) assert.strictEqual((yield* ask(at, { method: "POST", body })).status, 200, at)
      assert.strictEqual((yield* ask("/api/approvals", { headers: context(insideTurn) })).status, 200)
    })
  )

  it.effect("lets strangers in by their code", () =>
    Effect.gen(function* () {
      const listed = yield* ask("/api/pairing")
      assert.deepStrictEqual(listed.json, {
        pending: [
          {
            platform: "telegram",
            userId: "7",
            userName: "Ann",
            requestedAt: "1970-01-01T00:00:00.000Z",
            expiresAt: "1970-01-01T01:00:00.000Z"
          }
        ],
        paired: []
      })
      const wrong = yield* ask("/api/pairing/approve", { body: { platform: "telegram", code: "WRONG" } })
      assert.deepStrictEqual([wrong.status, codeOf(wrong.json)], [400, "pairing_refused"])
      const { posted } = yield* Telegram
      posted.length = 0
      const right = yield* ask("/api/pairing/approve", { body: { platform: "telegram", code: "ABCD2345" } })
      assert.strictEqual(right.status, 200)
      assert.deepStrictEqual(
        posted.map(({ text }) => text),
        ["You are paired: my owner has let you in. Write to me whenever you like."]
      )
    })
  )

  it.effect("sends a message to a named chat, and from inside a turn to that turn's own", () =>
    Effect.gen(function* () {
      const homes = yield* HomeChannels
      const send = (body: object, headers?: Record<string, string>) =>
        ask("/api/send", { body, ...(headers === undefined ? {} : { headers }) })

      const named = yield* send({ target: "telegram:99", text: "hello" })
      const result = Schema.decodeUnknownSync(SendResult, exact)(named.json)
      assert.include(result, { ok: true, problem: null })
      assert.include(result.delivery, {
        platform: "telegram",
        chatId: "99",
        state: "sent",
        via: "explicit",
        text: "hello"
      })

      const homeless = yield* send({ target: "telegram", text: "where to?" })
      assert.deepStrictEqual([homeless.status, codeOf(homeless.json)], [400, "no_home_channel"])
      yield* homes.set(DeliveryOrigin.address({ platform: "telegram", chatId: "1" }))
      const home = Schema.decodeUnknownSync(SendResult)((yield* send({ target: "telegram", text: "home" })).json)
      assert.include(home.delivery, { chatId: "1", via: "home" })

      const own = Schema.decodeUnknownSync(SendResult)(
        (yield* send({ target: "telegram", text: "here" }, context(insideTurn))).json
      )
      assert.include(own.delivery, { chatId: "42", threadId: "7", via: "origin" })
      const [row] = yield* (yield* Outbox).list({ limit: 1 })
      assert.include(row, { text: "here", isCron: false })
      assert.match(row?.turnId ?? "", /./, "it is sent as the turn that asked")

      const unknown = yield* send({ target: "carrier-pigeon:1", text: "?" })
      assert.deepStrictEqual([unknown.status, codeOf(unknown.json)], [400, "unknown_platform"])

      const cron = { ...insideTurn, HERMES_CRON_SESSION: "1", HERMES_CRON_JOB_ID: "j1" }
      const bare = Schema.decodeUnknownSync(SendResult)(
        (yield* send({ target: "telegram", text: "cron" }, context(cron))).json
      )
      assert.include(bare.delivery, { chatId: "1", via: "home" }, "a cron run has no live chat")
      assert.include((yield* (yield* Outbox).list({ limit: 1 }))[0], { text: "cron", isCron: true })

      const rows = Schema.decodeUnknownSync(
        Schema.Array(DeliveryView),
        exact
      )((yield* ask("/api/deliveries?state=sent")).json)
      assert.includeMembers(
        rows.map((row) => row.text),
        ["hello", "home", "here", "cron"]
      )
      assert.strictEqual((yield* ask("/api/deliveries?state=lost")).status, 400)
      const targets = (yield* ask("/api/targets")).json as ReadonlyArray<object>
      assert.deepInclude(targets, {
        target: "telegram:1",
        platform: "telegram",
        chatId: "1",
        threadId: null,
        name: null,
        home: true
      })
    })
  )

  it.effect("says how the gateway is", () =>
    Effect.gen(function* () {
      const { url } = yield* ApiServer
      const status = Schema.decodeUnknownSync(GatewayStatus, exact)((yield* ask("/api/status")).json)
      assert.include(status.gateway, { running: true, pid: process.pid, url, version: "1.2.3" })
      assert.sameMembers(
        status.platforms.map((one) => `${one.name} ${one.state}`),
        ["telegram connected", "web connected"]
      )
      assert.deepStrictEqual(status.work, { turns: 0, cron: 0, api: 0, delegates: 0, processes: 0 })
      const detail = Schema.decodeUnknownSync(HealthDetail, exact)((yield* ask("/health/detailed")).json)
      assert.isAbove(detail.memory.rss, 1_000_000)

      const metrics = yield* ask("/metrics")
      assert.include(metrics.headers.get("content-type") ?? "", "text/plain; version=0.0.4")
      assert.match(metrics.text, /^hermes_info\{version="1\.2\.3"\} 1$/m)
      assert.match(metrics.text, /^hermes_http_requests_total\{status="200"\} \d+$/m)
      assert.match(metrics.text, /^hermes_database_bytes [1-9]\d+$/m)
      assert.match(metrics.text, /^hermes_platform_connected\{platform="telegram"\} 1$/m)
    })
  )

  it.effect("tells everything that happens to each of its listeners", () =>
    Effect.gen(function* () {
      const { url } = yield* ApiServer
      const activity = yield* Activity
      const listen = (at: string) => Effect.promise(() => fetching(`${url}${at}`, {}))
      const all = yield* listen("/api/events")
      const one = yield* listen("/api/events?session=s2")
      const heard = [readEvents(all, (seen) => seen.length === 3), readEvents(one, (seen) => seen.length === 1)]
      for (const sessionId of ["s1", "s2", "s3"])
        yield* activity.publish({ _tag: "session.changed", at: 1, sessionKey: "k", sessionId })
      const [everything, some] = yield* Effect.promise(() => Promise.all(heard))
      assert.deepStrictEqual(
        everything?.map((line) => JSON.parse(line).sessionId),
        ["s1", "s2", "s3"]
      )
      assert.deepStrictEqual(
        some?.map((line) => JSON.parse(line).sessionId),
        ["s2"]
      )
      const head = yield* ask("/api/events", { method: "HEAD" })
      assert.strictEqual(head.status, 200)
    })
  )

  it.effect("cuts a listener that reads nothing, and serves the others", () =>
    Effect.gen(function* () {
      const { url } = yield* ApiServer
      const activity = yield* Activity
      const stuck = yield* Effect.promise(() => fetching(`${url}/api/events?session=flood`, {}))
      const counted = yield* Deferred.make<string>()
      const text = "x".repeat(100_000)
      for (let index = 0; index < 200; index++) {
        yield* activity.publish({
          _tag: "message.stored",
          at: 1,
          sessionKey: "k",
          sessionId: "flood",
          messageId: index,
          role: "assistant",
          text
        })
        yield* Effect.yieldNow()
      }
      yield* Effect.promise(() => readEvents(stuck).catch((error: Error) => error.message)).pipe(
        Effect.flatMap((seen) => Deferred.succeed(counted, typeof seen === "string" ? seen : `${seen.length} events`))
      )
      assert.notStrictEqual(yield* Deferred.await(counted), "200 events")
      assert.strictEqual((yield* ask("/health")).status, 200)
    })
  )

  it.effect("describes itself, and lets the description run no script but its own", () =>
    Effect.gen(function* () {
      const specification = yield* ask("/openapi.json")
      assert.include(specification.headers.get("content-type") ?? "", "application/json")
      const { paths, openapi } = specification.json as {
        readonly openapi: string
        readonly paths: { readonly [path: string]: { readonly [method: string]: { readonly responses: object } } }
      }
      assert.match(openapi, /^3\.1/)
      assert.includeMembers(Object.keys(paths), ["/v1/chat/completions", "/api/sessions/{id}/chat", "/api/events"])
      for (const operations of Object.values(paths))
        for (const { responses } of Object.values(operations))
          for (const [status, response] of Object.entries(responses))
            if (Number(status) >= 400)
              assert.include(JSON.stringify(response), '"#/components/schemas/Error"', `${status}`)

      const docs = yield* ask("/docs")
      assert.include(docs.headers.get("content-type") ?? "", "text/html")
      const policy = docs.headers.get("content-security-policy") ?? ""
      const scripts = [...docs.text.matchAll(/<script>([\s\S]*?)<\/script>/g)].map((match) => match[1] ?? "")
      assert.isAbove(scripts.length, 0)
      for (const script of scripts)
        assert.include(policy, `sha256-${createHash("sha256").update(script).digest("base64")}`)
      assert.notMatch(policy, /script-src[^;]*unsafe/)
      assert.notMatch(docs.text, /<(?:script|link)[^>]+(?:src|href)=["']https?:/)
      assert.strictEqual((yield* ask("/docs")).text.length, docs.text.length)
    })
  )
})
