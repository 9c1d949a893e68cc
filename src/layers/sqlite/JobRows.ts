/** How a job is read from its rows. */
import type { SqlClient } from "@effect/sql"
import { Effect, Either, Option, Schema } from "effect"
import { Millis } from "../../services/operation/Instant.js"
import { JobDefinition, JobId, JobNumber, JobState, RunStatus } from "../../services/schedule/Job.js"
import type { StoredJob } from "../../services/schedule/JobStore.js"
import { MonitorState } from "../../services/schedule/Monitor.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import * as Misfit from "../../services/operation/Misfit.js"
import * as Due from "./Due.js"
import * as Rows from "./Rows.js"

const text = Schema.NullOr(Schema.String)
const instant = Schema.NullOr(Millis)

const decodeRule = Schema.decodeUnknownOption(Schedule.Stored)

const mostRules = 4_096
const rules = new Map<unknown, Schedule.Schedule | null>()

/** Many jobs share a rule, and a list reads it for each of them. Null for one that nobody can read. */
const ruleOf = (stored: unknown): Schedule.Schedule | null => {
  const known = rules.get(stored)
  if (known !== undefined) return known
  const rule = Option.getOrNull(decodeRule(stored))
  if (rules.size >= mostRules) rules.clear()
  rules.set(stored, rule)
  return rule
}

/** A job whose schedule nobody can read is there all the same: it says that it has none, and can be edited. */
const ReadableRule = Schema.transform(Schema.Unknown, Schema.NullOr(Schema.typeSchema(Schedule.Stored)), {
  strict: true,
  decode: ruleOf,
  encode: (rule): unknown => rule
})

const Definition = Schema.parseJson(JobDefinition)

const orZero = { decodingFallback: () => Either.right(0) }
const orNull = { decodingFallback: () => Either.right(null) }

const Row = Schema.Struct({
  number: JobNumber,
  id: JobId,
  definition: Rows.remembered(Definition, 2_048),
  state: JobState,
  stateReason: text,
  pausedAt: instant,
  createdAt: Millis,
  updatedAt: Millis,
  removedAt: instant,
  lastRunAt: instant,
  lastStatus: Schema.NullOr(RunStatus),
  lastError: text,
  lastDeliveryError: text,
  completed: Schema.Int,
  failureStreak: Schema.Int,
  preflightAlerted: Rows.Flag,
  monitor: Schema.NullOr(Schema.parseJson(MonitorState)),
  nextAt: instant,
  remaining: Schema.NullOr(Schema.Int),
  holdUntil: instant,
  /** Only shown: one that is no time takes nobody's job away. */
  retryAt: instant.annotations(orNull),
  rule: ReadableRule,
  open: Rows.Flag,
  asked: Rows.Flag,
  begun: Schema.Int
})

const columns = `j.number, j.id, j.definition, j.state, j.state_reason AS stateReason, j.paused_at AS pausedAt,
  j.created_at AS createdAt, j.updated_at AS updatedAt, j.removed_at AS removedAt, j.last_run_at AS lastRunAt,
  j.last_status AS lastStatus, j.last_error AS lastError, j.last_delivery_error AS lastDeliveryError, j.completed,
  j.failure_streak AS failureStreak, j.preflight_alerted AS preflightAlerted, j.monitor,
  coalesce(s.remaining, p.remaining) AS remaining, coalesce(s.hold_until, p.hold_until) AS holdUntil,
  (SELECT min(w.at) FROM wakes AS w WHERE w.job = j.number AND w.kind = 'retry') AS retryAt,
  (SELECT rule FROM schedule_rules WHERE id = coalesce(s.rule, p.rule)) AS rule,
  EXISTS (SELECT 1 FROM occurrences AS o WHERE o.job = j.number AND o.finished_at IS NULL) AS open,
  EXISTS (SELECT 1 FROM wakes AS w WHERE w.job = j.number AND w.kind = 'manual') AS asked,
  (SELECT count(*) FROM occurrences AS o WHERE o.job = j.number AND o.finished_at IS NULL AND o.count > 0) AS begun`

const from = `jobs AS j LEFT JOIN schedule AS s ON s.job = j.number LEFT JOIN schedule_paused AS p ON p.job = j.number`
/** Of all jobs together this is quicker than looking for each. */
const fromWithDue = `${from} LEFT JOIN due AS d ON d.job = s.job`

