import { Schema } from "effect"
import { Instant } from "../operation/Instant.js"

/** What one look at the jobs says: how many are to come, when the next is, and how many failed the last time that they ran. */
export const JobSummary = Schema.Struct({
  scheduled: Schema.Int,
  next: Schema.NullOr(Instant),
  failing: Schema.optionalWith(Schema.Int, { default: () => 0 })
})
export type JobSummary = typeof JobSummary.Type

export const noJobs: JobSummary = { scheduled: 0, next: null, failing: 0 }
