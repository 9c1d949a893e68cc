import { Context, type Effect } from "effect"
import type { ModelBackend } from "../operation/Settings.js"
import type { ModelRoute } from "./ModelRoute.js"

/** Routes over other backends than the configured one: what a job is pinned to. */
export class ModelRoutes extends Context.Tag("hermes/agent/ModelRoutes")<
  ModelRoutes,
  {
    /** Each backend is switched as a whole (decision 33); none is asked before the route is used. */
    readonly over: (
      primary: ModelBackend,
      fallbacks: ReadonlyArray<ModelBackend>
    ) => Effect.Effect<typeof ModelRoute.Service>
    /** What is missing before a backend can be asked, as what to do about it; null when nothing is. */
    readonly missing: (backend: ModelBackend) => string | null
  }
>() {}

/** The route of the turn that a tool runs in, which its helpers go by too; null where no turn of the agent runs. */
export class GivenRoute extends Context.Reference<GivenRoute>()("hermes/agent/GivenRoute", {
  defaultValue: (): typeof ModelRoute.Service | null => null
}) {}
