import { Context, type Effect, Schema } from "effect"
import type { Grouping } from "../agent/Usage.js"
import type { UsageReport } from "../api/Usage.js"
import type { ApprovalView } from "../api/Approvals.js"
import type { Scope } from "../approval/Approval.js"
import type { DeliveryView, SendResult, TargetView } from "../api/Deliveries.js"
import type { PairedUserView, PairingRequestView } from "../api/Pairing.js"
import type { IncidentView, JobBrief, JobView, NoteView, Preview, RunDocument, RunView } from "../api/Jobs.js"
import type { SearchHitView, SearchParameters } from "../api/SessionSearch.js"
import type { MessageView, SessionView } from "../api/Sessions.js"
import type { Story } from "../delivery/Explain.js"
import type { DeliveryState } from "../delivery/Outbox.js"
import type { Paused } from "./Pause.js"
import type { IncidentState } from "../schedule/Incident.js"
import type { PreviewOptions } from "../schedule/JobDesk.js"
import type { JobDraft, JobPatch } from "../schedule/Jobs.js"
import type { ImportOutcome, SessionDocument } from "../session/SessionArchive.js"
import type { StateError } from "../state/StateError.js"

/** It cannot be done as asked; the text says why and what can be done. `code` is for programs. */
export class Refused extends Schema.TaggedError<Refused>()("Refused", {
  code: Schema.String,
  text: Schema.String
}) {
  override get message(): string {
    return this.text
  }
}

/** The gateway that owns the home does not answer, or not as a gateway does. */
export class GatewayUnreachable extends Schema.TaggedError<GatewayUnreachable>()("GatewayUnreachable", {
  url: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `the gateway at ${this.url} gave no answer (${this.detail}); \`hermes gateway status\` and \`hermes logs\` say more`
  }
}

export type DeskError = Refused | GatewayUnreachable | StateError

/**
 * What the owner does away from any chat: looks things up, answers questions, lets people in, sends (contract §2). One
 * layer asks the gateway that owns the home, the other works on the database while no gateway runs.
 */
