/** Claims in SQLite (decision 14): all that is due in one transaction, a compare-and-set before each start, a token behind each step. */
import { Clock, Effect, Layer, Schema } from "effect"
import process from "node:process"
import { Ids } from "../../services/operation/Ids.js"
import { Millis } from "../../services/operation/Instant.js"
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
import * as Due from "./Due.js"
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
const isDueRow = (row: ReadonlyArray<unknown>): row is DueRow =>
  typeof row[0] === "number" &&
  typeof row[1] === "number" &&
  typeof row[2] === "number" &&
  (row[3] === null || typeof row[3] === "number") &&
  (row[4] === null || typeof row[4] === "number") &&
  typeof row[5] === "number" &&
  typeof row[6] === "number"
/** Of a place that is none nothing can be worked out. */
const isPlaced = (row: ReadonlyArray<unknown>): boolean => Due.isOfPlace(row[1]) && Due.isOfPlace(row[6])
const isNumber = (value: unknown): boolean => typeof value === "number"
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
    at: Millis,
    kind: OccurrenceKind,
    context: Schema.NullOr(Schema.String),
    busy: Rows.Flag
  })
)
const isEndedRow = (row: ReadonlyArray<unknown>): row is readonly [job: JobNumber, count: number] =>
  isNumber(row[0]) && isNumber(row[1])
const decodeEnded = shaped(isEndedRow)

/** Is the lease ours, is a run due that was asked for, and which was the last row? */
const selectStanding = `SELECT EXISTS (SELECT 1 FROM leases WHERE name = ? AND token = ?), EXISTS (SELECT 1 FROM wakes WHERE at <= ?),
    (SELECT max(id) FROM occurrences)`

const selectDue = `SELECT d.job, d.next_at, s.rule, s.remaining, s.hold_until,
    EXISTS (SELECT 1 FROM occurrences AS o WHERE o.job = d.job AND o.finished_at IS NULL), d.settled
  FROM due AS d LEFT JOIN schedule AS s ON s.job = d.job WHERE d.next_at <= ? ORDER BY d.next_at, d.settled, d.job LIMIT ${most}`

/** What is simply due: the row's own instant, one occurrence. In the order of the list, and so are their numbers. */
const insertPlain = `INSERT INTO occurrences (job, at, count, kind, state, token, attempts, claimed_at)
  SELECT CAST(key AS INTEGER), value, 1, 'on_time', 'claimed', ?, 1, ? FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`

const selectMade = "SELECT id, job, at, kind FROM occurrences WHERE id > coalesce(?, 0)"

/** The rest: [job, at, last, count, kind, state, reason, rule]. Only what is claimed has a token and is open. */
const insertOther = `INSERT INTO occurrences (job, at, last_at, count, kind, state, token, attempts, claimed_at, finished_at, reason, rule)
  SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5,
    CASE value ->> 5 WHEN 'claimed' THEN ? END, value ->> 5 = 'claimed', ?,
    CASE value ->> 5 WHEN 'claimed' THEN NULL ELSE ? END, value ->> 6, value ->> 7
  FROM json_each(?) WHERE true ON CONFLICT DO NOTHING RETURNING id, job, at, kind`

/** All that were looked at: they are the first of the table. */
const deleteDue = "DELETE FROM due WHERE (next_at, settled, job) <= (?, ?, ?)"

/** Where some were left for their instant. */
const deleteLooked = "DELETE FROM due WHERE next_at <= ? AND job IN (SELECT value FROM json_each(?))"

/** The next instants of jobs that are settled up to the same one. */
const insertDue = `INSERT INTO due (next_at, settled, job) SELECT value, ?, CAST(key AS INTEGER) FROM json_each(?) WHERE true
  ON CONFLICT DO NOTHING`

const countRuns = `UPDATE schedule SET remaining = remaining - 1
  WHERE job IN (SELECT value FROM json_each(?)) AND remaining IS NOT NULL`

const deleteScheduled = "DELETE FROM schedule WHERE job IN (SELECT value FROM json_each(?))"

const endHolds = "UPDATE schedule SET hold_until = NULL WHERE job IN (SELECT value FROM json_each(?))"

const start = `UPDATE occurrences SET state = 'running', token = ? || id, started_at = CASE WHEN at BETWEEN ? AND ? THEN at ELSE ? END, lease_until = ?
  WHERE id IN (SELECT value FROM json_each(?)) AND state = 'claimed' AND token = ? RETURNING id, started_at`

const end = `UPDATE occurrences SET state = ?, finished_at = ?, token = NULL, lease_until = NULL, reason = ?, session_id = ?, output = ?
  WHERE id = ? AND state = 'running' AND token = ? RETURNING job, count`

interface Rule {
  readonly schedule: Schedule.Schedule
  /** Its first occurrence after now: many jobs share a rule, and what follows is the same for all of them. */
  readonly follows: number | null
  /** Nothing of it lies between an instant that was looked at and now: so it is with each later one, and they come in order. */
  alone: boolean
}

