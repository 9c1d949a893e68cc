import { Clock, Effect, Either, Layer, Schema } from "effect"
import { type Choice, ModelChoice, ModelUnknown, read } from "../../services/agent/ModelChoice.js"
import { ModelRoute } from "../../services/agent/ModelRoute.js"
import { ModelRoutes } from "../../services/agent/ModelRoutes.js"
import * as ChannelOverride from "../../services/operation/ChannelOverride.js"
import { type ModelBackend, Settings } from "../../services/operation/Settings.js"
import type { Session } from "../../services/session/Session.js"
import { Database, Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const rows = Rows.all(Schema.Struct({ scope: Schema.String, wanted: Schema.String }), "model_choices")

/** Choices as rows, all of them in memory: few people choose, and every turn asks. */
export const layer = Layer.effect(
  ModelChoice,
  Effect.gen(function* () {
    const settings = yield* Settings
    const database = yield* Database
    const configured = yield* ModelRoute
    const routes = yield* ModelRoutes

    const chosen = new Map<string, string>()
    for (const { scope, wanted } of yield* database.read("model.choices", (sql) =>
      rows(sql`SELECT scope, wanted FROM model_choices`)
    ))
      chosen.set(scope, wanted)

    const made = new Map<string, typeof ModelRoute.Service>()
    /** One route for each backend, so that what one conversation learns of it the next one knows. */
    const routeTo = (backend: ModelBackend) => {
      const { provider, model, baseUrl } = backend
      if (provider === settings.model.provider && model === settings.model.model && baseUrl === settings.model.baseUrl)
        return Effect.succeed(configured)
      const name = JSON.stringify([provider, model, baseUrl])
      const known = made.get(name)
      if (known !== undefined) return Effect.succeed(known)
      return Effect.tap(routes.over(backend, settings.fallbacks), (route) => Effect.sync(() => made.set(name, route)))
    }

    /** What was wanted and cannot be used any more counts as not said. */
    const usable = (wanted: string | null | undefined): ModelBackend | null => {
      if (wanted === null || wanted === undefined) return null
      const backend = Either.getOrNull(read(settings, wanted))
      return backend === null || routes.missing(backend) !== null ? null : backend
    }

    const decided = (session: Session | null): { readonly backend: ModelBackend; readonly by: Choice["by"] } => {
      const own = session === null ? null : usable(chosen.get(session.id))
      if (own !== null) return { backend: own, by: "session" }
      const ofChat = session === null ? null : ChannelOverride.of(settings.channelOverrides, session)
      const channel = usable(ofChat?.model)
      if (channel !== null) return { backend: channel, by: "channel" }
      const all = usable(chosen.get("all"))
      return all === null ? { backend: settings.model, by: "settings" } : { backend: all, by: "all" }
    }

    return ModelChoice.of({
      routeOf: (session) => Effect.suspend(() => routeTo(decided(session).backend)),
      of: (session) =>
        Effect.sync(() => {
          const { backend, by } = decided(session)
          return { backend: { provider: backend.provider, model: backend.model }, by }
        }),
      choose: (scope, wanted) =>
        Effect.gen(function* () {
          const backend = yield* read(settings, wanted)
          const lacking = routes.missing(backend)
          if (lacking !== null) return yield* new ModelUnknown({ wanted, detail: lacking })
          const now = yield* Clock.currentTimeMillis
          yield* database.write(
            "model.choose",
            Effect.flatMap(Transaction, (sql) =>
              Effect.asVoid(sql`INSERT INTO model_choices (scope, wanted, chosen_at) VALUES (${scope}, ${wanted}, ${now})
                ON CONFLICT (scope) DO UPDATE SET wanted = excluded.wanted, chosen_at = excluded.chosen_at`)
            )
          )
          chosen.set(scope, wanted)
          return { provider: backend.provider, model: backend.model }
        }),
      clear: (scope) =>
        Effect.gen(function* () {
          yield* database.write(
            "model.clear",
            Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql`DELETE FROM model_choices WHERE scope = ${scope}`))
          )
          chosen.delete(scope)
        })
    })
  })
)
