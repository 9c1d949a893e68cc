/**
 * Instants of a job that have a row already though the clock has not reached them: they ran while it was ahead. They are
 * unique like all others, so none of them runs again; everything else of the schedule comes in its time.
 */
import { Effect, Schema } from "effect"
import { farthest, Millis } from "../../services/operation/Instant.js"
import type { JobNumber } from "../../services/schedule/Job.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import { Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const Block = Schema.Struct({ first: Millis, last: Millis })
type Block = typeof Block.Type
/** In the order of time. */
export type OwnInstants = ReadonlyArray<Block>
const blocks = Rows.all(Block, "occurrences")

/** What has a row from an instant on. Of a row that somebody spoilt at least its own instant counts, as its key does. */
export const from = (job: JobNumber, instant: number) =>
  Effect.flatMap(Transaction, (sql) =>
    blocks(sql`SELECT at AS first,
        CASE WHEN typeof(last_at) = 'integer' AND last_at <= ${farthest} THEN last_at ELSE at END AS last FROM occurrences
      WHERE job = ${job} AND count > 0 AND at >= ${instant} ORDER BY at`)
  )

export const has = (own: OwnInstants, at: number): boolean => own.some(({ first, last }) => first <= at && at <= last)

/** `at`, or the first instant of the schedule after it that has no row. */
export const free = (schedule: Schedule.Schedule, at: number | null, own: OwnInstants): number | null => {
  let found = at
  for (const { first, last } of own)
    if (found !== null && first <= found && found <= last) found = Schedule.next(schedule, last)
  return found
}

/** The instants from one to another, without those that have a row: whole stretches, so no two rows count the same one. */
export const between = (
  schedule: Schedule.Schedule,
  first: number,
  last: number,
  own: OwnInstants
): ReadonlyArray<Schedule.Occurrences> => {
  const found: Array<Schedule.Occurrences | null> = []
  let after = first - 1
  for (const block of own) {
    if (block.first > last) break
    found.push(Schedule.occurrences(schedule, after, block.first - 1))
    after = Math.max(after, block.last)
  }
  found.push(Schedule.occurrences(schedule, after, last))
  return found.filter((part) => part !== null)
}
