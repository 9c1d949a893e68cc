/**
 * A wall clock that was ahead and is put right. What ran under it has its rows, and those stay unique (decision 14). All
 * else that was settled ahead of time was not: stretches that count as missed or skipped are cut back to now, single runs
 * that were given up before their time wait for it again, and each job is due at its first instant that has no row. So the
 * sum of counts is what the schedule asked for up to now, and the rest is counted when it comes.
 */
import { Clock, Effect, Schema } from "effect"
import { Millis } from "../../services/operation/Instant.js"
import { JobNumber } from "../../services/schedule/Job.js"
import type { Righted } from "../../services/schedule/JobStore.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import { Transaction } from "../../services/state/Database.js"
import * as Due from "./Due.js"
import * as OwnInstants from "./OwnInstants.js"
import * as Rows from "./Rows.js"
import type { ScheduleRules } from "./ScheduleRules.js"

/** The longest that a retry is put off; what waits longer was put off by a wrong clock. */
const longestRetryMillis = 24 * 3_600_000

const Ahead = Rows.all(
  Schema.Struct({
    id: Schema.Number,
    at: Millis,
    rule: Schema.NullOr(Schema.Number)
  }),
  "occurrences"
)
const Appointed = Rows.all(Schema.Struct({ ...Due.Place.fields, rule: Schema.Number }), "schedule")
const GivenUp = Rows.all(
  Schema.Struct({
    id: Schema.Number,
    job: JobNumber,
    at: Millis,
    timezone: Schema.NullOr(Schema.String)
  }),
  "occurrences"
)

export const step = (rules: ScheduleRules, timezone: string) =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    const now = yield* Clock.currentTimeMillis
    const moved: Array<Righted> = []

    for (const { at, id, job, timezone: own } of yield* GivenUp(sql`SELECT o.id, o.job, o.at,
        CASE WHEN json_valid(j.definition) THEN json_extract(j.definition, '$.timezone') END AS timezone
      FROM jobs AS j JOIN occurrences AS o ON o.job = j.number
      WHERE j.state = 'missed' AND j.removed_at IS NULL AND o.at > ${now} AND o.state = 'missed' AND o.attempts = 0
        AND o.count = 1 AND NOT EXISTS (SELECT 1 FROM schedule WHERE job = j.number)`)) {
      const schedule = { kind: "once", at, timezone: own ?? timezone, ownZone: own !== null } as const
      yield* sql`DELETE FROM occurrences WHERE id = ${id}`
      yield* sql`INSERT INTO schedule ${sql.insert({ job, rule: yield* rules.idOf(schedule), remaining: 1 })}`
      yield* Due.insert({ job, nextAt: at, settled: 0 })
      yield* sql`UPDATE jobs SET state = 'scheduled', state_reason = NULL, last_status = NULL, last_error = NULL,
        updated_at = ${now} WHERE number = ${job}`
      moved.push({ job, from: null, to: at })
    }

    for (const { at, id, rule } of yield* Ahead(sql`SELECT o.id, o.at,
        coalesce(o.rule, s.rule, p.rule) AS rule
      FROM occurrences AS o LEFT JOIN schedule AS s ON s.job = o.job LEFT JOIN schedule_paused AS p ON p.job = o.job
      WHERE coalesce(o.last_at, o.at) > ${now} AND o.at >= 0 AND o.count > 0 AND o.attempts = 0 AND o.state IN ('missed', 'skipped')
        AND coalesce(s.job, p.job) IS NOT NULL`)) {
      if (at > now) {
        yield* sql`DELETE FROM occurrences WHERE id = ${id}`
        continue
      }
      const schedule = rule === null ? null : yield* rules.load(rule)
      if (schedule === null) continue
      const more = Schedule.occurrences(schedule, at, now)
      yield* sql`UPDATE occurrences SET last_at = ${more?.last ?? null}, count = ${1 + (more?.count ?? 0)} WHERE id = ${id}`
    }

    const follows = new Map<number, number | null>()
    for (const table of ["schedule", "schedule_paused"] as const)
      for (const place of yield* Appointed(sql`SELECT p.job, p.next_at AS nextAt, s.rule, p.settled
        FROM ${sql(table === "schedule" ? "due" : table)} AS p JOIN ${sql(table)} AS s ON s.job = p.job
        WHERE p.next_at > ${now}`)) {
        const { job, nextAt, rule, settled } = place
        const schedule = yield* rules.load(rule)
        if (schedule === null || !Schedule.isRecurring(schedule)) continue
        const next = follows.has(rule) ? (follows.get(rule) ?? null) : Schedule.next(schedule, now)
        follows.set(rule, next)
        if (next === nextAt && settled <= now) continue
        const own = settled > now ? yield* OwnInstants.from(job, now + 1) : []
        const to = OwnInstants.free(schedule, next, own) ?? nextAt
        const settledTo = own.at(-1)?.last ?? Math.min(settled, now)
        yield* sql`UPDATE ${sql(table)} SET hold_until = NULL WHERE job = ${job}`
        if (table === "schedule") yield* Due.move(place, { nextAt: to, settled: settledTo })
        else yield* sql`UPDATE schedule_paused SET next_at = ${to}, settled = ${settledTo} WHERE job = ${job}`
        // One instant earlier is no more than what a clock that is set makes of a job that was just made.
        if ((Schedule.next(schedule, to) ?? nextAt) < nextAt) moved.push({ job, from: nextAt, to })
      }

    yield* sql`UPDATE wakes SET at = ${now} WHERE at > CASE kind WHEN 'manual' THEN ${now} ELSE ${now + longestRetryMillis} END`
    return moved
  })
