/** What stands of a gateway before the rest is loaded: its home, which is now its own, the database, the port, and its address. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer } from "effect"
import * as AmbientEnvironment from "../fibers/AmbientEnvironment.js"
import * as Redactor from "../layers/delivery/Redactor.js"
import * as Listening from "../layers/http/Listening.js"
import * as ConfigFile from "../layers/node/ConfigFile.js"
import * as HomeDirectory from "../layers/node/Home.js"
import * as Ids from "../layers/node/Ids.js"
import * as LogFile from "../layers/node/LogFile.js"
import * as OutgoingHttp from "../layers/node/OutgoingHttp.js"
import * as Presence from "../layers/operation/Presence.js"
import * as GatewayAddress from "../layers/sqlite/GatewayAddress.js"
import * as GatewayLease from "../layers/sqlite/GatewayLease.js"
import * as GatewayLock from "../layers/sqlite/GatewayLock.js"
import { Settings } from "../services/operation/Settings.js"
import * as state from "./state.js"

export interface Options {
  readonly home: string
  /** The process environment, as found at start. */
  readonly environment: { readonly [name: string]: string | undefined }
  /** Is there a terminal to log to? */
  readonly terminal: boolean
  /** Where the built page lies. */
  readonly pageDirectory: string
}

/** Only one gateway a home (`GatewayLease` where somebody deletes the file): held before the database is opened, freed by the kernel however the process ends. */
const lock = Layer.unwrapEffect(
  Effect.map(Settings, (settings) =>
    GatewayLock.layer({ home: settings.home, lockDirectory: settings.gateway.lockDirectory })
  )
)

/** The machine: its environment, its files, its network. */
const machine = (options: Options) =>
  ConfigFile.complaints.pipe(
    Layer.provideMerge(LogFile.layer({ stderr: options.terminal ? "everything" : "failures" })),
    Layer.provideMerge(Redactor.layer),
    Layer.provideMerge(ConfigFile.layer),
    Layer.provideMerge(Ids.layer),
    Layer.provideMerge(HomeDirectory.layer(options.home)),
    Layer.provideMerge(AmbientEnvironment.layer(options.environment)),
    Layer.provideMerge(Layer.mergeAll(NodeHttpServer.layerContext, OutgoingHttp.layer))
  )

/** Built, it answers `/health` with `starting` and lets every other request wait for `HttpServer.answering`. */
export const frontDoor = (options: Options) =>
  Presence.layer.pipe(
    Layer.provideMerge(Listening.layer),
    Layer.provideMerge(GatewayAddress.layer),
    Layer.provideMerge(GatewayLease.layer),
    Layer.provideMerge(state.shared),
    Layer.provideMerge(lock),
    Layer.provideMerge(machine(options))
  )
