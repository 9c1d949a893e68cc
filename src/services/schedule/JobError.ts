import { Schema } from "effect"
import type { StateError } from "../state/StateError.js"
import type { ScheduleInvalid } from "./ScheduleInvalid.js"
import { shortened } from "../operation/Shortened.js"

/** A field of a job that cannot be taken. Nothing was stored. */
export class JobInvalid extends Schema.TaggedError<JobInvalid>()("JobInvalid", {
  path: Schema.String,
  /** What stood there, cut at 80 characters. */
  found: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.path} ${JSON.stringify(this.found)}: ${this.detail}`
  }
}

export const invalid = (path: string, found: string, detail: string): JobInvalid =>
  new JobInvalid({ path, found: shortened(found), detail })

/** No job by that id or name. */
export class JobNotFound extends Schema.TaggedError<JobNotFound>()("JobNotFound", { reference: Schema.String }) {
  override get message(): string {
    return `there is no job "${shortened(this.reference)}"; \`hermes cron list --all\` shows the jobs there are`
  }
}

/** Several jobs bear the name; nobody guesses. */
export class JobAmbiguous extends Schema.TaggedError<JobAmbiguous>()("JobAmbiguous", {
  reference: Schema.String,
  candidates: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `"${shortened(this.reference)}" is the name of several jobs: ${this.candidates.join(", ")}; say which id you mean`
  }
}

/** Another job bears the name already. */
export class JobNameTaken extends Schema.TaggedError<JobNameTaken>()("JobNameTaken", {
  name: Schema.String,
  by: Schema.String
}) {
  override get message(): string {
    return `another job (${this.by}) is already called "${this.name}"; choose another name or edit that one`
  }
}

/** The job is in a state in which this cannot be done; the text says what can. */
export class JobNotReady extends Schema.TaggedError<JobNotReady>()("JobNotReady", {
  job: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `job ${this.job}: ${this.detail}`
  }
}

/** A job that may not be made: it would stop its own gateway, carry an injection, or be made by another job. */
export class JobRefused extends Schema.TaggedError<JobRefused>()("JobRefused", {
  reason: Schema.Literal("lifecycle", "injection", "cron"),
  detail: Schema.String
}) {
  override get message(): string {
    return this.detail
  }
}

export type JobError =
  | JobInvalid
  | ScheduleInvalid
  | JobNotFound
  | JobAmbiguous
  | JobNameTaken
  | JobNotReady
  | JobRefused
  | StateError