/** What a transaction does with the jobs that are due. */
class Plan {
  readonly plain: Array<{ readonly job: JobNumber; readonly at: number }> = []
  readonly other: Array<readonly [number, number, number | null, number, string, string, string | null, number]> = []
  /** When jobs are due next, by what they are settled up to. Each is a member of a JSON object: one with numbers for keys is slow to make. */
  readonly next = new Map<number, Array<string>>()
  /** Those that run and have a number of runs left. */
  readonly counted: Array<number> = []
  /** Those whose hold is over. */
  readonly held: Array<number> = []
  readonly over: Array<number> = []
  /** Single runs that nobody could make. */
  readonly gone: Array<readonly [job: number, reason: string]> = []
  /** Their rule is not there: they wait for somebody to give them another. */
  readonly broken: Array<number> = []

  advance(job: number, next: number, settled: number): void {
    const members = this.next.get(settled)
    if (members === undefined) this.next.set(settled, [`"${job}":${next}`])
    else members.push(`"${job}":${next}`)
  }

  /** It is due by no more than a word: not again, until somebody edits it. */
  breakOff(job: number): void {
    this.over.push(job)
    this.broken.push(job)
  }
}

/** The rows of one INSERT have numbers that follow each other, where it made all of them. */
const numbered = (plain: Plan["plain"], first: number): Array<Claimed> =>
  plain.map(({ at, job }, index) => ({
    occurrence: OccurrenceId.make(first + index, true),
    job,
    scheduledAt: at,
    kind: "on_time",
    context: null
  }))

