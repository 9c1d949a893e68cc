/** What a job's run asks (cron-delivery.md 3.6): its own pins, the settings of all jobs, what it ran on when it was made, else the configured model. */
import { Effect } from "effect"
import { backendOf, isReachedAt } from "../../services/agent/ModelChoice.js"
import { ModelRoute } from "../../services/agent/ModelRoute.js"
import { ModelRoutes } from "../../services/agent/ModelRoutes.js"
import { Settings } from "../../services/operation/Settings.js"
import type { Job, ModelSnapshot } from "../../services/schedule/Job.js"

export type RunModel =
  /** Null: the configured route. */
  | { readonly _tag: "Route"; readonly route: typeof ModelRoute.Service | null }
  | { readonly _tag: "Blocked"; readonly reason: string }

export const make = Effect.gen(function* () {
  const settings = yield* Settings
  const routes = yield* ModelRoutes
  const configured = yield* ModelRoute

  const pinned = (job: Job, provider: string | null, model: string | null, own: boolean): Effect.Effect<RunModel> =>
    Effect.gen(function* () {
      const backend = backendOf(settings, provider, model, job.baseUrl)
      if (backend === null) return { _tag: "Blocked", reason: `the provider "${provider}" is not set up here` }
      const lacking = routes.missing(backend)
      // A job that names its model is never answered by another one.
      const fallbacks = own ? [] : settings.fallbacks
      if (lacking !== null && fallbacks.length === 0) return { _tag: "Blocked", reason: lacking }
      return { _tag: "Route", route: yield* routes.over(backend, fallbacks) }
    })

  /** Another address may be another server, which knows nothing of that model. */
  const isThere = ({ baseUrl, provider }: ModelSnapshot): boolean =>
    baseUrl === undefined || isReachedAt(settings, provider, baseUrl)

  const unpinned = (job: Job): Effect.Effect<RunModel> => {
    const was = job.modelSnapshot
    const now = configured.primary
    if (was !== null && (was.provider !== now.provider || was.model !== now.model)) {
      const backend = backendOf(settings, was.provider, was.model, null)
      if (backend !== null && isThere(was) && routes.missing(backend) === null)
        return pinned(job, was.provider, was.model, false)
      return Effect.as(
        Effect.logWarning("what a job was made with is not set up any more; it runs on the configured model").pipe(
          Effect.annotateLogs({ job: job.id, was: `${was.provider}/${was.model}` })
        ),
        { _tag: "Route", route: null }
      )
    }
    const lacking = routes.missing(settings.model)
    return Effect.succeed(
      lacking !== null && settings.fallbacks.length === 0
        ? { _tag: "Blocked", reason: lacking }
        : { _tag: "Route", route: null }
    )
  }

  return (job: Job): Effect.Effect<RunModel> => {
    if (job.provider !== null || job.model !== null || job.baseUrl !== null)
      return pinned(job, job.provider ?? settings.cron.provider, job.model, true)
    return settings.cron.provider !== null || settings.cron.model !== null
      ? pinned(job, settings.cron.provider, settings.cron.model, false)
      : unpinned(job)
  }
})
