import { Effect, Layer } from "effect"
import * as ConfigFile from "../../layers/node/ConfigFile.js"
import * as HomeDirectory from "../../layers/node/Home.js"
import * as Ids from "../../layers/node/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import { Invocation } from "./invocation.js"

/** The settings of a home, which is made where there is none. */
export const settled = Layer.unwrapEffect(
  Effect.map(Invocation, ({ home }) =>
    ConfigFile.layer.pipe(Layer.provide(Ids.layer), Layer.provideMerge(HomeDirectory.layer(home)))
  )
)

/** The zone of a home. */
export const timezone = Effect.provide(
  Effect.map(Settings, (settings) => settings.timezone),
  settled
)
