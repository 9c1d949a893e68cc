/** `/api/jobs` (contract §4): the same jobs as on every other surface. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, layer } from "@effect/vitest"
import { Effect, Either, Layer, Redacted } from "effect"
import * as Client from "../../../src/layers/http/Client.js"
import { ApiServer } from "../../../src/services/api/ApiServer.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { key, server } from "./support.js"

const client = (environment: Record<string, string> = {}) =>
  Effect.flatMap(ApiServer, ({ url }) => Client.make({ url, key: Redacted.make(key), environment }))

const refusal = <A, E>(self: Effect.Effect<A, E>) =>
  Effect.map(Effect.either(self), (result) => (Either.isLeft(result) ? result.left : "done"))

layer(Layer.merge(server(), FetchHttpClient.layer), { excludeTestServices: true })("/api/jobs", (it) => {
  it.effect("makes, shows, changes, pauses, runs and removes; errors name the field", () =>
    Effect.gen(function* () {
      const { jobs, sessions } = yield* client()
      const session = yield* sessions.create({ payload: { surface: "web" } })
      const made = yield* jobs.create({
        payload: { name: "news", schedule: "every 2h", prompt: "say: news", sessionId: session.id }
      })
      assert.deepInclude(made, { name: "news", words: "every 2 hours", deliver: "origin", state: "scheduled" })
      assert.strictEqual(made.next.length, 3)
      // The page is a platform of its own, and its chat is the conversation.
      assert.deepStrictEqual(made.targets, [
        { platform: "web", chatId: session.chatId ?? "", threadId: null, via: "origin" }
      ])
      const bad = (payload: Parameters<typeof jobs.create>[0]["payload"]) => refusal(jobs.create({ payload }))
      assert.deepInclude(yield* bad({ schedule: "61 * * * *", prompt: "x" }), {
        status: 400,
        code: "schedule_invalid",
        issues: [{ path: "schedule.minute", message: "the minute must be 0 to 59" }]
      })
      assert.deepInclude(yield* bad({ schedule: "1h" }), { status: 400, code: "job_invalid" })
      assert.deepInclude(yield* bad({ name: "NEWS", schedule: "1h", prompt: "x" }), { status: 409 })
      assert.deepInclude(yield* bad({ schedule: "1h", prompt: "x", sessionId: "ses_nobody" }), { status: 404 })
      // What is no conversation of the page is no target, whatever it looks like.
      for (const deliver of ["web:garbage", "web:ses_01h2j3k4m5n6", `web:${session.id}:5`, "web:"])
        assert.deepInclude(yield* bad({ schedule: "1h", prompt: "x", deliver }), { status: 400, code: "job_invalid" })
      const named = yield* jobs.create({
        payload: { name: "named", schedule: "1h", prompt: "x", deliver: `web:${session.id}` }
      })
      assert.deepInclude(named.targets, { platform: "web", chatId: session.id, threadId: null, via: "explicit" })
      yield* jobs.remove({ path: { id: named.id } })
      assert.deepInclude(yield* refusal(jobs.get({ path: { id: "nothing" } })), { status: 404, code: "job_not_found" })
      const id = made.id
      const edited = yield* jobs.update({ path: { id }, payload: { schedule: "weekdays at 9am", prompt: "say: more" } })
      assert.deepInclude(edited, { words: "at 09:00, Monday through Friday", prompt: "say: more", name: "news" })
      const paused = yield* jobs.pause({ path: { id: "news" }, payload: { reason: "holiday" } })
      assert.deepInclude(paused, { state: "paused", stateReason: "holiday" })
      assert.deepInclude(yield* jobs.resume({ path: { id }, payload: { at: null } }), { state: "scheduled" })
      yield* jobs.start({ path: { id }, payload: { prompt: "only today" } })
      assert.deepStrictEqual(yield* jobs.runs({ path: { id }, urlParams: { limit: 20 } }), [])
      assert.deepInclude(yield* refusal(jobs.run({ path: { id: "run_99" } })), { status: 404 })
      assert.deepStrictEqual(
        (yield* jobs.setNote({ path: { id, key: "a/b" }, payload: { value: "1" } })).map(({ key, value }) => [
          key,
          value
        ]),
        [["a/b", "1"]]
      )
      assert.deepStrictEqual(yield* jobs.removeNote({ path: { id, key: "a/b" } }), { removed: true })
      const [brief] = yield* jobs.brief({ urlParams: {} })
      assert.deepInclude(brief, { id, name: "news" })
      assert.notProperty(brief, "prompt")
      assert.strictEqual((yield* jobs.remove({ path: { id } })).id, id)
      assert.deepStrictEqual(yield* jobs.list({ urlParams: { all: "true" } }), [])
      const preview = yield* jobs.preview({ urlParams: { schedule: "0 9 * * *", from: "2027-01-01T00:00Z", count: 2 } })
      assert.deepInclude(preview, { words: "at 09:00, every day" })
      assert.strictEqual(preview.next.length, 2)
    })
  )

  it.effect("tells the runs of a job that was removed to who has its id", () =>
    Effect.gen(function* () {
      const { jobs } = yield* client()
      const database = yield* Database
      const runs = (id: string) => jobs.runs({ path: { id }, urlParams: { limit: 20 } })
      const { id } = yield* jobs.create({ payload: { name: "gone", schedule: "every 1h", prompt: "x" } })
      const idle = yield* jobs.create({ payload: { name: "never", schedule: "every 1h", prompt: "x" } })
      yield* database.write(
        "test",
        Effect.flatMap(
          Transaction,
          (sql) =>
            sql`INSERT INTO occurrences (job, at, count, kind, state, attempts, claimed_at, finished_at)
              SELECT number, 1, 1, 'on_time', 'ok', 1, 1, 1 FROM jobs WHERE id = ${id}`
        )
      )
      const before = yield* runs("gone")
      assert.deepInclude(before[0], { jobId: id, status: "ok" })
      yield* jobs.remove({ path: { id } })
      assert.deepStrictEqual(yield* runs(id), before)
      yield* jobs.remove({ path: { id: idle.id } })
      for (const none of ["gone", idle.id, "000000000000"])
        assert.deepInclude(yield* refusal(runs(none)), { status: 404, code: "job_not_found" })
    })
  )

  it.effect("takes half a surrogate pair for no text, as in messages, and finds the job by the name it was given", () =>
    Effect.gen(function* () {
      const { jobs } = yield* client()
      const name = "half \ud800"
      const { id } = yield* jobs.create({ payload: { name, schedule: "every 1h", prompt: "x \udfff" } })
      assert.deepInclude(yield* jobs.get({ path: { id: name } }), { id, name: "half \ufffd", prompt: "x \ufffd" })
      yield* jobs.remove({ path: { id: name } })
    })
  )

  it.effect("removes a job whose counts or times somebody spoilt, and its name is free again", () =>
    Effect.gen(function* () {
      const { jobs } = yield* client()
      const database = yield* Database
      const spoil = (statement: string) =>
        database.write(
          "test",
          Effect.flatMap(Transaction, (sql) => sql.unsafe(statement))
        )
      const job = "(SELECT number FROM jobs WHERE name = 'spoilt' AND removed_at IS NULL)"
      const places = [
        ...["created_at", "updated_at", "paused_at", "last_run_at", "completed", "failure_streak"].map(
          (column) => `UPDATE jobs SET ${column} = VALUE WHERE number = ${job}`
        ),
        ...["schedule", "schedule_paused"].map((table) => `UPDATE ${table} SET remaining = VALUE WHERE job = ${job}`),
        `UPDATE due SET next_at = VALUE, settled = VALUE WHERE job = ${job}`,
        `UPDATE schedule_paused SET next_at = VALUE, settled = VALUE WHERE job = ${job}`
      ]
      for (const place of places)
        for (const value of ["9e15", "'text'"])
          for (const paused of [false, true]) {
            const { id } = yield* jobs.create({
              payload: { name: "spoilt", schedule: "every 1h", prompt: "x", paused, repeat: 3 }
            })
            yield* spoil(place.replaceAll("VALUE", value))
            const removed = yield* jobs.remove({ path: { id: paused ? id : "SPOILT" } })
            assert.deepInclude(removed, { id, name: "spoilt" }, `${place} ${value}`)
            assert.deepStrictEqual(yield* jobs.list({ urlParams: { all: "true" } }), [])
          }
    })
  )

  it.effect("refuses a word that is not of a job", () =>
    Effect.gen(function* () {
      const { url } = yield* ApiServer
      const answer = yield* Effect.promise(() =>
        fetch(`${url}/api/jobs`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body: JSON.stringify({ schedule: "1h", promt: "x" })
        })
      )
      assert.strictEqual(answer.status, 400)
      assert.include(yield* Effect.promise(() => answer.text()), "promt")
    })
  )

  it.effect("is done as the turn that asks: its chat is the origin, and a scheduled run makes none", () =>
    Effect.gen(function* () {
      const chat = {
        HERMES_SESSION_PLATFORM: "telegram",
        HERMES_SESSION_CHAT_ID: "-100",
        HERMES_SESSION_THREAD_ID: "7",
        HERMES_SESSION_USER_ID: "42"
      }
      const inside = yield* client(chat)
      const made = yield* inside.jobs.create({ payload: { schedule: "1h", prompt: "x" } })
      assert.deepStrictEqual(made.origin, { platform: "telegram", chatId: "-100", threadId: "7" })
      const cron = yield* client({ ...chat, HERMES_CRON_SESSION: "1" })
      const denied = { status: 403, code: "not_for_a_scheduled_run" }
      assert.deepInclude(yield* refusal(cron.jobs.create({ payload: { schedule: "1h", prompt: "y" } })), denied)
      assert.deepInclude(yield* refusal(cron.jobs.update({ path: { id: made.id }, payload: { prompt: "y" } })), denied)
      assert.deepInclude(yield* refusal(cron.jobs.remove({ path: { id: made.id } })), denied)
      assert.strictEqual((yield* cron.jobs.list({ urlParams: {} })).length, 1)
    })
  )
})
