import { Schema } from "effect"
import { shortened } from "../operation/Shortened.js"

/** A schedule that cannot be taken. Nothing was stored; the message says what is wrong and how to write it. */
export class ScheduleInvalid extends Schema.TaggedError<ScheduleInvalid>()("ScheduleInvalid", {
  /** Which part is wrong: `schedule`, `timezone`, or a field of a cron expression such as `schedule.minute`. */
  path: Schema.String,
  /** What was found there, cut at 80 characters. */
  found: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.path} ${JSON.stringify(this.found)}: ${this.detail}`
  }
}

export const invalid = (path: string, found: string, detail: string): ScheduleInvalid =>
  new ScheduleInvalid({ path, found: shortened(found), detail })
