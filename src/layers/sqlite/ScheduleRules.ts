/** Schedules as rows that many jobs may share, and their decoded forms beside them. */
import { Effect, Schema } from "effect"
import * as Schedule from "../../services/schedule/Schedule.js"
import * as Misfit from "../../services/operation/Misfit.js"
import { type Step, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const decode = Misfit.decoder(Schedule.Stored)
const encode = Schema.encode(Schedule.Stored)
const one = Rows.first(Schema.Struct({ id: Schema.Number }))
const text = Rows.first(Schema.Struct({ rule: Schema.Unknown }))

/** Rules kept decoded; beyond, all are read again. */
const capacity = 20_000

export const make = () => {
  const known = new Map<number, Schedule.Schedule>()

  const remember = (id: number, schedule: Schedule.Schedule): Schedule.Schedule => {
    if (known.size >= capacity) known.clear()
    known.set(id, schedule)
    return schedule
  }

  const read = (id: number) =>
    Effect.gen(function* () {
      const sql = yield* Transaction
      const row = yield* text(sql`SELECT rule FROM schedule_rules WHERE id = ${id}`)
      if (row === null) return null
      return yield* Effect.matchEffect(decode(row.rule), {
        onSuccess: (schedule) => Effect.succeed(remember(id, schedule)),
        onFailure: (error) =>
          Effect.as(
            Effect.logWarning(
              "a stored schedule cannot be read; the jobs that have it stop until they are edited"
            ).pipe(Effect.annotateLogs({ rule: id, problem: Misfit.text(error) })),
            null
          )
      })
    })

  return {
    /** The row of a schedule, made when there is none. */
    idOf: (schedule: Schedule.Schedule) =>
      Effect.gen(function* () {
        const sql = yield* Transaction
        const rule = yield* encode(schedule)
        const row =
          (yield* one(sql`SELECT id FROM schedule_rules WHERE rule = ${rule}`)) ??
          (yield* one(sql`INSERT INTO schedule_rules (rule) VALUES (${rule}) RETURNING id`))
        return row === null ? yield* Effect.dieMessage("a rule is not there after its insert") : row.id
      }),
    /** The schedule of a row; null when there is no such row, or none that can be read. */
    load: (id: number): Step<Schedule.Schedule | null> => {
      const found = known.get(id)
      return found === undefined ? read(id) : Effect.succeed(found)
    }
  }
}

export type ScheduleRules = ReturnType<typeof make>
