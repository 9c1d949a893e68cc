import { Effect, Layer } from "effect"
import { AmbientEnvironment, startedInsideTurn } from "../../fibers/AmbientEnvironment.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import { Spending } from "../../services/agent/Spending.js"
import { Usage } from "../../services/agent/Usage.js"
import { approvalView } from "../../services/api/Approvals.js"
import { deliveryView } from "../../services/api/Deliveries.js"
import { messageView, sessionView } from "../../services/api/Sessions.js"
import { Approvals } from "../../services/approval/Approval.js"
import { Pairing } from "../../services/conversation/Pairing.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import { Explain } from "../../services/delivery/Explain.js"
import { HomeChannels } from "../../services/delivery/HomeChannels.js"
import { Outbox } from "../../services/delivery/Outbox.js"
import { TargetResolver } from "../../services/delivery/TargetResolver.js"
import { Desk, type DeskError, Refused } from "../../services/operation/Desk.js"
import { Ids } from "../../services/operation/Ids.js"
import { Pause } from "../../services/operation/Pause.js"
import { JobDesk } from "../../services/schedule/JobDesk.js"
import type { JobDraft } from "../../services/schedule/Jobs.js"
import { SessionStore } from "../../services/session/SessionStore.js"
import type { SessionArchive } from "../../services/session/SessionArchive.js"
import type { Search } from "../../services/session/Search.js"
import { Transcript } from "../../services/session/Transcript.js"
import type { Database } from "../../services/state/Database.js"
import * as SessionCare from "./SessionCare.js"
import type { StateError } from "../../services/state/StateError.js"
import * as Outlet from "../delivery/Outlet.js"
import * as ForwardedAdmission from "../conversation/ForwardedAdmission.js"
import * as PairingDesk from "../conversation/PairingDesk.js"
import * as JobMakers from "../schedule/JobMakers.js"
import { shortened } from "../../services/operation/Shortened.js"

interface Known {
  readonly _tag: string
  readonly message: string
}

const stateTags: ReadonlySet<string> = new Set<StateError["_tag"]>([
  "StateLocked",
  "StateDbReplaced",
  "StateCorrupt",
  "StateDiskFull",
  "StateReadOnly",
  "StateIndexDamaged",
  "StateRowUnreadable",
  "StateUnknown"
])

const isState = (error: Known): error is StateError => stateTags.has(error._tag)

