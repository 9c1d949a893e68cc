import { Context, type Effect, Schema } from "effect"
import { Instant } from "./Instant.js"
import { OwnCommand } from "./OwnCommand.js"
import { JobSummary } from "../schedule/JobSummary.js"

/** How the gateway is, in a word: while it is `starting` every request but `/health` waits, `draining` refuses new work. */
export const HealthState = Schema.Literal("starting", "ok", "draining")
export type HealthState = typeof HealthState.Type

/** Work in progress, by kind (gateway.md 3.9). */
export const WorkCounts = Schema.Struct({
  turns: Schema.Int,
  cron: Schema.Int,
  api: Schema.Int,
  delegates: Schema.Int,
  processes: Schema.Int
})
export type WorkCounts = typeof WorkCounts.Type

export const PlatformStatus = Schema.Struct({
  name: Schema.String,
  state: Schema.Literal("starting", "connected", "reconnecting", "failed"),
  error: Schema.NullOr(Schema.String)
})
export type PlatformStatus = typeof PlatformStatus.Type

/** The configured model, and what is wrong with it: null when its last answer came whole, or nothing was asked yet. */
export const ModelStatus = Schema.Struct({
  provider: Schema.String,
  name: Schema.String,
  trouble: Schema.NullOr(Schema.Struct({ at: Instant, text: Schema.String }))
})
export type ModelStatus = typeof ModelStatus.Type

/** What `hermes status` shows (contract §2). */
export const GatewayStatus = Schema.Struct({
  gateway: Schema.Struct({
    running: Schema.Boolean,
    /** Also of a gateway that holds the home and does not answer: it is not `running` then. */
    pid: Schema.NullOr(Schema.Int),
    url: Schema.NullOr(Schema.String),
    version: Schema.String,
    startedAt: Schema.NullOr(Instant)
  }),
  work: WorkCounts,
  /** Null where no gateway runs. */
  model: Schema.NullOr(ModelStatus),
  platforms: Schema.Array(PlatformStatus),
  /** Approvals that wait for a person's answer. */
  questions: Schema.optionalWith(Schema.Int, { default: () => 0 }),
  jobs: JobSummary,
  paused: Schema.Boolean
}).annotations({ identifier: "GatewayStatus" })
export type GatewayStatus = typeof GatewayStatus.Type

/** Alive, and what it is: said to anybody who asks. `uptime` is in seconds. */
export const HealthBrief = Schema.Struct({
  status: HealthState,
  version: Schema.String,
  uptime: Schema.Number
}).annotations({ identifier: "HealthBrief" })
export type HealthBrief = typeof HealthBrief.Type

/** What an operator looks at first. Sizes are bytes. */
export const HealthDetail = Schema.Struct({
  status: HealthState,
  version: Schema.String,
  uptime: Schema.Number,
  pid: Schema.Int,
  memory: Schema.Struct({ rss: Schema.Number, heapUsed: Schema.Number, external: Schema.Number }),
  work: WorkCounts,
  model: ModelStatus,
  /** What is wrong with the database; null while nothing is known to be. */
  database: Schema.NullOr(Schema.String),
  platforms: Schema.Array(PlatformStatus),
  /** The person's time zone, and where the agent works. */
  timezone: Schema.String,
  workingDirectory: Schema.NullOr(Schema.String),
  command: OwnCommand,
  conversations: Schema.Array(
    Schema.Struct({
      sessionKey: Schema.String,
      phase: Schema.Literal("idle", "running", "stopping"),
      turnId: Schema.NullOr(Schema.String),
      startedAt: Schema.NullOr(Instant),
      queued: Schema.Int
    })
  )
}).annotations({ identifier: "HealthDetail" })
export type HealthDetail = typeof HealthDetail.Type

/** How the gateway is and what it does, as facts of this moment; asking touches no disk. */
export class Health extends Context.Tag("hermes/operation/Health")<
  Health,
  {
    readonly brief: Effect.Effect<HealthBrief>
    readonly detail: Effect.Effect<HealthDetail>
    readonly status: Effect.Effect<GatewayStatus>
    /** Says where the gateway can be reached, once it can. */
    readonly announce: (url: string) => Effect.Effect<void>
  }
>() {}
