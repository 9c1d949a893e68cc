import { Clock, Effect, Layer, Ref } from "effect"
import process from "node:process"
import type { AdapterState } from "../../services/adapter/Adapter.js"
import * as ModelProblem from "../../services/agent/ModelProblem.js"
import type { ModelRoute } from "../../services/agent/ModelRoute.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"
import { Conversations } from "../../services/conversation/Conversations.js"
import { Drain, type WorkItem, type WorkKind } from "../../services/operation/Drain.js"
import { Health, type ModelStatus, type PlatformStatus, type WorkCounts } from "../../services/operation/Health.js"
import type { OwnCommand } from "../../services/operation/OwnCommand.js"
import type { JobSummary } from "../../services/schedule/JobSummary.js"

/** What only the program knows about itself. */
export interface Facts {
  readonly version: string
  readonly jobs: Effect.Effect<JobSummary>
  readonly paused: Effect.Effect<boolean>
  /** How many approvals wait for an answer. */
  readonly questions: Effect.Effect<number>
  readonly model: Effect.Effect<ModelStatus>
  /** What is wrong with the database. */
  readonly database: Effect.Effect<string | null>
  readonly timezone: string
  readonly workingDirectory: string | null
  readonly command: OwnCommand
}

/** How a model is, as the fact that the program gives. */
export const modelOf = (route: typeof ModelRoute.Service): Effect.Effect<ModelStatus> =>
  Effect.map(route.trouble, (trouble) => ({
    provider: route.primary.provider,
    name: route.primary.model,
    trouble: trouble === null ? null : { at: trouble.at, text: ModelProblem.describe(trouble.error, 0).cause }
  }))

const countOf = (items: ReadonlyArray<WorkItem>, kind: WorkKind): number =>
  items.filter((item) => item.kind === kind).length

const workOf = (items: ReadonlyArray<WorkItem>): WorkCounts => ({
  turns: countOf(items, "turn"),
  cron: countOf(items, "cron"),
  api: countOf(items, "api"),
  delegates: countOf(items, "delegate"),
  processes: countOf(items, "process")
})

const platformOf = (name: string, state: AdapterState): PlatformStatus => {
  switch (state._tag) {
    case "Starting":
      return { name, state: "starting", error: null }
    case "Connected":
      return { name, state: "connected", error: null }
    case "Reconnecting":
      return { name, state: "reconnecting", error: state.error }
    case "Failed":
      return { name, state: "failed", error: `${state.error}: ${state.remedy}` }
  }
}

const make = (facts: Facts) =>
  Effect.gen(function* () {
    const drain = yield* Drain
    const registry = yield* AdapterRegistry
    const conversations = yield* Conversations
    const startedAt = yield* Clock.currentTimeMillis
    const url = yield* Ref.make<string | null>(null)

    const work = Effect.map(drain.items, workOf)
    const platforms = Effect.flatMap(registry.all, (adapters) =>
      Effect.forEach(adapters, (adapter) => Effect.map(adapter.state, (state) => platformOf(adapter.platform, state)))
    )
    const brief = Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      return {
        status: (yield* drain.draining) !== null ? ("draining" as const) : ("ok" as const),
        version: facts.version,
        uptime: Math.max(0, now - startedAt) / 1000
      }
    })

    return Health.of({
      brief,
      detail: Effect.gen(function* () {
        const { rss, heapUsed, external } = process.memoryUsage()
        return {
          ...(yield* brief),
          pid: process.pid,
          memory: { rss, heapUsed, external },
          work: yield* work,
          model: yield* facts.model,
          database: yield* facts.database,
          platforms: yield* platforms,
          timezone: facts.timezone,
          workingDirectory: facts.workingDirectory,
          command: facts.command,
          conversations: yield* conversations.views
        }
      }),
      status: Effect.gen(function* () {
        return {
          gateway: {
            running: true,
            pid: process.pid,
            url: yield* Ref.get(url),
            version: facts.version,
            startedAt
          },
          work: yield* work,
          model: yield* facts.model,
          platforms: yield* platforms,
          questions: yield* facts.questions,
          jobs: yield* facts.jobs,
          paused: yield* facts.paused
        }
      }),
      announce: (address) => Ref.set(url, address)
    })
  })

/** Asks the services that run the work; what no service knows comes from the program. */
export const layer = (facts: Facts): Layer.Layer<Health, never, Drain | AdapterRegistry | Conversations> =>
  Layer.effect(Health, make(facts))