/** Field by field: of a thousand rows, taking some away and spreading the others costs more than reading them. */
const storedOf = (row: typeof Row.Type): StoredJob => {
  const { definition } = row
  return {
    number: row.number,
    job: {
      id: row.id,
      name: definition.name,
      prompt: definition.prompt,
      skills: definition.skills,
      model: definition.model,
      provider: definition.provider,
      baseUrl: definition.baseUrl,
      modelSnapshot: definition.modelSnapshot,
      reasoningEffort: definition.reasoningEffort,
      script: definition.script,
      noAgent: definition.noAgent,
      monitor: definition.monitor,
      contextFrom: definition.contextFrom,
      schedule: definition.schedule,
      timezone: definition.timezone,
      times: definition.times,
      deliver: definition.deliver,
      failureDeliver: definition.failureDeliver,
      origin: definition.origin,
      createdBy: definition.createdBy,
      attachToSession: definition.attachToSession,
      enabledToolsets: definition.enabledToolsets,
      workdir: definition.workdir,
      state: row.state,
      stateReason: row.stateReason,
      pausedAt: row.pausedAt,
      createdAt: row.createdAt,
      updatedAt: row.updatedAt,
      nextRunAt: row.nextAt,
      lastRunAt: row.lastRunAt,
      lastStatus: row.lastStatus,
      lastError: row.lastError,
      lastDeliveryError: row.lastDeliveryError,
      completed: row.completed,
      failureStreak: row.failureStreak
    },
    schedule: row.rule,
    remaining: row.remaining,
    holdUntil: row.holdUntil,
    retryAt: row.retryAt,
    open: row.open,
    asked: row.asked,
    begun: row.begun,
    removed: row.removedAt !== null,
    monitor: row.monitor,
    preflightAlerted: row.preflightAlerted
  }
}

const scheduled = { scheduled: Rows.Flag }
const one = Rows.first(Schema.Struct({ ...Row.fields, ...scheduled }))

const oneSpoilt = Rows.first(
  Schema.Struct({
    ...Row.fields,
    ...scheduled,
    pausedAt: instant.annotations(orNull),
    createdAt: Millis.annotations(orZero),
    updatedAt: Millis.annotations(orZero),
    lastRunAt: instant.annotations(orNull),
    completed: Schema.Int.annotations(orZero),
    failureStreak: Schema.Int.annotations(orZero),
    remaining: Schema.NullOr(Schema.Int).annotations(orNull),
    holdUntil: instant.annotations(orNull)
  })
)
const many = Rows.all(Row, "jobs")

type Condition = ReturnType<SqlClient.SqlClient["literal"]>

const firstBy = (read: typeof one) => (sql: SqlClient.SqlClient, condition: Condition) =>
  Effect.gen(function* () {
    const row = yield* read(
      sql`SELECT ${sql.literal(columns)}, s.job IS NOT NULL AS scheduled, NULL AS nextAt FROM ${sql.literal(from)} WHERE ${condition}`
    )
    if (row === null) return null
    const place = row.scheduled ? yield* Due.find(sql, row.number, row.rule) : null
    return storedOf({ ...row, nextAt: place?.nextAt ?? null })
  })

export const first = firstBy(one)

/** As {@link first}; a count or a time of the job's own that nobody can read is told as none. */
export const firstSpoilt = firstBy(oneSpoilt)

export const all = (sql: SqlClient.SqlClient, condition: Condition) =>
  Effect.map(
    many(
      sql`SELECT ${sql.literal(columns)}, CASE WHEN ${sql.literal(Due.isPlace("d"))} THEN d.next_at END AS nextAt FROM ${sql.literal(fromWithDue)} WHERE ${condition}`
    ),
    (rows) => rows.map(storedOf)
  )

/** Every job that is not removed, for who looks through them without a client. */
export const selectAll = `SELECT ${columns}, NULL AS nextAt FROM ${from} WHERE j.removed_at IS NULL ORDER BY j.number`

const decode = Misfit.decoder(Row)

/** What of a row of {@link selectAll} cannot be read; null for a job that can. */
export const problemOf = (row: unknown): string | null => {
  const decoded = decode(row)
  return Either.isLeft(decoded) ? Misfit.text(decoded.left) : null
}

const encode = Schema.encode(Definition)

/** A definition as its column. */
export const encoded = (definition: JobDefinition) => encode(definition)
