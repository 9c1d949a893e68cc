import { Context, type Effect } from "effect"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { JobId, JobNumber } from "./Job.js"
import type { OccurrenceId } from "./Occurrence.js"

/** The answers of runs, and nothing but the answers: what a job that is chained to another is given (cron-delivery.md 3.4). */
export class Responses extends Context.Tag("hermes/schedule/Responses")<
  Responses,
  {
    /** Silent answers are not kept: nobody has to read them again. */
    readonly save: (run: { readonly occurrence: OccurrenceId; readonly job: JobNumber }, text: string) => Step<void>
    readonly latest: (job: JobId) => Effect.Effect<{ readonly name: string; readonly text: string } | null, StateError>
    readonly ofRun: (occurrence: OccurrenceId) => Effect.Effect<string | null, StateError>
  }
>() {}