export class Desk extends Context.Tag("hermes/operation/Desk")<
  Desk,
  {
    readonly sessions: {
      /** Newest activity first; `before` is a time of last activity in epoch milliseconds, `beforeId` the session that had it. */
      readonly list: (options: {
        readonly limit: number
        readonly before?: number
        readonly beforeId?: string
        readonly archived?: boolean
      }) => Effect.Effect<ReadonlyArray<SessionView>, DeskError>
      readonly get: (id: string) => Effect.Effect<SessionView, DeskError>
      /** The last rows of the transcript, oldest first. */
      readonly messages: (
        id: string,
        options: { readonly limit: number }
      ) => Effect.Effect<ReadonlyArray<MessageView>, DeskError>
      readonly rename: (id: string, title: string) => Effect.Effect<SessionView, DeskError>
      readonly update: (
        id: string,
        change: { readonly archived?: boolean; readonly pinned?: boolean }
      ) => Effect.Effect<SessionView, DeskError>
      readonly search: (asked: typeof SearchParameters.Type) => Effect.Effect<ReadonlyArray<SearchHitView>, DeskError>
      /** The session with its rows after a row's id, in the order of their making. */
      readonly export: (
        id: string,
        page: { readonly after: number; readonly limit: number }
      ) => Effect.Effect<SessionDocument, DeskError>
      readonly import: (document: SessionDocument) => Effect.Effect<ImportOutcome, DeskError>
      /** Answers the ids of what was, or would be, deleted. */
      readonly prune: (options: {
        readonly olderThanDays: number
        readonly dryRun: boolean
      }) => Effect.Effect<ReadonlyArray<string>, DeskError>
      /** Stops what runs there and deletes the session with its transcript. */
      readonly remove: (id: string) => Effect.Effect<void, DeskError>
    }
    readonly deliveries: {
      readonly list: (options: {
        readonly limit: number
        readonly state?: DeliveryState
      }) => Effect.Effect<ReadonlyArray<DeliveryView>, DeskError>
      readonly get: (id: string) => Effect.Effect<DeliveryView, DeskError>
      /** Sends once more, marked, what failed or is in doubt (decision 22). */
      readonly resend: (id: string) => Effect.Effect<typeof SendResult.Type, DeskError>
      /** The story of a delivery, turn, run, approval or message. */
      readonly explain: (id: string) => Effect.Effect<Story, DeskError>
      readonly targets: Effect.Effect<ReadonlyArray<TargetView>, DeskError>
      readonly send: (target: string, text: string) => Effect.Effect<typeof SendResult.Type, DeskError>
    }
    readonly approvals: {
      /** Newest first; open ones oldest first. */
      readonly list: (options: {
        readonly limit: number
        readonly open: boolean
      }) => Effect.Effect<ReadonlyArray<ApprovalView>, DeskError>
      readonly answer: (
        id: string,
        answer: { readonly approve: boolean; readonly scope?: Scope; readonly reason: string | null }
      ) => Effect.Effect<ApprovalView, DeskError>
      /** Answers that cover later questions. */
      readonly grants: Effect.Effect<ReadonlyArray<ApprovalView>, DeskError>
      readonly revoke: (id: string) => Effect.Effect<ApprovalView, DeskError>
    }
    readonly jobs: {
      readonly list: (options: { readonly all: boolean }) => Effect.Effect<ReadonlyArray<JobBrief>, DeskError>
      /** In full, the finished ones too. */
      readonly all: Effect.Effect<ReadonlyArray<JobView>, DeskError>
      /** By id, else by exact name. */
      readonly get: (reference: string) => Effect.Effect<JobView, DeskError>
      readonly create: (draft: JobDraft) => Effect.Effect<JobView, DeskError>
      readonly edit: (reference: string, patch: JobPatch) => Effect.Effect<JobView, DeskError>
      readonly pause: (reference: string, reason: string | null) => Effect.Effect<JobView, DeskError>
      readonly resume: (reference: string, at: string | null) => Effect.Effect<JobView, DeskError>
      /** Runs it as soon as a gateway can. */
      readonly runNow: (reference: string, context: string | null) => Effect.Effect<JobView, DeskError>
      readonly remove: (reference: string) => Effect.Effect<JobView, DeskError>
      /** Newest first; null for those of all jobs. */
      readonly runs: (reference: string | null, limit: number) => Effect.Effect<ReadonlyArray<RunView>, DeskError>
      readonly run: (id: string) => Effect.Effect<typeof RunDocument.Type, DeskError>
      readonly incidents: (options: {
        readonly state: IncidentState | null
        readonly limit: number
      }) => Effect.Effect<ReadonlyArray<IncidentView>, DeskError>
      readonly acknowledge: (id: string) => Effect.Effect<IncidentView, DeskError>
      readonly notes: (reference: string) => Effect.Effect<ReadonlyArray<NoteView>, DeskError>
      readonly setNote: (
        reference: string,
        key: string,
        value: string
      ) => Effect.Effect<ReadonlyArray<NoteView>, DeskError>
      readonly removeNote: (reference: string, key: string) => Effect.Effect<boolean, DeskError>
      readonly preview: (options: PreviewOptions) => Effect.Effect<Preview, DeskError>
    }
    readonly usage: (options: {
      readonly by: Grouping
      readonly days: number
      readonly limit: number
    }) => Effect.Effect<UsageReport, DeskError>
    readonly pause: {
      readonly begin: (reason: string | null) => Effect.Effect<Paused, DeskError>
      /** False when there was none. */
      readonly lift: Effect.Effect<boolean, DeskError>
    }
    readonly pairing: {
      readonly list: Effect.Effect<
        {
          readonly pending: ReadonlyArray<typeof PairingRequestView.Type>
          readonly paired: ReadonlyArray<typeof PairedUserView.Type>
        },
        DeskError
      >
      readonly approve: (platform: string, code: string) => Effect.Effect<typeof PairedUserView.Type, DeskError>
      readonly revoke: (platform: string, userId: string) => Effect.Effect<boolean, DeskError>
    }
  }
>() {}
