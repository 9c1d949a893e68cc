/** One row that somebody spoilt stops nothing but itself: each list answers with all others, and nobody is blamed for it. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SessionId } from "../../../src/services/session/Session.js"
import { Transcript } from "../../../src/services/session/Transcript.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { ask, server } from "./support.js"

const made = Schema.decodeUnknownSync(Schema.Struct({ id: Schema.String }))

/** As SQL: beyond what a Date can be, the last that it can be, and no number. */
const values = ["9e15", "-9e15", "9223372036854775807", "-8640000000000000", "'text'"]

interface Place {
  readonly table: string
  readonly columns: ReadonlyArray<string>
  /** Which row is spoilt. */
  readonly where: string
}

const spoilt = "(SELECT number FROM jobs WHERE name = 'spoilt')"
const places: ReadonlyArray<Place> = [
  { table: "due", columns: ["next_at", "settled"], where: `job = ${spoilt}` },
  { table: "schedule", columns: ["remaining"], where: `job = ${spoilt}` },
  {
    table: "jobs",
    columns: ["last_run_at", "created_at", "updated_at", "paused_at", "completed", "failure_streak"],
    where: "name = 'spoilt'"
  },
  {
    table: "occurrences",
    columns: ["at", "last_at", "claimed_at", "started_at", "finished_at", "count", "attempts"],
    where: `job = ${spoilt}`
  },
  { table: "incidents", columns: ["first_at", "last_at", "count"], where: "id = 'inc_spoilt'" },
  {
    table: "sessions",
    columns: ["started_at", "last_activity_at", "ended_at", "message_count"],
    where: "title = 'spoilt'"
  },
  { table: "messages", columns: ["at"], where: "text = 'spoilt tea'" },
  { table: "deliveries", columns: ["created_at", "settled_at", "not_before", "attempts"], where: "text = 'spoilt'" }
]

const write = (...statements: ReadonlyArray<string>) =>
  Effect.flatMap(Database, (database) =>
    database.write(
      "test",
      Effect.flatMap(Transaction, (sql) =>
        Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true })
      )
    )
  )

const deliveryOf = (name: string): string =>
  `INSERT INTO deliveries (id, cause_kind, cause_id, platform, chat_id, part, parts, text, via, state, reply_to_person, is_cron, created_at)
    VALUES ('out_${name}', 'command', '${name}', 'telegram', '1', 0, 1, '${name}', 'explicit', 'sent', 0, 0, 1000)`

/** Two of each; the answers of the lists hold the word `sound` for the one that is. */
const fill = Effect.gen(function* () {
  const [database, transcript] = yield* Effect.all([Database, Transcript])
  const sessions: Array<string> = []
  for (const name of ["sound", "spoilt"]) {
    yield* ask("/api/jobs", { body: { name, schedule: "every 1h", prompt: "x" } })
    const { id } = made((yield* ask("/api/sessions", { body: { title: name } })).json)
    const text = { _tag: "user", text: `${name} tea`, platformMessageId: null } as const
    yield* database.write("test", transcript.append(SessionId.make(id), null, [text]))
    const job = `(SELECT number FROM jobs WHERE name = '${name}')`
    yield* write(
      deliveryOf(name),
      `INSERT INTO occurrences (job, at, count, kind, state, attempts, claimed_at, finished_at, reason)
        VALUES (${job}, 1000, 1, 'on_time', 'ok', 1, 1000, 2000, '${name}')`,
      `INSERT INTO incidents (id, job, kind, error, state, count, first_at, last_at)
        VALUES ('inc_${name}', ${job}, 'run', '${name}', 'detected', 1, 1000, 1000)`
    )
    sessions.push(id)
  }
  const [sound = "", other = ""] = sessions
  const ofJobs = [
    "/api/jobs?all=true",
    "/api/schedules?all=true",
    "/api/jobs/sound",
    "/api/jobs/sound/runs",
    "/api/runs",
    "/api/incidents"
  ]
  const ofSessions = [
    "/api/sessions",
    "/api/sessions/search?q=tea",
    `/api/sessions/${sound}`,
    `/api/sessions/${sound}/messages`
  ]
  return {
    lists: (table: string) =>
      table === "deliveries" ? ["/api/deliveries"] : table === "sessions" || table === "messages" ? ofSessions : ofJobs,
    singles: ["/api/jobs/spoilt", "/api/jobs/spoilt/runs", `/api/sessions/${other}`, "/api/explain/out_spoilt"],
    page: `/api/sessions/${other}/messages`
  }
})

layer(server(), { excludeTestServices: true })("a row that somebody spoilt", (it) => {
  it.effect(
    "is left out of its lists, which answer as before",
    () =>
      Effect.gen(function* () {
        const { lists, page, singles } = yield* fill
        const wrong: Array<string> = []
        for (const { columns, table, where } of places) {
          yield* write(`CREATE TABLE kept AS SELECT * FROM ${table} WHERE ${where}`)
          for (const column of columns)
            for (const value of values) {
              const note = (what: string) => wrong.push(`${table}.${column} = ${value}: ${what}`)
              yield* write(`UPDATE OR IGNORE ${table} SET ${column} = ${value} WHERE ${where}`)
              for (const path of lists(table)) {
                const { status, text } = yield* ask(path)
                if (status !== 200 || !text.includes("sound")) note(`${path} ${status} ${text.slice(0, 100)}`)
              }
              for (const path of singles) {
                const { status } = yield* ask(path)
                if (![200, 404, 503].includes(status)) note(`${path} ${status}`)
              }
              if (table === "messages") {
                const { status, text } = yield* ask(page)
                if (status !== 200 || !text.includes("spoilt tea")) note(`${page} ${status}`)
              }
              if (table === "due") {
                const { text } = yield* ask("/api/jobs?all=true")
                if (!text.includes('"spoilt"')) note("the job is not in its list")
                for (const path of ["/api/status", "/health/detailed"]) {
                  const { status } = yield* ask(path)
                  if (status !== 200) note(`${path} ${status}`)
                }
              }
              yield* write(`UPDATE ${table} SET ${column} = (SELECT ${column} FROM kept) WHERE ${where}`)
            }
          yield* write("DROP TABLE kept")
        }
        assert.deepStrictEqual(wrong, [])
      }),
    120_000
  )
})
