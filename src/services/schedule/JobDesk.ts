import { Context, type Effect } from "effect"
import type { IncidentView, JobView, NoteView, Preview, RunDocument, RunView } from "../api/Jobs.js"
import type { StateError } from "../state/StateError.js"
import type { IncidentNotFound, IncidentState } from "./Incident.js"
import type { JobError, JobNotFound } from "./JobError.js"
import type { JobDraft, JobMaker, JobPatch } from "./Jobs.js"
import type { NotepadFull } from "./Notepad.js"
import type { ScheduleInvalid } from "./ScheduleInvalid.js"

/** What a schedule is asked for without a job. */
export interface PreviewOptions {
  readonly schedule: string
  readonly timezone: string | null
  /** An ISO time; null is now. */
  readonly from: string | null
  readonly count: number
}

/** Jobs and their runs as every surface shows them: the answers of {@link Jobs} with where results go and what came of them. */
export class JobDesk extends Context.Tag("hermes/schedule/JobDesk")<
  JobDesk,
  {
    readonly list: (options: { readonly all: boolean }) => Effect.Effect<ReadonlyArray<JobView>, StateError>
    readonly find: (reference: string) => Effect.Effect<JobView, JobError>
    readonly create: (draft: JobDraft, maker: JobMaker) => Effect.Effect<JobView, JobError>
    readonly edit: (reference: string, patch: JobPatch) => Effect.Effect<JobView, JobError>
    readonly pause: (reference: string, reason: string | null) => Effect.Effect<JobView, JobError>
    readonly resume: (reference: string, at: string | null) => Effect.Effect<JobView, JobError>
    readonly runNow: (reference: string, context: string | null) => Effect.Effect<JobView, JobError>
    /** Answers with the job as it was. */
    readonly remove: (reference: string) => Effect.Effect<JobView, JobError>
    /** An unpinned job runs on what is configured now. */
    readonly resnap: (reference: string) => Effect.Effect<JobView, JobError>
    /** Newest first; of one job, or of all when `reference` is null. A removed job's are found by its id. */
    readonly runs: (reference: string | null, limit: number) => Effect.Effect<ReadonlyArray<RunView>, JobError>
    readonly run: (id: string) => Effect.Effect<typeof RunDocument.Type, JobNotFound | StateError>
    /** Newest first. */
    readonly incidents: (options: {
      readonly state: IncidentState | null
      readonly limit: number
    }) => Effect.Effect<ReadonlyArray<IncidentView>, StateError>
    /** Its owner knows: no more notices of it. */
    readonly acknowledge: (id: string) => Effect.Effect<IncidentView, IncidentNotFound | StateError>
    /** What a job remembers from run to run. */
    readonly notes: (reference: string) => Effect.Effect<ReadonlyArray<NoteView>, JobError>
    readonly setNote: (
      reference: string,
      key: string,
      value: string
    ) => Effect.Effect<ReadonlyArray<NoteView>, JobError | NotepadFull>
    /** Was there one? */
    readonly removeNote: (reference: string, key: string) => Effect.Effect<boolean, JobError>
    readonly preview: (options: PreviewOptions) => Effect.Effect<Preview, ScheduleInvalid>
  }
>() {}
