/** Claims in SQLite (decision 14): all that is due in one transaction, a compare-and-set before each start, a token behind each step. */
import { Clock, Effect, Layer, Schema } from "effect"
import process from "node:process"
import { Ids } from "../../services/operation/Ids.js"
import { Milestone } from "../../services/operation/Milestone.js"
import { Settings } from "../../services/operation/Settings.js"
import {
  aheadMillis,
  type Claimed,
  ClaimLost,
  type FireClaim,
  FireClaims,
  type RunEnding
} from "../../services/schedule/FireClaim.js"
import { JobNumber } from "../../services/schedule/Job.js"
import * as Lateness from "../../services/schedule/Lateness.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import { OccurrenceId, OccurrenceKind } from "../../services/schedule/Occurrence.js"
import { Database, type Step, Transaction } from "../../services/state/Database.js"
import * as ClaimRecovery from "./ClaimRecovery.js"
import * as Rows from "./Rows.js"
import * as OwnInstants from "./OwnInstants.js"
import * as ScheduleRules from "./ScheduleRules.js"

/** Most jobs claimed in one transaction. */
const most = 20_000

/** Rows as arrays, looked through by hand: thousands come at once, and a Schema costs ten times the statement. */
type DueRow = readonly [
  job: JobNumber,
  nextAt: number,
  rule: number,
  remaining: number | null,
  holdUntil: number | null,
  busy: number,
  settled: number
]
type ClaimedRow = readonly [occurrence: OccurrenceId, job: JobNumber, at: number, kind: OccurrenceKind]

const isKind = Schema.is(OccurrenceKind)
const isNumber = (value: unknown): boolean => typeof value === "number"
const isNumberOrNull = (value: unknown): boolean => value === null || typeof value === "number"
const isDueRow = (row: ReadonlyArray<unknown>): row is DueRow =>
  isNumber(row[0]) &&
  isNumber(row[1]) &&
  isNumber(row[2]) &&
  isNumberOrNull(row[3]) &&
  isNumberOrNull(row[4]) &&
  isNumber(row[5]) &&
  isNumber(row[6])
const isClaimedRow = (row: ReadonlyArray<unknown>): row is ClaimedRow =>
  isNumber(row[0]) && isNumber(row[1]) && isNumber(row[2]) && (row[3] === "on_time" || isKind(row[3]))

const shaped =
  <A extends ReadonlyArray<unknown>>(is: (row: ReadonlyArray<unknown>) => row is A) =>
  (rows: ReadonlyArray<ReadonlyArray<unknown>>): Effect.Effect<ReadonlyArray<A>> =>
    rows.every(is) ? Effect.succeed(rows) : Effect.dieMessage("a row of a claim has another shape than its table")
const decodeClaimed = shaped(isClaimedRow)
const decodeStarted = Schema.decodeUnknown(Schema.Array(Schema.Tuple(Schema.Number, Schema.Number)))
const Wake = Rows.parted(
  Schema.Struct({
    id: Schema.Number,
    job: JobNumber,
    at: Schema.Number,
    kind: OccurrenceKind,
    context: Schema.NullOr(Schema.String),
    busy: Rows.Flag
  })
)
const isEndedRow = (row: ReadonlyArray<unknown>): row is readonly [job: JobNumber, count: number] =>
  isNumber(row[0]) && isNumber(row[1])
const decodeEnded = shaped(isEndedRow)

const selectDue = `SELECT s.job, s.next_at, s.rule, s.remaining, s.hold_until,
    EXISTS (SELECT 1 FROM occurrences AS o WHERE o.job = s.job AND o.finished_at IS NULL), s.settled
  FROM schedule AS s WHERE s.next_at <= ? ORDER BY s.next_at LIMIT ${most}`

/** What is simply due: the row's own instant, one occurrence. */
const insertPlain = `INSERT INTO occurrences (job, at, count, kind, state, token, attempts, claimed_at)
  SELECT s.job, s.next_at, 1, 'on_time', 'claimed', ?, 1, ?
  FROM json_each(?) AS e CROSS JOIN schedule AS s ON s.job = e.value WHERE true
  ON CONFLICT DO NOTHING RETURNING id, job, at, kind`

/** The rest: [job, at, last, count, kind, state, reason]. Only what is claimed has a token and is open. */
const insertOther = `INSERT INTO occurrences (job, at, last_at, count, kind, state, token, attempts, claimed_at, finished_at, reason)
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
    CASE value ->> 5 WHEN 'claimed' THEN ? END, value ->> 5 = 'claimed', ?,
    CASE value ->> 5 WHEN 'claimed' THEN NULL ELSE ? END, value ->> 6
  FROM json_each(?) WHERE true ON CONFLICT DO NOTHING RETURNING id, job, at, kind`

