/** How long claims live, and what becomes of those of a gateway that is dead (decision 14). */
import { Clock, Effect, Schema } from "effect"
import { Millis } from "../../services/operation/Instant.js"
import type { Claimed, FireClaim, Recovered, RunEnding } from "../../services/schedule/FireClaim.js"
import { JobNumber } from "../../services/schedule/Job.js"
import * as Lateness from "../../services/schedule/Lateness.js"
import { OccurrenceId, OccurrenceKind } from "../../services/schedule/Occurrence.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import { type Database, type Step, Transaction } from "../../services/state/Database.js"
import * as Due from "./Due.js"
import * as Rows from "./Rows.js"
import type { ScheduleRules } from "./ScheduleRules.js"

/** A run's own lease and the gateway's: five beats. */
export const leaseMillis = 300_000
export const leaseName = "gateway"
/** Claimed so often and never begun: something about it ends the gateway, so it is given up. */
const mostAttempts = 2

const OpenRow = Schema.Struct({
  id: OccurrenceId,
  job: JobNumber,
  at: Millis,
  kind: OccurrenceKind,
  count: Schema.Number,
  state: Schema.Literal("claimed", "running"),
  attempts: Schema.Number,
  context: Schema.NullOr(Schema.String),
  rule: Schema.NullOr(Schema.Number)
})
type OpenRow = typeof OpenRow.Type
const Open = Rows.parted(OpenRow)
const Unplaced = Rows.all(Schema.Struct({ job: JobNumber, rule: Schema.Number }), "schedule")
const Doubled = Rows.all(Schema.Struct({ job: JobNumber, nextAt: Millis }), "due")
const Ids = Rows.whole(Schema.Struct({ id: OccurrenceId }))

/** Nothing more is asked for: also when it was paused during its last run, as then there was nothing left to put aside. */
const over = `(state IN ('scheduled', 'paused') AND NOT EXISTS (SELECT 1 FROM schedule WHERE job = jobs.number)
    AND NOT EXISTS (SELECT 1 FROM schedule_paused WHERE job = jobs.number))`

const record = `UPDATE jobs SET last_run_at = ?, last_status = ?, last_error = ?, last_delivery_error = ?, completed = completed + ?,
    failure_streak = CASE ? WHEN 'failure' THEN failure_streak + 1 WHEN 'success' THEN 0 ELSE failure_streak END,
    state = CASE WHEN ${over} THEN 'completed' ELSE state END,
    state_reason = CASE WHEN ${over} THEN NULL ELSE state_reason END,
    paused_at = CASE WHEN ${over} THEN NULL ELSE paused_at END
  WHERE number = ?`

/** What a job shows of the run that ended. A job whose schedule asks for nothing more is over with its last run. */
export const recordOnJob = (
  job: JobNumber,
  count: number,
  now: number,
  ending: Pick<RunEnding, "status" | "error" | "deliveryError" | "streak">
): Step<void> =>
  Effect.flatMap(Transaction, (sql) => {
    const { deliveryError, error, status, streak } = ending
    return Effect.asVoid(sql.unsafe(record, [now, status, error, deliveryError, count > 0 ? 1 : 0, streak, job]))
  })

export const beat = (database: typeof Database.Service, token: string, held: ReadonlyArray<FireClaim>) =>
  database.write(
    "schedule.beat",
    Effect.gen(function* () {
      const sql = yield* Transaction
      const now = yield* Clock.currentTimeMillis
      yield* sql`UPDATE leases SET expires_at = ${now + leaseMillis}, beat_at = ${now}
        WHERE name = ${leaseName} AND token = ${token}`
      const tokens = JSON.stringify(held.map((claim) => claim.token))
      const alive = yield* Ids(sql`UPDATE occurrences SET lease_until = ${now + leaseMillis}
        WHERE finished_at IS NULL AND state = 'running' AND token IN (SELECT value FROM json_each(${tokens})) RETURNING id`)
      const ours = new Set(alive.map(({ id }) => id))
      const others = held.filter((claim) => !ours.has(claim.occurrence)).map((claim) => claim.occurrence)
      if (others.length === 0) return []
      // What we have recorded ourselves in the meantime is not lost.
      return (yield* Ids(sql`SELECT id FROM occurrences
        WHERE id IN (SELECT value FROM json_each(${JSON.stringify(others)}))
          AND (finished_at IS NULL OR state = 'unknown')`)).map(({ id }) => id)
    })
  )

/** A repair may save a job's row and not its place, and who writes rows by hand may write what is none, or several. */
export const places = (rules: ScheduleRules): Step<void> =>
  Effect.gen(function* () {
    const sql = yield* Transaction
    yield* sql`DELETE FROM due WHERE typeof(job) <> 'integer' OR NOT (${sql.literal(Due.isPlace("due"))})`
    for (const { job, nextAt } of yield* Doubled(
      sql`SELECT job, min(next_at) AS nextAt FROM due GROUP BY job HAVING count(*) > 1`
    ))
      yield* sql`DELETE FROM due WHERE job = ${job} AND next_at > ${nextAt}`
    for (const { job, rule } of yield* Unplaced(
      sql`SELECT job, rule FROM schedule WHERE job NOT IN (SELECT job FROM due)`
    )) {
      yield* Due.insert({ job, ...(yield* Due.again(yield* rules.load(rule))) })
      yield* Effect.logWarning("it was lost when a job is due; it follows its schedule again from now on").pipe(
        Effect.annotateLogs({ job })
      )
    }
  })

