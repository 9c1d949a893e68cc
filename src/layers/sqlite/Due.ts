/**
 * When jobs are due, in the order in which they come due, and in no other: so those of one instant lie beside each other,
 * those last that were put there last, and a claim writes as few pages of a hundred thousand jobs as of a thousand.
 */
import type { SqlClient } from "@effect/sql"
import { Clock, Effect, Schema } from "effect"
import { Millis } from "../../services/operation/Instant.js"
import { JobNumber } from "../../services/schedule/Job.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import { Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

export const Place = Schema.Struct({ job: JobNumber, nextAt: Millis, settled: Millis })
export type Place = typeof Place.Type
const place = Rows.first(Place.omit("job"))

/** The end of the year 9999. No job stands before 1970 or after this: to count what was due since long ago would take minutes. */
const last = 253_402_300_799_999

/** Are a row's `next_at` and `settled` a place? Written by hand they may be anything. `table` is how its query names it. */
export const isPlace = (table: string): string =>
  ["next_at", "settled"]
    .map((column) => `${table}.${column}`)
    .map((value) => `typeof(${value}) = 'integer' AND ${value} BETWEEN 0 AND ${last}`)
    .join(" AND ")

/** The same of a value of one of the two. */
export const isOfPlace = (value: unknown): boolean =>
  typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= last

/**
 * Where a job stands; null when it is not due by itself, or at nothing that is a place. `schedule` is its rule, null for
 * one that cannot be read. It nearly always stands at the instant that its rule has next, and one that runs was put there
 * by the claim of its run; else it is looked for from the first on.
 */
export const find = (sql: SqlClient.SqlClient, job: JobNumber, schedule: Schedule.Schedule | null) =>
  Effect.gen(function* () {
    const among = (condition: ReturnType<typeof sql.literal>) =>
      place(
        sql`SELECT next_at AS nextAt, settled FROM due WHERE job = ${job} AND ${sql.literal(isPlace("due"))} AND ${condition}
          ORDER BY next_at LIMIT 1`
      )
    const likely = schedule === null ? null : Schedule.first(schedule, yield* Clock.currentTimeMillis)
    const claimed = sql`(SELECT max(at, claimed_at) FROM occurrences WHERE job = ${job} AND finished_at IS NULL)`
    const there =
      likely === null
        ? null
        : ((yield* among(sql`next_at = ${likely} AND settled = ${claimed}`)) ??
          (yield* among(sql`next_at = ${likely}`)))
    return there ?? (yield* among(sql`true`))
  })

/** Where a job is to stand that has lost its place: it follows its schedule again from now on. */
export const again = (schedule: Schedule.Schedule | null): Effect.Effect<Omit<Place, "job">> =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    nextAt: (schedule === null ? null : Schedule.first(schedule, now)) ?? now,
    settled: 0
  }))

export const insert = ({ job, nextAt, settled }: Place) =>
  Effect.flatMap(Transaction, (sql) =>
    Effect.asVoid(sql`INSERT INTO due ${sql.insert({ next_at: nextAt, settled, job })}`)
  )

/** Puts a job elsewhere. */
export const move = ({ job, nextAt, settled }: Place, to: Omit<Place, "job">) =>
  Effect.flatMap(Transaction, (sql) =>
    Effect.asVoid(sql`UPDATE due SET next_at = ${to.nextAt}, settled = ${to.settled}
      WHERE next_at = ${nextAt} AND settled = ${settled} AND job = ${job}`)
  )

/** Takes a job away from where it stands. */
export const remove = ({ job, nextAt, settled }: Place) =>
  Effect.flatMap(Transaction, (sql) =>
    Effect.asVoid(sql`DELETE FROM due WHERE next_at = ${nextAt} AND settled = ${settled} AND job = ${job}`)
  )
