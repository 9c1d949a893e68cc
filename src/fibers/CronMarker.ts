/**
 * Why a piece of work runs: unset, explicitly not cron, or this job's run (gateway.md 1.2, decision 6).
 *
 * `NotCron` masks a leaked environment marker; `Unset` lets a reader ask the environment.
 */
import { Data, Schema } from "effect"

export const Unset = Schema.TaggedStruct("Unset", {})
export const NotCron = Schema.TaggedStruct("NotCron", {})
/** `job` and `run` are null when all that is known is a marker found in an environment. */
export const Cron = Schema.TaggedStruct("Cron", {
  job: Schema.NullOr(Schema.String),
  run: Schema.NullOr(Schema.String),
  /** Who created the job: it authorises the job and is never a live sender (gateway.md 1.2). */
  createdBy: Schema.NullOr(Schema.Struct({ platform: Schema.String, userId: Schema.String }))
})

export const schema = Schema.Union(Unset, NotCron, Cron)
export type CronMarker = typeof schema.Type

export const unset: CronMarker = Data.struct({ _tag: "Unset" as const })
export const notCron: CronMarker = Data.struct({ _tag: "NotCron" as const })
export const cron = (fields: {
  readonly job: string | null
  readonly run: string | null
  readonly createdBy?: { readonly platform: string; readonly userId: string } | null
}): CronMarker =>
  Data.struct({
    _tag: "Cron" as const,
    job: fields.job,
    run: fields.run,
    createdBy: fields.createdBy === undefined || fields.createdBy === null ? null : Data.struct(fields.createdBy)
  })

export const isCron = (marker: CronMarker): boolean => marker._tag === "Cron"

/** Structural equality, also between a decoded marker and a constructed one. */
export const same = (a: CronMarker, b: CronMarker): boolean =>
  a._tag === "Cron" && b._tag === "Cron"
    ? a.job === b.job &&
      a.run === b.run &&
      a.createdBy?.platform === b.createdBy?.platform &&
      a.createdBy?.userId === b.createdBy?.userId
    : a._tag === b._tag
