/** The desk of a home where no gateway runs: in a chunk of its own, as few commands need it. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Layer } from "effect"
import * as AdapterRegistry from "../../layers/adapter/AdapterRegistry.js"
import * as Spending from "../../layers/agent/Spending.js"
import * as Approvals from "../../layers/approval/Approvals.js"
import * as Delivery from "../../layers/delivery/Delivery.js"
import * as Explain from "../../layers/delivery/Explain.js"
import * as MediaFiles from "../../layers/delivery/MediaFiles.js"
import * as Notifier from "../../layers/delivery/Notifier.js"
import * as Redactor from "../../layers/delivery/Redactor.js"
import * as TargetResolver from "../../layers/delivery/TargetResolver.js"
import * as Cooldowns from "../../layers/sqlite/Cooldowns.js"
import * as ModelRoute from "../../layers/models/Route.js"
import * as Ids from "../../layers/node/Ids.js"
import * as Activity from "../../layers/operation/Activity.js"
import * as DirectDesk from "../../layers/operation/DirectDesk.js"
import * as Drain from "../../layers/operation/Drain.js"
import { jobs } from "../jobs.js"
import { logins } from "../logins.js"
import { reading as search } from "../search.js"
import { direct as database } from "../state.js"
import { stores } from "../stores.js"
import { surfaces } from "../surfaces.js"
import { settled } from "./settled.js"

export const direct = DirectDesk.layer.pipe(
  Layer.provide(search),
  Layer.provide(jobs),
  Layer.provide(
    Layer.merge(ModelRoute.layer.pipe(Layer.provide(Layer.merge(Cooldowns.layer, logins))), Spending.layer)
  ),
  Layer.provide(Layer.mergeAll(Approvals.layer, TargetResolver.layer, Explain.layer)),
  Layer.provide(Notifier.layer),
  Layer.provide(surfaces),
  Layer.provide(Delivery.layer),
  Layer.provide(MediaFiles.layer),
  Layer.provide(Layer.mergeAll(AdapterRegistry.layer, Activity.layer, Drain.layer, Redactor.layer)),
  Layer.provide(stores),
  Layer.provide(Layer.mergeAll(database, Ids.layer)),
  Layer.provide(settled),
  Layer.provide(FetchHttpClient.layer)
)