const snake = (tag: string): string => tag.replace(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase()

/** A service's no as the desk says it. */
const refused = <A, E extends Known, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, DeskError, R> =>
  Effect.mapError(self, (error) =>
    error instanceof Refused || isState(error) ? error : new Refused({ code: snake(error._tag), text: error.message })
  )

const make = Effect.gen(function* () {
  const sessions = yield* SessionStore
  const transcript = yield* Transcript
  const explain = yield* Explain
  const outbox = yield* Outbox
  const outlet = yield* Outlet.make
  const approvals = yield* Approvals
  const pairing = yield* Pairing
  const pairingDesk = yield* PairingDesk.make
  const ids = yield* Ids
  const pause = yield* Pause
  const usage = yield* Usage
  const spending = yield* Spending
  const care = yield* SessionCare.make
  const jobs = yield* JobDesk
  const environment = yield* AmbientEnvironment

  /** A command that was started inside a turn makes the job for the chat of that turn. */
  const createJob = (draft: JobDraft) =>
    startedInsideTurn(environment)
      ? Effect.provideService(
          ForwardedAdmission.enter(environment)(Effect.flatMap(JobMakers.ofTurn, (maker) => jobs.create(draft, maker))),
          Ids,
          ids
        )
      : jobs.create(draft, JobMakers.nobody)

  const found = (id: string) =>
    Effect.flatMap(sessions.get(id), (session) =>
      session === null
        ? Effect.fail(new Refused({ code: "not_found", text: `there is no session "${shortened(id)}"` }))
        : Effect.succeed(session)
    )

  return Desk.of({
    sessions: {
      list: (options) => Effect.map(sessions.list({ owner: null, ...options }), (rows) => rows.map(sessionView)),
      update: (id, change) =>
        Effect.gen(function* () {
          yield* care.update((yield* found(id)).id, change)
          return sessionView(yield* found(id))
        }),
      search: care.search,
      export: (id, page) => refused(care.export(id, page)),
      import: care.import,
      prune: ({ dryRun, olderThanDays }) => care.prune(olderThanDays, dryRun),
      get: (id) => Effect.map(found(id), sessionView),
      messages: (id, { limit }) =>
        Effect.flatMap(found(id), (session) =>
          Effect.map(transcript.page(session.id, { limit }), (rows) => rows.map((row) => messageView(row)))
        ),
      rename: (id, title) =>
        refused(
          Effect.flatMap(found(id), (session) => Effect.map(sessions.setTitle(session.id, title, "user"), sessionView))
        ),
      remove: (id) => Effect.flatMap(found(id), (session) => Effect.asVoid(sessions.remove(session.id)))
    },
    deliveries: {
      list: ({ limit, state }) =>
        Effect.map(outbox.list({ limit, ...(state === undefined ? {} : { state }) }), (rows) => rows.map(deliveryView)),
      get: (id) =>
        Effect.flatMap(outbox.get(id), (row) =>
          row === null
            ? Effect.fail(new Refused({ code: "not_found", text: `there is no delivery "${shortened(id)}"` }))
            : Effect.succeed(deliveryView(row))
        ),
      resend: (id) => refused(outlet.resend(id)),
      explain: (id) => refused(explain.story(id)),
      targets: outlet.targets,
      send: (target, text) =>
        Effect.flatMap(outlet.send(target, text), (sent) =>
          typeof sent === "string"
            ? Effect.fail(new Refused({ code: "nothing_sent", text: sent }))
            : Effect.succeed(sent)
        ).pipe(refused)
    },
    approvals: {
      list: ({ limit, open }) =>
        Effect.map(open ? approvals.open(null) : approvals.list(limit), (rows) =>
          rows.slice(0, limit).map(approvalView)
        ),
      answer: (id, { approve, reason, scope = "once" }) =>
        refused(
          Effect.map(approvals.answer({ sessionKey: null, id, approve, scope, reason, by: "owner" }), approvalView)
        ),
      grants: Effect.map(approvals.grants, (rows) => rows.map(approvalView)),
      revoke: (id) => refused(Effect.map(approvals.revoke(id), approvalView))
    },
    jobs: {
      list: jobs.list,
      all: jobs.list({ all: true }),
      get: (reference) => refused(jobs.find(reference)),
      create: (draft) => refused(createJob(draft)),
      edit: (reference, patch) => refused(jobs.edit(reference, patch)),
      pause: (reference, reason) => refused(jobs.pause(reference, reason)),
      resume: (reference, at) => refused(jobs.resume(reference, at)),
      runNow: (reference, context) => refused(jobs.runNow(reference, context)),
      remove: (reference) => refused(jobs.remove(reference)),
      runs: (reference, limit) => refused(jobs.runs(reference, limit)),
      run: (id) => refused(jobs.run(id)),
      incidents: jobs.incidents,
      acknowledge: (id) => refused(jobs.acknowledge(id)),
      notes: (reference) => refused(jobs.notes(reference)),
      setNote: (reference, key, value) => refused(jobs.setNote(reference, key, value)),
      removeNote: (reference, key) => refused(jobs.removeNote(reference, key)),
      preview: (options) => refused(jobs.preview(options))
    },
    usage: ({ by, days, limit }) =>
      Effect.all({
        by: Effect.succeed(by),
        days: Effect.succeed(days),
        lines: usage.by(by, { days, limit }),
        limits: spending.limits
      }),
    pause: {
      begin: (reason) => pause.begin({ by: "owner", reason }),
      lift: pause.lift
    },
    pairing: {
      list: pairing.list,
      approve: (platform, code) => refused(pairingDesk.approve(platform, code)),
      revoke: pairing.revoke
    }
  })
})

/** The desk of a home without a running gateway: short transactions of its own. What is sent waits for a gateway. */
export const layer: Layer.Layer<
  Desk,
  never,
  | Database
  | Search
  | SessionArchive
  | SessionStore
  | Transcript
  | Explain
  | Outbox
  | Approvals
  | Pairing
  | TargetResolver
  | Delivery
  | ChannelDirectory
  | HomeChannels
  | Ids
  | Pause
  | Usage
  | Spending
  | JobDesk
  | AmbientEnvironment
  | AdapterRegistry
> = Layer.effect(Desk, make)
