/** The agent at a terminal: the gateway's when one owns the home, else a gateway's inside in this process. */
import * as NodeContext from "@effect/platform-node/NodeContext"
import { Effect, Layer, Logger } from "effect"
import * as Redactor from "../layers/delivery/Redactor.js"
import * as ModelRoute from "../layers/models/Route.js"
import * as ConfigFile from "../layers/node/ConfigFile.js"
import * as HomeDirectory from "../layers/node/Home.js"
import * as Ids from "../layers/node/Ids.js"
import * as LogFile from "../layers/node/LogFile.js"
import * as OutgoingHttp from "../layers/node/OutgoingHttp.js"
import * as DirectDesk from "../layers/operation/DirectDesk.js"
import * as Readiness from "../layers/operation/Readiness.js"
import * as TurnLog from "../layers/operation/TurnLog.js"
import * as Cooldowns from "../layers/sqlite/Cooldowns.js"
import * as OwnerLease from "../layers/sqlite/OwnerLease.js"
import * as LocalDialogue from "../layers/terminal/LocalDialogue.js"
import * as StderrLog from "../layers/terminal/StderrLog.js"
import { Readiness as Gate } from "../services/operation/Readiness.js"
import { agency } from "./agency.js"
import { Invocation } from "./commands/invocation.js"
import { logins } from "./logins.js"
import { shared } from "./state.js"
import { reading as search } from "./search.js"
import { stores } from "./stores.js"
import { surfaces } from "./surfaces.js"

/** The home's database; the work of this process stands under a lease of its own, which a gateway that boots respects. */
const state = stores.pipe(Layer.provideMerge(OwnerLease.layer), Layer.provideMerge(Layer.merge(shared, Ids.layer)))

/** Nothing is left behind that this process would have to put in its place: that is the next gateway's. */
const gate = Readiness.layer.pipe(
  Layer.tap((context) => Effect.flatMap(Gate, (gate) => gate.open).pipe(Effect.provide(context)))
)

/** Its log goes where a gateway's goes, and not between a person and the answer. */
const machine = Layer.unwrapEffect(
  Effect.map(Invocation, ({ home, logLevel }) =>
    (logLevel === null ? Layer.empty : Logger.minimumLogLevel(logLevel)).pipe(
      Layer.provideMerge(Layer.merge(LogFile.layer({ stderr: "nothing" }), StderrLog.removed)),
      Layer.provideMerge(Redactor.layer),
      Layer.provideMerge(ConfigFile.layer),
      Layer.provideMerge(Ids.layer),
      Layer.provideMerge(HomeDirectory.layer(home)),
      Layer.provideMerge(Layer.merge(NodeContext.layer, OutgoingHttp.layer))
    )
  )
)

/** The dialogue and the desk of this process, and its lease. */
export const local = Layer.mergeAll(LocalDialogue.layer, DirectDesk.layer, TurnLog.layer).pipe(
  Layer.provideMerge(surfaces),
  Layer.provideMerge(agency),
  Layer.provideMerge(search),
  Layer.provideMerge(
    Layer.merge(ModelRoute.layer, ModelRoute.routes).pipe(Layer.provide(Layer.merge(Cooldowns.layer, logins)))
  ),
  Layer.provideMerge(Layer.merge(state, gate)),
  Layer.provideMerge(machine)
)
