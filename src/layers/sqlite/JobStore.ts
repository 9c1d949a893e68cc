import { SqlError } from "@effect/sql"
import { Clock, Effect, Either, Layer, Schema } from "effect"
import { Millis } from "../../services/operation/Instant.js"
import { type JobId, JobNumber } from "../../services/schedule/Job.js"
import { JobAmbiguous, JobNameTaken, JobNotFound } from "../../services/schedule/JobError.js"
import * as JobFields from "../../services/schedule/JobFields.js"
import { type Appointment, JobStore } from "../../services/schedule/JobStore.js"
import * as Lateness from "../../services/schedule/Lateness.js"
import { MonitorState } from "../../services/schedule/Monitor.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import { Database, type Step, Transaction } from "../../services/state/Database.js"
import * as ClaimRecovery from "./ClaimRecovery.js"
import * as Due from "./Due.js"
import * as JobRows from "./JobRows.js"
import * as OwnInstants from "./OwnInstants.js"
import * as RightedClock from "./RightedClock.js"
import * as Rows from "./Rows.js"
import * as ScheduleRules from "./ScheduleRules.js"
import { codeOf } from "./SqliteFailure.js"
import { noJobs } from "../../services/schedule/JobSummary.js"

const Inserted = Rows.first(Schema.Struct({ number: JobNumber }))
const Named = Rows.first(Schema.Struct({ id: Schema.String }))
const Recalled = Rows.whole(Schema.Struct({ count: Schema.Number }))
const Ruled = Rows.first(Schema.Struct({ rule: Schema.Number }))
const PutAside = Rows.first(
  Schema.Struct({
    nextAt: Schema.NullOr(Due.Place.fields.nextAt),
    settled: Schema.NullOr(Due.Place.fields.settled),
    rule: Schema.Number,
    // What was due before it is told apart from what came after; without it all is.
    pausedAt: Schema.NullOr(Millis).annotations({ decodingFallback: () => Either.right(null) })
  })
)
const Summary = Rows.first(
  Schema.Struct({ scheduled: Schema.Number, next: Schema.NullOr(Millis), failing: Schema.Number })
)
const Zoned = Rows.all(
  Schema.Struct({ job: JobNumber, nextAt: Millis, settled: Millis, rule: Schedule.Stored }),
  "schedule"
)
/** Due before its job was paused. */
const overdue = { state: "missed", reason: Lateness.notRun } as const
const whilePaused = { state: "skipped", reason: "it was paused" } as const
const encodeMonitor = Schema.encode(Schema.parseJson(MonitorState))

const one = (at: number): Schedule.Occurrences => ({ first: at, last: at, count: 1 })

/** An instant at which a job is due, whether or not it is still one of its schedule, and those of the schedule after it. */
const stretch = (schedule: Schedule.Schedule, first: number, until: number): Schedule.Occurrences => {
  const more = Schedule.occurrences(schedule, first, until)
  return more === null ? one(first) : { first, last: more.last, count: 1 + more.count }
}

