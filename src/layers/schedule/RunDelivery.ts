/** Carries a run's words to each of its targets, and says what became of them (cron-delivery.md 4.13, decisions 16, 20, 22). */
import { Effect } from "effect"
import { Continuation } from "../../services/delivery/Continuation.js"
import { Delivery, type Delivered } from "../../services/delivery/Delivery.js"
import { type DeliveryRow, Outbox } from "../../services/delivery/Outbox.js"
import * as Target from "../../services/delivery/Target.js"
import { type Route, TargetResolver } from "../../services/delivery/TargetResolver.js"
import { Milestone } from "../../services/operation/Milestone.js"
import type { Job, RunStatus } from "../../services/schedule/Job.js"
import type { Step } from "../../services/state/Database.js"
import type { StateError } from "../../services/state/StateError.js"
import { deliveredOf } from "../delivery/Courier.js"
import { addressOf } from "./JobDefinitions.js"

export interface Outcome {
  readonly status: Extract<RunStatus, "ok" | "delivery_failed" | "delivery_queued" | "unknown">
  readonly problem: string | null
  /** What arrived in another way than it was addressed, such as beside a topic that is gone. */
  readonly note: string | null
  /** Somebody has it, or will: a target took it or it waits in the outbox. Also where it was to go to nobody. */
  readonly isOut: boolean
}

/** Rows of one message to all targets, to be stored in the transaction that allows them. */
export interface Letters {
  readonly rows: Step<ReadonlyArray<ReadonlyArray<DeliveryRow>>>
  /** What follows once a target's message has certainly arrived, in the order of the rows. */
  readonly arrived: ReadonlyArray<(platformMessageId: string | null) => Effect.Effect<void>>
}

export const nothing: Letters = { rows: Effect.succeed([]), arrived: [] }

/** A result that people may go on from: whose it is, its words without what stands around them, and where its work was done. */
export interface Continued {
  readonly job: Job
  readonly text: string
  /** Null: where the agent of the present turn works. */
  readonly directory: string | null
}

const hasArrived = ({ deliveries }: Delivered): boolean =>
  deliveries.length > 0 && deliveries.every(({ state }) => state === "sent")

const settledOrWaiting: ReadonlySet<DeliveryRow["state"]> = new Set<DeliveryRow["state"]>([
  "sent",
  "pending",
  "suppressed"
])

/** In doubt is not out: a part that may not have arrived is better said twice than never. */
const isOutOf = (results: ReadonlyArray<Delivered>, problems: ReadonlyArray<string>): boolean =>
  (results.length === 0 && problems.length === 0) ||
  results.some(
    ({ deliveries }) => deliveries.length > 0 && deliveries.every(({ state }) => settledOrWaiting.has(state))
  )

/** One target's failure is said and is no other's. */
const outcomeOf = (results: ReadonlyArray<Delivered>, problems: ReadonlyArray<string>): Outcome => {
  const rows = results.flatMap(({ deliveries }) => deliveries)
  const changed = rows.flatMap(({ address, reason, state }) =>
    state === "sent" && reason !== null ? [`${Target.write(address)}: ${reason}`] : []
  )
  const note = changed.length === 0 ? null : changed.join("; ")
  const said = [...problems, ...results.flatMap(({ problem }) => (problem === null ? [] : [problem]))].join("; ")
  const problem = said === "" ? null : said
  const isOut = isOutOf(results, problems)
  const isUnsent = results.some(({ deliveries }) => deliveries.length === 0)
  if (problems.length > 0 || isUnsent || rows.some(({ state }) => state === "failed"))
    return { status: "delivery_failed", problem, note, isOut }
  if (rows.some(({ state }) => state === "unknown" || state === "sending"))
    return { status: "unknown", problem, note, isOut }
  if (rows.some(({ state }) => state === "pending")) return { status: "delivery_queued", problem, note, isOut }
  return { status: "ok", problem: null, note, isOut }
}

export const problemsOf = (route: Route): ReadonlyArray<string> =>
  route.problems.map(({ error, token }) => `${token}: ${error.message}`)

export const make = Effect.gen(function* () {
  const resolver = yield* TargetResolver
  const delivery = yield* Delivery
  const milestone = yield* Milestone
  const continuation = yield* Continuation
  const outbox = yield* Outbox

  /** Notices go as addressed; a result by the way on which its chat can go on from it. */
  const wayTo = (target: Route["targets"][number], continued: Continued | null) =>
    continued === null
      ? Effect.succeed({ address: target.address, arrived: () => Effect.void })
      : Effect.map(continuation.begin({ job: continued.job, target }), ({ address, arrived }) => ({
          address,
          arrived: (platformMessageId: string | null) => arrived(platformMessageId, continued.text)
        }))

  return {
    route: (job: Job): Effect.Effect<Route, StateError> => resolver.route(job.deliver, addressOf(job.origin)),
    /** Where notices of failure go. */
    failureRoute: (job: Job): Effect.Effect<Route, StateError> =>
      resolver.route(job.failureDeliver ?? job.deliver, addressOf(job.origin)),
    write: (
      cause: string,
      route: Route,
      text: string,
      continued: Continued | null = null
    ): Effect.Effect<Letters, StateError> =>
      Effect.gen(function* () {
        const ways = yield* Effect.forEach(route.targets, (target) => wayTo(target, continued))
        const steps = yield* Effect.forEach(route.targets, (target, index) =>
          delivery.prepare({
            cause: { kind: "cron", id: cause },
            address: ways[index]?.address ?? target.address,
            text,
            via: target.via,
            replyToPerson: false,
            ...(continued === null || continued.directory === null ? {} : { directory: continued.directory })
          })
        )
        return { rows: Effect.forEach(steps, (step) => step(null)), arrived: ways.map(({ arrived }) => arrived) }
      }),
    send: (
      written: ReadonlyArray<ReadonlyArray<DeliveryRow>>,
      problems: ReadonlyArray<string>,
      arrived: Letters["arrived"] = []
    ): Effect.Effect<Outcome, StateError> =>
      Effect.gen(function* () {
        if (written.length > 0) yield* milestone.reach("delivery.sending")
        const results = yield* Effect.forEach(written, (rows) => delivery.dispatch(rows), { concurrency: "unbounded" })
        if (written.length > 0) yield* milestone.reach("delivery.settled")
        for (const [index, result] of results.entries())
          if (hasArrived(result))
            yield* arrived[index]?.(result.deliveries[0]?.platformMessageId ?? null) ?? Effect.void
        return outcomeOf(results, problems)
      }),
    /** What became of written rows so far, for who cannot wait for their end: what is on its way goes on. */
    standing: (
      written: ReadonlyArray<ReadonlyArray<DeliveryRow>>,
      problems: ReadonlyArray<string>
    ): Effect.Effect<Outcome, StateError> =>
      Effect.map(
        Effect.forEach(written, (rows) =>
          Effect.forEach(rows, (row) => Effect.map(outbox.get(row.id), (stored) => stored ?? row))
        ),
        (results) => outcomeOf(results.map(deliveredOf), problems)
      )
  }
})

export type RunDelivery = Effect.Effect.Success<typeof make>
