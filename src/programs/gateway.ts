/**
 * The gateway: one agent on a person's chats. `layer` is what it is, its edges open; `edges` is what it touches;
 * `house` is the two together, behind the front door.
 */
import { Effect, Layer } from "effect"
import * as Titles from "../layers/agent/Titles.js"
import * as WorktreeCare from "../layers/delegation/WorktreeCare.js"
import * as BotChat from "../layers/botChat/Adapter.js"
import * as HttpServer from "../layers/http/Server.js"
import * as Route from "../layers/models/Route.js"
import * as Ids from "../layers/node/Ids.js"
import * as Figures from "../layers/operation/Figures.js"
import * as Health from "../layers/operation/Health.js"
import * as Lifecycle from "../layers/operation/Lifecycle.js"
import * as Readiness from "../layers/operation/Readiness.js"
import * as TurnLog from "../layers/operation/TurnLog.js"
import * as Cooldowns from "../layers/sqlite/Cooldowns.js"
import * as MediaRetention from "../layers/sqlite/MediaRetention.js"
import * as Retention from "../layers/sqlite/Retention.js"
import * as Search from "../layers/sqlite/Search.js"
import * as SearchIndex from "../layers/sqlite/SearchIndex.js"
import * as TelegramAdapter from "../layers/telegram/TelegramAdapter.js"
import * as WebAdapter from "../layers/web/Adapter.js"
import { ModelRoute } from "../services/agent/ModelRoute.js"
import { Approvals } from "../services/approval/Approval.js"
import { Home } from "../services/operation/Home.js"
import { Pause } from "../services/operation/Pause.js"
import { Jobs } from "../services/schedule/Jobs.js"
import { Settings } from "../services/operation/Settings.js"
import { version } from "../services/operation/Version.js"
import { Database } from "../services/state/Database.js"
import { agency } from "./agency.js"
import { logins } from "./logins.js"
import * as state from "./state.js"
import { scheduling } from "./scheduling.js"
import { stores } from "./stores.js"
import { noJobs } from "../services/schedule/JobSummary.js"

/** What the gateway is: the agent, its conversations and its state. Needs what `edges.foundation` gives; surfaces go on top. */
export const layer = Layer.mergeAll(
  scheduling,
  Search.feeding,
  Titles.layer,
  Retention.layer,
  MediaRetention.layer,
  WorktreeCare.layer
).pipe(
  Layer.provideMerge(agency),
  Layer.provideMerge(Search.layer),
  Layer.provideMerge(stores),
  Layer.provideMerge(Layer.mergeAll(Readiness.layer, Ids.layer))
)

const health = Layer.unwrapEffect(
  Effect.map(
    Effect.all([Approvals, Jobs, ModelRoute, Database, Pause, Settings]),
    ([approvals, jobs, route, database, pause, settings]) =>
      Health.layer({
        version,
        timezone: settings.timezone,
        workingDirectory: settings.terminal.workingDirectory,
        command: settings.command,
        database: Effect.map(database.wrong, (error) => error?.message ?? null),
        model: Health.modelOf(route),
        jobs: Effect.catchAll(jobs.summary, (error) =>
          Effect.as(Effect.logWarning("the jobs could not be counted", error), noJobs)
        ),
        questions: approvals.open(null).pipe(
          Effect.map((open) => open.length),
          Effect.catchAll((error) =>
            Effect.as(Effect.logWarning("the questions that wait could not be counted", error), 0)
          )
        ),
        paused: Effect.map(pause.current, (paused) => paused !== null)
      })
  )
)

/** What the gateway touches. A test exchanges `foundation` for a database in memory and a scripted model, and `surfaces` for one in memory. */
export const edges = {
  foundation: Layer.mergeAll(
    Layer.merge(Route.layer, Route.routes).pipe(
      Layer.provide(Layer.mergeAll(Ids.layer, Cooldowns.layer, logins)),
      Layer.provideMerge(state.shared)
    ),
    Layer.unwrapEffect(Effect.map(Home, (home) => SearchIndex.layer({ file: home.searchIndex })))
  ),
  surfaces: (options: { readonly pageDirectory: string }) =>
    HttpServer.answering(options).pipe(
      Layer.provideMerge(health),
      Layer.provideMerge(Layer.mergeAll(TelegramAdapter.layer, WebAdapter.layer, BotChat.layer))
    )
}

/** Everything behind the front door, its end included. */
export const house = (options: { readonly pageDirectory: string }) =>
  Lifecycle.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(TurnLog.layer, Figures.layer)),
    Layer.provideMerge(edges.surfaces(options)),
    Layer.provideMerge(layer),
    Layer.provideMerge(edges.foundation)
  )