const make = Effect.gen(function* () {
  const database = yield* Database
  const rules = ScheduleRules.make()

  /** The name's own index says no: then somebody else bears it. */
  const orTaken =
    (name: string) =>
    <A, E>(self: Step<A, E>): Step<A, E | JobNameTaken> =>
      Effect.catchIf(
        self,
        (error): error is E & SqlError.SqlError =>
          error instanceof SqlError.SqlError && codeOf(error) === "SQLITE_CONSTRAINT_UNIQUE",
        () =>
          Effect.gen(function* () {
            const sql = yield* Transaction
            const other = yield* Named(
              sql`SELECT id FROM jobs WHERE name = ${name} COLLATE NOCASE AND removed_at IS NULL`
            )
            return yield* new JobNameTaken({ name, by: other?.id ?? "" })
          })
      )

  const appoint = (job: JobNumber, paused: boolean, { nextAt, remaining, schedule }: Appointment, settled: number) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const row = { job, rule: yield* rules.idOf(schedule), remaining }
      if (paused) return yield* sql`INSERT INTO schedule_paused ${sql.insert({ ...row, next_at: nextAt, settled })}`
      yield* sql`INSERT INTO schedule ${sql.insert(row)}`
      yield* Due.insert({ job, nextAt, settled })
    })

  /** Where a job that is not paused stands, or is to stand when that was lost, and its rule. */
  const scheduled = (job: JobNumber) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const row = yield* Ruled(sql`SELECT rule FROM schedule WHERE job = ${job}`)
      if (row === null) return null
      const schedule = yield* rules.load(row.rule)
      const found = yield* Due.find(sql, job, schedule)
      if (found !== null) return { ...found, job, rule: row.rule }
      yield* sql`DELETE FROM due WHERE job = ${job}`
      return { ...(yield* Due.again(schedule)), job, rule: row.rule }
    })

  /** As {@link scheduled}, of a job that is paused. */
  const putAside = (job: JobNumber) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const isPlace = sql.literal(Due.isPlace("p"))
      const row = yield* PutAside(sql`SELECT CASE WHEN ${isPlace} THEN p.next_at END AS nextAt,
        CASE WHEN ${isPlace} THEN p.settled END AS settled, p.rule, j.paused_at AS pausedAt
        FROM schedule_paused AS p JOIN jobs AS j ON j.number = p.job WHERE p.job = ${job}`)
      if (row === null) return null
      const { nextAt, pausedAt, rule, settled } = row
      return nextAt === null || settled === null
        ? { ...(yield* Due.again(yield* rules.load(rule))), job, rule, pausedAt }
        : { nextAt, settled, job, rule, pausedAt }
    })

  const writeDown = ({ job, rule }: { readonly job: JobNumber; readonly rule: number }, left: Lateness.Left) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const { count, first, last, reason, state } = left
      yield* sql`INSERT INTO occurrences ${sql.insert({
        job,
        at: first,
        last_at: last === first ? null : last,
        count,
        kind: "late",
        state,
        attempts: 0,
        finished_at: yield* Clock.currentTimeMillis,
        reason,
        rule
      })} ON CONFLICT DO NOTHING`
    })

  /** What was due before the clock reached `now`, and that nobody claimed: it is written down before the row goes. */
  const settle = (row: { readonly rule: number } & Due.Place, reason: string) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      if (row.nextAt > now) return row.settled
      const schedule = yield* rules.load(row.rule)
      const due = schedule === null ? one(row.nextAt) : stretch(schedule, row.nextAt, now)
      yield* writeDown(row, { ...due, state: "skipped", reason })
      return now
    })

  /**
   * What came while a job was paused nobody was to run, and it is written down as that. Its last instant stays due, and
   * is judged as late as it is (cron-delivery.md 1.7).
   */
  const takenUp = (row: Due.Place & { readonly rule: number; readonly pausedAt: number | null }) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const { job, nextAt, pausedAt, rule, settled } = row
      const schedule = nextAt > now ? null : yield* rules.load(rule)
      const more = schedule === null ? null : Schedule.occurrences(schedule, nextAt, now)
      if (schedule === null || more === null) return row
      const until = more.last - 1
      const since = Math.min(pausedAt ?? nextAt, more.last)
      const own = settled < nextAt ? [] : yield* OwnInstants.from(job, nextAt)
      const before = nextAt < since ? stretch(schedule, nextAt, since - 1) : null
      const during =
        before === null ? stretch(schedule, nextAt, until) : Schedule.occurrences(schedule, since - 1, until)
      for (const [part, why] of [
        [before, overdue],
        [during, whilePaused]
      ] as const) {
        if (part === null) continue
        const free = own.length === 0 ? [part] : OwnInstants.between(schedule, part.first, part.last, own)
        for (const left of free) yield* writeDown(row, { ...left, ...why })
      }
      return { ...row, nextAt: more.last }
    })

  const reschedule = (job: JobNumber, appointment: Appointment | null, reason: string): Step<void> =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const now = yield* Clock.currentTimeMillis
      const paused = yield* Named(sql`SELECT id FROM jobs WHERE number = ${job} AND state = 'paused'`)
      const place = yield* scheduled(job)
      const row = place ?? (yield* putAside(job))
      const settled = row === null ? 0 : yield* settle(row, reason)
      if (place !== null) yield* Due.remove(place)
      yield* sql`DELETE FROM schedule WHERE job = ${job}`
      yield* sql`DELETE FROM schedule_paused WHERE job = ${job}`
      if (appointment === null) return
      // What ran while the clock was ahead does not run again.
      const own = settled > now ? yield* OwnInstants.from(job, now) : []
      const nextAt = OwnInstants.free(appointment.schedule, appointment.nextAt, own) ?? appointment.nextAt
      yield* appoint(job, paused !== null, { ...appointment, nextAt }, settled)
    })

  const byNumber = (job: JobNumber): Step<Effect.Effect.Success<ReturnType<typeof JobRows.first>>> =>
    Effect.flatMap(Transaction, (sql) => JobRows.firstSpoilt(sql, sql`j.number = ${job}`))

  const update = (job: JobNumber, set: (sql: Effect.Effect.Success<typeof Transaction>, now: number) => Statement) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const now = yield* Clock.currentTimeMillis
      yield* sql`UPDATE jobs SET updated_at = ${now}, ${set(sql, now)} WHERE number = ${job}`
    })

  const ordered = "ORDER BY d.next_at IS NULL, d.next_at, j.state, j.name"

  return JobStore.of({
    insert: ({ appointment, definition, id, paused }) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const now = yield* Clock.currentTimeMillis
        const row = yield* Inserted(
          sql`INSERT INTO jobs ${sql.insert({
            id,
            name: definition.name,
            definition: yield* JobRows.encoded(definition),
            state: paused === null ? "scheduled" : "paused",
            state_reason: paused?.reason ?? null,
            paused_at: paused === null ? null : now,
            created_at: now,
            updated_at: now
          })} RETURNING number`
        )
        if (row === null) return yield* Effect.dieMessage("a job is not there after its insert")
        yield* appoint(row.number, paused !== null, appointment, 0)
        return row.number
      }).pipe(orTaken(definition.name)),
    define: (job, definition) =>
      Effect.flatMap(JobRows.encoded(definition), (text) =>
        update(job, (sql) => sql`name = ${definition.name}, definition = ${text}`)
      ).pipe(orTaken(definition.name)),
    reschedule,
    recall: (job, nextAt, reason) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const now = yield* Clock.currentTimeMillis
        const waiting = yield* Recalled(sql`UPDATE occurrences
          SET state = 'skipped', finished_at = ${now}, token = NULL, lease_until = NULL, reason = ${reason}
          WHERE job = ${job} AND finished_at IS NULL AND kind IN ('on_time', 'late', 'catch_up') AND at IS NOT ${nextAt}
            AND (state = 'claimed' OR started_at > ${now}) RETURNING count`)
        for (const { count } of waiting)
          yield* ClaimRecovery.recordOnJob(job, count, now, {
            status: "skipped",
            error: null,
            deliveryError: null,
            streak: "same"
          })
      }),
    setPaused: (job, paused) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const aside = paused === null ? yield* putAside(job) : null
        const place = paused === null ? null : yield* scheduled(job)
        if (aside !== null) {
          yield* Due.insert(yield* takenUp(aside))
          yield* sql`INSERT INTO schedule (job, rule, remaining, hold_until)
            SELECT job, rule, remaining, hold_until FROM schedule_paused WHERE job = ${job}`
          yield* sql`DELETE FROM schedule_paused WHERE job = ${job}`
        } else if (place !== null) {
          yield* sql`INSERT INTO schedule_paused (job, next_at, rule, remaining, settled, hold_until)
            SELECT job, ${place.nextAt}, rule, remaining, ${place.settled}, hold_until FROM schedule WHERE job = ${job}`
          yield* sql`DELETE FROM schedule WHERE job = ${job}`
          yield* Due.remove(place)
        }
        yield* update(job, (_, now) =>
          paused === null
            ? sql`state = 'scheduled', state_reason = NULL, paused_at = NULL`
            : sql`state = 'paused', state_reason = ${paused.reason}, paused_at = ${now}`
        )
      }),
    setState: (job, state, reason) =>
      update(job, (sql) => sql`state = ${state}, state_reason = ${reason}, paused_at = NULL`),
    resetCompleted: (job) => update(job, (sql) => sql`completed = 0`),
    wake: (wake) => Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`INSERT INTO wakes ${sql.insert(wake)}`)),
    dropRetries: (job) =>
      Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`DELETE FROM wakes WHERE job = ${job} AND kind = 'retry'`)),
    hold: (job, until) =>
      Effect.flatMap(Transaction, (sql) =>
        Effect.asVoid(sql`UPDATE schedule SET hold_until = ${until} WHERE job = ${job} AND hold_until IS NOT ${until}`)
      ),
    setMonitor: (job, state) =>
      Effect.flatMap(encodeMonitor(state), (text) => update(job, (sql) => sql`monitor = ${text}`)),
    setPreflightAlerted: (job, alerted) => update(job, (sql) => sql`preflight_alerted = ${Rows.flag(alerted)}`),
    remove: (job) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        yield* reschedule(job, null, "the job was removed before it ran")
        yield* sql`DELETE FROM wakes WHERE job = ${job}`
        yield* sql`DELETE FROM notepad WHERE job = ${job}`
        yield* update(job, (_, now) => sql`removed_at = ${now}`)
      }),
    freeName: (name) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        for (let number = 1; ; number++) {
          const wanted = number === 1 ? name : JobFields.numbered(name, number)
          const taken = yield* Named(
            sql`SELECT id FROM jobs WHERE name = ${wanted} COLLATE NOCASE AND removed_at IS NULL`
          )
          if (taken === null) return wanted
        }
      }),
    load: byNumber,
    ofRun: Effect.fn("JobStore.ofRun")((job: JobNumber) =>
      database.read("job.ofRun", (sql) => JobRows.first(sql, sql`j.number = ${job}`))
    ),
    get: Effect.fn("JobStore.get")((id: JobId) =>
      database.read("job.get", (sql) => JobRows.first(sql, sql`j.id = ${id} AND j.removed_at IS NULL`))
    ),
    find: Effect.fn("JobStore.find")((reference: string) =>
      database.read("job.find", (sql) =>
        Effect.gen(function* () {
          const wanted = reference.trim()
          const byId = yield* JobRows.first(sql, sql`j.id = ${wanted} AND j.removed_at IS NULL`)
          if (byId !== null) return byId
          const [job, ...others] = yield* JobRows.all(
            sql,
            sql`j.name = ${wanted} COLLATE NOCASE AND j.removed_at IS NULL`
          )
          if (job === undefined) return yield* new JobNotFound({ reference })
          if (others.length > 0)
            return yield* new JobAmbiguous({ reference, candidates: [job, ...others].map((one) => one.job.id) })
          return job
        })
      )
    ),
    findSpoilt: Effect.fn("JobStore.findSpoilt")((reference: string) =>
      database.read("job.findSpoilt", (sql) =>
        Effect.gen(function* () {
          const wanted = reference.trim()
          const found =
            (yield* JobRows.firstSpoilt(sql, sql`j.id = ${wanted} AND j.removed_at IS NULL`)) ??
            (yield* JobRows.firstSpoilt(sql, sql`j.name = ${wanted} COLLATE NOCASE AND j.removed_at IS NULL`))
          return found ?? (yield* new JobNotFound({ reference }))
        })
      )
    ),
    list: Effect.fn("JobStore.list")((options: { readonly all: boolean }) =>
      database.read("job.list", (sql) =>
        JobRows.all(
          sql,
          options.all
            ? sql`j.removed_at IS NULL ${sql.literal(ordered)}`
            : sql`j.removed_at IS NULL AND j.state <> 'completed' ${sql.literal(ordered)}`
        )
      )
    ),
    summary: database.read("job.summary", (sql) =>
      Effect.map(
        Summary(sql`SELECT (SELECT count(*) FROM schedule) AS scheduled,
          (SELECT next_at FROM due WHERE ${sql.literal(Due.isPlace("due"))} ORDER BY next_at LIMIT 1) AS next,
          (SELECT count(*) FROM jobs WHERE failure_streak > 0 AND removed_at IS NULL AND state <> 'completed') AS failing`),
        (row) => row ?? noJobs
      )
    ),
    rightClock: Effect.fn("JobStore.rightClock")((timezone: string) =>
      database.write("job.rightClock", RightedClock.step(rules, timezone))
    ),
    rezone: Effect.fn("JobStore.rezone")((timezone: string) =>
      database.write(
        "job.rezone",
        Effect.gen(function* () {
          const sql = yield* Transaction
          const now = yield* Clock.currentTimeMillis
          let moved = 0
          for (const table of ["schedule", "schedule_paused"] as const) {
            const rows = yield* Zoned(sql`SELECT p.job, p.next_at AS nextAt, p.settled, r.rule FROM ${sql(table)} AS s
              JOIN ${sql(table === "schedule" ? "due" : table)} AS p ON p.job = s.job
              JOIN schedule_rules AS r ON r.id = s.rule
              WHERE CASE WHEN json_valid(r.rule)
                THEN NOT json_extract(r.rule, '$.ownZone') AND json_extract(r.rule, '$.timezone') <> ${timezone} END`)
            for (const row of rows) {
              const schedule = Schedule.rezone(row.rule, timezone)
              // What is due already stays due; the rest keeps its hour in the new zone.
              const next =
                row.nextAt <= now
                  ? row.nextAt
                  : OwnInstants.free(
                      schedule,
                      Schedule.next(schedule, now),
                      row.settled > now ? yield* OwnInstants.from(row.job, now) : []
                    )
              yield* sql`UPDATE ${sql(table)} SET rule = ${yield* rules.idOf(schedule)} WHERE job = ${row.job}`
              const to = next ?? row.nextAt
              if (table === "schedule") yield* Due.move(row, { nextAt: to, settled: row.settled })
              else yield* sql`UPDATE schedule_paused SET next_at = ${to} WHERE job = ${row.job}`
              moved += 1
            }
          }
          return moved
        })
      )
    )
  })
})

type Statement = import("@effect/sql").Statement.Fragment

/** Jobs in SQLite. */
export const layer = Layer.effect(JobStore, make)