const noInstants: OwnInstants.OwnInstants = []

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

  /** `until` is the instant that rows are looked at for, a little after `now`. */
  const judge = (
    row: DueRow,
    rule: Rule,
    own: OwnInstants.OwnInstants,
    now: number,
    until: number,
    plan: Plan
  ): void => {
    const [job, nextAt, ruleId, remaining, holdUntil, busy, settled] = row
    const { follows, schedule } = rule
    const more = rule.alone ? null : Lateness.beyond(schedule, nextAt, until, follows)
    rule.alone = more === null
    const due = { schedule, nextAt, remaining, holdUntil, busy: busy === 1 }
    const verdict = Lateness.judge(due, until, lateness, follows, more)
    const { left } = verdict
    const run = verdict.run !== null && OwnInstants.has(own, verdict.run.at) ? null : verdict.run
    const next = OwnInstants.free(schedule, run === verdict.run ? verdict.next : follows, own)
    if (run !== null && run.at === nextAt && run.kind === "on_time" && left === null)
      plan.plain.push({ job, at: nextAt })
    else if (run !== null) plan.other.push([job, run.at, null, 1, run.kind, "claimed", null, ruleId])
    if (left !== null) {
      const parts = own.length === 0 ? [left] : OwnInstants.between(schedule, left.first, left.last, own)
      for (const { count, first, last } of parts)
        plan.other.push([job, first, last === first ? null : last, count, "late", left.state, left.reason, ruleId])
      if (next === null && run === null) plan.gone.push([job, left.reason])
    }
    if (next === null) {
      plan.over.push(job)
      return
    }
    plan.advance(job, next, Math.max(settled, now, nextAt))
    if (run !== null && remaining !== null) plan.counted.push(job)
    if (holdUntil !== null && holdUntil <= now) plan.held.push(job)
  }

  const claimedOf = (rows: ReadonlyArray<ClaimedRow>, context: string | null = null): ReadonlyArray<Claimed> =>
    rows.map(([occurrence, job, scheduledAt, kind]) => ({ occurrence, job, scheduledAt, kind, context }))

  const claimPlain = (plain: Plan["plain"], now: number, before: unknown) =>
    Effect.flatMap(Transaction, (sql) => {
      const instants = `{${plain.map(({ at, job }) => `"${job}":${at}`).join()}}`
      return Effect.flatMap(Rows.insertedIds(sql.unsafe(insertPlain, [token, now, instants])), ({ count, last }) =>
        count === plain.length
          ? Effect.succeed(numbered(plain, last - count + 1))
          : Effect.map(Effect.flatMap(sql.unsafe(selectMade, [before]).values, decodeClaimed), (rows) => [
              ...claimedOf(rows)
            ])
      )
    })

  const claimWakes = (now: number, until: number) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const { rows: wakes, unreadable } = yield* Wake(sql`SELECT w.id, w.job, w.at, w.kind, w.context,
          EXISTS (SELECT 1 FROM occurrences AS o WHERE o.job = w.job AND o.finished_at IS NULL) AS busy
        FROM wakes AS w WHERE w.at <= ${until} ORDER BY w.at LIMIT ${most}`)
      const claimed: Array<Claimed> = []
      /** Of several that wait for one job the first runs: the others would begin beside it. */
      const begun = new Set<JobNumber>()
      for (const { problem, row } of unreadable) {
        yield* Effect.logWarning("a run that was asked for cannot be read and is left out").pipe(
          Effect.annotateLogs({ row: row["id"], problem })
        )
        yield* sql.unsafe("DELETE FROM wakes WHERE id = ?", [row["id"]])
      }
      for (const wake of wakes) {
        const busy = wake.busy || begun.has(wake.job)
        if (busy && wake.at > now) continue
        // Two in one millisecond are two runs all the same.
        const rows = yield* decodeClaimed(
          yield* sql`INSERT INTO occurrences (job, at, count, kind, state, token, attempts, claimed_at, finished_at, reason, context)
            SELECT ${wake.job}, max(${wake.at}, coalesce((SELECT max(at) + 1 FROM occurrences WHERE job = ${wake.job} AND count = 0), 0)),
              0, ${wake.kind}, ${busy ? "skipped" : "claimed"}, ${busy ? null : token}, 1, ${now},
              ${busy ? now : null}, ${busy ? "the run before was not over" : null}, ${wake.context}
            RETURNING id, job, at, kind`.values
        )
        if (!busy) {
          claimed.push(...claimedOf(rows, wake.context))
          begun.add(wake.job)
        }
        yield* sql`DELETE FROM wakes WHERE id = ${wake.id}`
      }
      return claimed
    })

  const claim = Effect.gen(function* () {
    const sql = yield* Transaction
    const now = yield* Clock.currentTimeMillis
    const until = now + aheadMillis
    const [standing] = yield* sql.unsafe(selectStanding, [ClaimRecovery.leaseName, token, until]).values
    if (standing?.[0] !== 1) return { claimed: [], missed: [], ours: false }
    const plan = new Plan()
    const known = new Map<number, Rule | null>()
    let due = yield* sql.unsafe(selectDue, [until]).values
    if (!due.every(isPlaced)) {
      yield* ClaimRecovery.places(rules)
      due = yield* sql.unsafe(selectDue, [until]).values
    }
    const looked: Array<number> = []
    let last: (typeof due)[number] | null = null
    for (const row of due) {
      // Whether the run before is over by then is not known before then.
      if (row[5] === 1 && typeof row[1] === "number" && row[1] > now) continue
      last = row
      if (typeof row[0] === "number") looked.push(row[0])
      if (isDueRow(row)) {
        let rule = known.get(row[2])
        if (rule === undefined) {
          const schedule = yield* rules.load(row[2])
          rule = schedule === null ? null : { schedule, follows: Schedule.next(schedule, until), alone: false }
          known.set(row[2], rule)
        }
        if (rule === null) plan.breakOff(row[0])
        else judge(row, rule, row[6] < row[1] ? noInstants : yield* OwnInstants.from(row[0], row[1]), now, until, plan)
      } else if (typeof row[0] === "number") plan.breakOff(row[0])
    }
    const claimed = plan.plain.length === 0 ? [] : yield* claimPlain(plan.plain, now, standing[2])
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
    if (last !== null)
      yield* looked.length === due.length
        ? sql.unsafe(deleteDue, [last[1], last[6], last[0]])
        : sql.unsafe(deleteLooked, [until, JSON.stringify(looked)])
    for (const [settled, members] of plan.next) yield* sql.unsafe(insertDue, [settled, `{${members.join()}}`])
    for (const [statement, jobs] of [
      [countRuns, plan.counted],
      [endHolds, plan.held],
      [deleteScheduled, plan.over]
    ] as const)
      if (jobs.length > 0) yield* sql.unsafe(statement, [JSON.stringify(jobs)])
    for (const [job, reason] of plan.gone)
      yield* sql`UPDATE jobs SET state = 'missed', state_reason = ${reason}, last_status = 'missed', last_error = ${reason},
        updated_at = ${now} WHERE number = ${job}`
    for (const job of plan.broken)
      yield* sql`UPDATE jobs SET state = 'error', state_reason = 'its schedule cannot be read; edit it', updated_at = ${now}
        WHERE number = ${job}`
    if (standing[1] === 1) claimed.push(...(yield* claimWakes(now, until)))
    return { claimed, missed, ours: true }
  })

  /** What was found to be next when it was last looked, until it is claimed. */
  let expected: number | null = null

  const nextDue = database.read("schedule.next", (sql) =>
    Effect.map(sql.unsafe("SELECT min(next_at) FROM due UNION ALL SELECT min(at) FROM wakes").values, (rows) => {
      const times = rows.flatMap(([at]) => (typeof at === "number" ? [at] : []))
      expected = times.length === 0 ? null : Math.min(...times)
      return expected
    })
  )

  /** A claim that finds nothing writes nothing, but it takes the file: only where something is due, or was to be by now. */
  const isDue = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const until = now + aheadMillis
    return expected !== null && expected <= until
      ? Effect.succeed(true)
      : Effect.map(nextDue, (next) => next !== null && next <= until)
  })

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
    claimDue: Effect.fnUntraced(function* (commit) {
      if (!(yield* isDue)) return { claimed: [], missed: [], ours: true }
      expected = null
      yield* milestone.reach("claim.before")
      const result = yield* database.write("schedule.claim", claim, "ordinary", commit)
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