const advance = `UPDATE schedule SET next_at = e.value, settled = max(settled, ?, next_at), remaining = remaining - ?,
    hold_until = CASE WHEN hold_until > ? THEN hold_until END
  FROM json_each(?) AS e WHERE schedule.job = CAST(e.key AS INTEGER)`

const start = `UPDATE occurrences SET state = 'running', token = ? || id, started_at = CASE WHEN at BETWEEN ? AND ? THEN at ELSE ? END, lease_until = ?
  WHERE id IN (SELECT value FROM json_each(?)) AND state = 'claimed' AND token = ? RETURNING id, started_at`

const end = `UPDATE occurrences SET state = ?, finished_at = ?, token = NULL, lease_until = NULL, reason = ?, session_id = ?, output = ?
  WHERE id = ? AND state = 'running' AND token = ? RETURNING job, count`

interface Plan {
  readonly schedules: Map<number, Schedule.Schedule>
  readonly follows: Map<number, number | null>
  /** By job, where the clock was ahead: what it ran then. */
  readonly own: Map<number, OwnInstants.OwnInstants>
  readonly plain: Array<number>
  readonly other: Array<readonly [number, number, number | null, number, string, string, string | null]>
  /** By job: when it is due next. */
  readonly ran: { [job: string]: number }
  readonly waited: { [job: string]: number }
  readonly over: Array<number>
  /** Single runs that nobody could make. */
  readonly gone: Array<readonly [job: number, reason: string]>
  /** Their rule is not there: they wait for somebody to give them another. */
  readonly broken: Array<number>
}

