/** The whole gateway in memory: the real program with its edges exchanged (contract §6). */
import * as NodeContext from "@effect/platform-node/NodeContext"
import { Layer } from "effect"
import * as AmbientEnvironment from "../fibers/AmbientEnvironment.js"
import type { Profile } from "../layers/memory/Profile.js"
import * as Database from "../layers/sqlite/Database.js"
import * as SearchIndex from "../layers/sqlite/SearchIndex.js"
import * as Opening from "../layers/operation/Opening.js"
import * as Gateway from "../programs/gateway.js"
import type { ModelRequest } from "../services/agent/ModelRoute.js"
import { AdapterInMemory, profiles } from "./AdapterInMemory.js"
import { scriptedModel, type StepInput } from "./ScriptedModel.js"
import * as Settings from "./Settings.js"

/** A database that lives in memory for as long as its scope. */
export const SqliteInMemory = Database.layerMemory

export interface Options {
  /** What the model says, step after step, or as a function of what it is asked. */
  readonly model: ReadonlyArray<StepInput> | ((request: ModelRequest) => StepInput)
  readonly settings?: Settings.Changes
  /** Platforms in memory; one that behaves like Telegram when left out. */
  readonly platforms?: readonly [Profile, ...ReadonlyArray<Profile>]
  /** The process environment that the program believes it was started in. */
  readonly environment?: AmbientEnvironment.Environment
  /** A database that outlives the program, to see what a restart finds. */
  readonly database?: typeof SqliteInMemory
  /** Did the process before this one die? Each open turn is then one strike worse off. */
  readonly unclean?: boolean
}

/** A gateway that talks to platforms in memory and a scripted model, and otherwise is the one that people run. */
export const gateway = (options: Options) =>
  Opening.layer({ unclean: options.unclean ?? false }).pipe(
    Layer.provideMerge(AdapterInMemory.layer(...(options.platforms ?? [profiles.telegram]))),
    Layer.provideMerge(Gateway.layer),
    Layer.provideMerge(
      Layer.mergeAll(scriptedModel(options.model), options.database ?? SqliteInMemory, SearchIndex.layerMemory)
    ),
    Layer.provideMerge(Settings.layer(options.settings)),
    Layer.provideMerge(AmbientEnvironment.layer(options.environment ?? {})),
    Layer.provideMerge(NodeContext.layer)
  )