const unknownReason = "the gateway ended while it ran: whether it acted is not known, and it is not run again"

export const recover = (options: {
  readonly database: typeof Database.Service
  readonly token: string
  readonly lateness: Lateness.Rules
  readonly rules: ScheduleRules
  readonly pid: number
  readonly claimedOf: (
    rows: ReadonlyArray<readonly [OccurrenceId, JobNumber, number, OccurrenceKind]>,
    context: string | null
  ) => ReadonlyArray<Claimed>
}) => {
  const { claimedOf, database, lateness, pid, rules, token } = options

  /** How a claim that was found stands now; a reason when it is too late for it. */
  const lateNow = (row: OpenRow, now: number) =>
    Effect.gen(function* () {
      const late = now - row.at
      const schedule = row.rule === null || row.count === 0 ? null : yield* rules.load(row.rule)
      if (row.attempts >= mostAttempts) return { kind: row.kind, reason: "it was claimed twice and never started" }
      if (schedule !== null && Schedule.isRecurring(schedule)) {
        const grace = Lateness.graceMillis(schedule, row.at)
        return late > grace && !lateness.catchUp
          ? { kind: row.kind, reason: "the gateway ended before it started, and cron.catch_up_missed is false" }
          : { kind: Lateness.kindOf(late, grace), reason: null }
      }
      const kind = row.count === 0 ? row.kind : Lateness.kindOf(late, lateness.oneShotGraceMillis)
      return late > lateness.oneShotGraceMillis
        ? { kind, reason: "the gateway ended before it started, and its time has passed" }
        : { kind, reason: null }
    })

  const giveUp = (row: OpenRow, now: number, reason: string) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      yield* sql`UPDATE occurrences SET state = 'missed', finished_at = ${now}, token = NULL, reason = ${reason} WHERE id = ${row.id}`
      yield* sql`UPDATE jobs SET last_status = 'missed', last_error = ${reason},
          state_reason = CASE WHEN ${sql.literal(over)} THEN ${reason} ELSE state_reason END,
          paused_at = CASE WHEN ${sql.literal(over)} THEN NULL ELSE paused_at END,
          state = CASE WHEN ${sql.literal(over)} THEN 'missed' ELSE state END
        WHERE number = ${row.job}`
    })

  const step = Effect.gen(function* () {
    const sql = yield* Transaction
    const now = yield* Clock.currentTimeMillis
    yield* places(rules)
    yield* sql`INSERT INTO leases ${sql.insert({
      name: leaseName,
      owner: String(pid),
      token,
      expires_at: now + leaseMillis,
      beat_at: now
    })} ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = excluded.token,
      expires_at = excluded.expires_at, beat_at = excluded.beat_at`
    const { rows: open, unreadable } =
      yield* Open(sql`SELECT o.id, o.job, o.at, o.kind, o.count, o.state, o.attempts, o.context, s.rule
      FROM occurrences AS o LEFT JOIN schedule AS s ON s.job = o.job WHERE o.finished_at IS NULL ORDER BY o.at, o.id`)
    // Left open, it would keep its job from running for ever.
    for (const { problem, row } of unreadable) {
      yield* sql.unsafe(
        "UPDATE occurrences SET state = 'unknown', finished_at = ?, token = NULL, reason = ? WHERE id = ?",
        [now, `its row could not be read: ${problem}`, row["id"]]
      )
      yield* Effect.logWarning("a run that was open cannot be read and is over").pipe(
        Effect.annotateLogs({ row: row["id"], problem })
      )
    }
    const found = { claimed: [] as Array<Claimed>, unknown: [] as Array<Claimed>, missed: [] as Array<Claimed> }
    for (const row of open) {
      const one = (kind: OccurrenceKind) => claimedOf([[row.id, row.job, row.at, kind]], row.context)
      if (row.state === "running") {
        yield* sql`UPDATE occurrences SET state = 'unknown', finished_at = ${now}, token = NULL, lease_until = NULL,
          reason = ${unknownReason} WHERE id = ${row.id}`
        yield* sql`UPDATE sessions SET ended_at = ${now}, end_reason = 'unknown'
          WHERE id = (SELECT session_id FROM occurrences WHERE id = ${row.id}) AND ended_at IS NULL`
        yield* recordOnJob(row.job, row.count, now, {
          status: "unknown",
          error: unknownReason,
          deliveryError: null,
          streak: "same"
        })
        found.unknown.push(...one(row.kind))
        continue
      }
      const { kind, reason } = yield* lateNow(row, now)
      if (reason === null) {
        yield* sql`UPDATE occurrences SET token = ${token}, attempts = attempts + 1, claimed_at = ${now}, kind = ${kind}
          WHERE id = ${row.id}`
        found.claimed.push(...one(kind))
      } else {
        yield* giveUp(row, now, reason)
        found.missed.push(...one(row.kind))
      }
    }
    return found satisfies Recovered
  })

  return database.write("schedule.recover", step)
}