const make = Effect.gen(function* () {
  const database = yield* Database
  const settings = yield* Settings
  const ids = yield* Ids
  const milestone = yield* Milestone
  const rules = ScheduleRules.make()
  /** Whose claims are ours; whoever takes the lease after us has another. */
  const token = yield* ids.next("lease")

  const lateness: Lateness.Rules = {
    catchUp: settings.cron.catchUpMissed,
    oneShotGraceMillis: settings.cron.oneShotGraceSeconds * 1_000
  }

  const holdsLease = Effect.flatMap(Transaction, (sql) =>
    Effect.map(
      sql.unsafe("SELECT 1 FROM leases WHERE name = ? AND token = ?", [ClaimRecovery.leaseName, token]).values,
      (rows) => rows.length === 1
    )
  )

  /** It is due by no more than a word: not again, until somebody edits it. */
  const breakOff = (job: number, plan: Plan): void => {
    plan.over.push(job)
    plan.broken.push(job)
  }

  const judge = ([job, nextAt, rule, remaining, holdUntil, busy]: DueRow, now: number, plan: Plan): void => {
    const schedule = plan.schedules.get(rule)
    if (schedule === undefined) return breakOff(job, plan)
    // Many jobs share a rule, and what follows now is the same for all of them.
    let follows = plan.follows.get(rule)
    if (follows === undefined) {
      follows = Schedule.next(schedule, now)
      plan.follows.set(rule, follows)
    }
    const verdict = Lateness.judge({ schedule, nextAt, remaining, busy: busy === 1, holdUntil }, now, lateness, follows)
    const own = plan.own.get(job) ?? []
    const { left } = verdict
    const run = verdict.run !== null && OwnInstants.has(own, verdict.run.at) ? null : verdict.run
    const next = OwnInstants.free(schedule, run === verdict.run ? verdict.next : follows, own)
    if (run !== null && run.at === nextAt && run.kind === "on_time" && left === null) plan.plain.push(job)
    else if (run !== null) plan.other.push([job, run.at, null, 1, run.kind, "claimed", null])
    if (left !== null) {
      const parts = own.length === 0 ? [left] : OwnInstants.between(schedule, left.first, left.last, own)
      for (const { count, first, last } of parts)
        plan.other.push([job, first, last === first ? null : last, count, "late", left.state, left.reason])
      if (next === null && run === null) plan.gone.push([job, left.reason])
    }
    if (next === null) plan.over.push(job)
    else (run === null ? plan.waited : plan.ran)[String(job)] = next
  }

  const claimedOf = (rows: ReadonlyArray<ClaimedRow>, context: string | null = null): ReadonlyArray<Claimed> =>
    rows.map(([occurrence, job, scheduledAt, kind]) => ({ occurrence, job, scheduledAt, kind, context }))

  const claimWakes = (now: number, until: number) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const { rows: wakes, unreadable } = yield* Wake(sql`SELECT w.id, w.job, w.at, w.kind, w.context,
          EXISTS (SELECT 1 FROM occurrences AS o WHERE o.job = w.job AND o.finished_at IS NULL) AS busy
        FROM wakes AS w WHERE w.at <= ${until} ORDER BY w.at LIMIT ${most}`)
      const claimed: Array<Claimed> = []
      for (const { problem, row } of unreadable) {
        yield* Effect.logWarning("a run that was asked for cannot be read and is left out").pipe(
          Effect.annotateLogs({ row: row["id"], problem })
        )
        yield* sql.unsafe("DELETE FROM wakes WHERE id = ?", [row["id"]])
      }
      for (const wake of wakes) {
        // Two in one millisecond are two runs all the same.
        const rows = yield* decodeClaimed(
          yield* sql`INSERT INTO occurrences (job, at, count, kind, state, token, attempts, claimed_at, finished_at, reason, context)
            SELECT ${wake.job}, max(${wake.at}, coalesce((SELECT max(at) + 1 FROM occurrences WHERE job = ${wake.job} AND count = 0), 0)),
              0, ${wake.kind}, ${wake.busy ? "skipped" : "claimed"}, ${wake.busy ? null : token}, 1, ${now},
              ${wake.busy ? now : null}, ${wake.busy ? "the run before was not over" : null}, ${wake.context}
            RETURNING id, job, at, kind`.values
        )
        if (!wake.busy) claimed.push(...claimedOf(rows, wake.context))
        yield* sql`DELETE FROM wakes WHERE id = ${wake.id}`
      }
      return claimed
    })

  const claim = Effect.gen(function* () {
    const sql = yield* Transaction
    const now = yield* Clock.currentTimeMillis
    const until = now + aheadMillis
    if (!(yield* holdsLease)) return { claimed: [], missed: [] }
    const found = yield* sql.unsafe(selectDue, [until]).values
    const due = found.filter(isDueRow)
    const plan: Plan = {
      schedules: new Map(),
      follows: new Map(),
      own: new Map(),
      plain: [],
      other: [],
      ran: {},
      waited: {},
      over: [],
      gone: [],
      broken: []
    }
    for (const [, , rule] of due) {
      if (plan.schedules.has(rule)) continue
      const schedule = yield* rules.load(rule)
      if (schedule !== null) plan.schedules.set(rule, schedule)
    }
    for (const [job, nextAt, , , , , settled] of due)
      if (settled >= nextAt) plan.own.set(job, yield* OwnInstants.from(job, nextAt))
    for (const row of due) judge(row, until, plan)
    for (const [job] of due.length === found.length ? [] : found.filter((row) => !isDueRow(row)))
      if (typeof job === "number") breakOff(job, plan)
    const claimed: Array<Claimed> = []
    if (plan.plain.length > 0)
      claimed.push(
        ...claimedOf(
          yield* decodeClaimed(yield* sql.unsafe(insertPlain, [token, now, JSON.stringify(plan.plain)]).values)
        )
      )
    yield* milestone.reach("claim.inside")
    const missed: Array<Claimed> = []
    if (plan.other.length > 0) {
      const open = new Set(plan.other.filter((row) => row[5] === "claimed").map((row) => `${row[0]} ${row[1]}`))
      const rows = claimedOf(
        yield* decodeClaimed(yield* sql.unsafe(insertOther, [token, now, now, JSON.stringify(plan.other)]).values)
      )
      const gone = new Set(plan.gone.map(([job]) => job))
      for (const row of rows)
        if (open.has(`${row.job} ${row.scheduledAt}`)) claimed.push(row)
        else if (gone.has(row.job)) missed.push(row)
    }
    if (Object.keys(plan.ran).length > 0) yield* sql.unsafe(advance, [now, 1, now, JSON.stringify(plan.ran)])
    if (Object.keys(plan.waited).length > 0) yield* sql.unsafe(advance, [now, 0, now, JSON.stringify(plan.waited)])
    if (plan.over.length > 0)
      yield* sql.unsafe("DELETE FROM schedule WHERE job IN (SELECT value FROM json_each(?))", [
        JSON.stringify(plan.over)
      ])
    for (const [job, reason] of plan.gone)
      yield* sql`UPDATE jobs SET state = 'missed', state_reason = ${reason}, last_status = 'missed', last_error = ${reason},
        updated_at = ${now} WHERE number = ${job}`
    for (const job of plan.broken)
      yield* sql`UPDATE jobs SET state = 'error', state_reason = 'its schedule cannot be read; edit it', updated_at = ${now}
        WHERE number = ${job}`
    const awake = yield* sql.unsafe("SELECT 1 FROM wakes WHERE at <= ? LIMIT 1", [until]).values
    const woken = awake.length === 0 ? [] : yield* claimWakes(now, until)
    return { claimed: claimed.concat(woken), missed }
  })

  const nextDue = database.read("schedule.next", (sql) =>
    Effect.map(sql.unsafe("SELECT min(next_at) FROM schedule UNION ALL SELECT min(at) FROM wakes").values, (rows) => {
      const times = rows.flatMap(([at]) => (typeof at === "number" ? [at] : []))
      return times.length === 0 ? null : Math.min(...times)
    })
  )

  const guard = (held: FireClaim): Step<void, ClaimLost> =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const found = yield* sql`SELECT 1 FROM occurrences
        WHERE id = ${held.occurrence} AND state = 'running' AND token = ${held.token}`
      if (found.length === 0) return yield* new ClaimLost({ occurrence: held.occurrence })
    })

  /** The row first: it is the compare-and-set that makes the rest happen once. */
  const ended = (held: FireClaim, ending: RunEnding): Step<void, ClaimLost> =>
    Effect.flatMap(Transaction, (sql) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const { output, reason, sessionId, status } = ending
        const row = sql.unsafe(end, [status, now, reason, sessionId, output, held.occurrence, held.token])
        return Effect.flatMap(Effect.flatMap(row.values, decodeEnded), ([one]): Step<void, ClaimLost> =>
          one === undefined
            ? Effect.fail(new ClaimLost({ occurrence: held.occurrence }))
            : ClaimRecovery.recordOnJob(one[0], one[1], now, ending)
        )
      })
    )

  return FireClaims.of({
    nextDue,
    claimDue: Effect.fnUntraced(function* (lasting) {
      const now = yield* Clock.currentTimeMillis
      const next = yield* nextDue
      if (next === null || next > now + aheadMillis) return { claimed: [], missed: [] }
      yield* milestone.reach("claim.before")
      const result = yield* database.write("schedule.claim", claim, "ordinary", lasting)
      yield* milestone.reach("claim.after")
      return result
    }),
    start: (claimed) =>
      claimed.length === 0
        ? Effect.succeed([])
        : Effect.gen(function* () {
            const now = yield* Clock.currentTimeMillis
            const prefix = `${yield* ids.next("lease")}:`
            const list = JSON.stringify(claimed.map((one) => one.occurrence))
            const rows = yield* database.write(
              "schedule.start",
              Effect.flatMap(Transaction, (sql) =>
                Effect.flatMap(
                  sql.unsafe(start, [prefix, now, now + aheadMillis, now, now + ClaimRecovery.leaseMillis, list, token])
                    .values,
                  decodeStarted
                )
              )
            )
            const won = new Map(rows)
            return claimed.flatMap((one): ReadonlyArray<FireClaim> => {
              const startedAt = won.get(one.occurrence)
              return startedAt === undefined ? [] : [{ ...one, startedAt, token: `${prefix}${one.occurrence}` }]
            })
          }),
    guard,
    noteSession: (held, sessionId) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE occurrences SET session_id = ${sessionId} WHERE id = ${held.occurrence}`)
      ),
    fenced: (held, operation, step) => database.write(operation, Effect.zipRight(guard(held), step)),
    record: (held, ending, along = Effect.void) =>
      database.write(
        "schedule.record",
        ended(held, ending).pipe(Effect.zipRight(along), Effect.zipLeft(milestone.reach("record.inside")))
      ),
    release: (claimed) =>
      claimed.length === 0
        ? Effect.void
        : database.write(
            "schedule.release",
            Effect.flatMap(Transaction, (sql) =>
              Effect.asVoid(
                sql.unsafe(
                  "UPDATE occurrences SET attempts = 0 WHERE id IN (SELECT value FROM json_each(?)) AND state = 'claimed' AND token = ?",
                  [JSON.stringify(claimed.map((one) => one.occurrence)), token]
                )
              )
            )
          ),
    beat: (held) => ClaimRecovery.beat(database, token, held),
    recover: ClaimRecovery.recover({ database, token, lateness, rules, pid: process.pid, claimedOf })
  })
})

/** Who may run what, in SQLite. Nothing is claimed before `recover` has taken the gateway's lease. */
export const layer: Layer.Layer<FireClaims, never, Database | Settings | Ids> = Layer.effect(FireClaims, make)
