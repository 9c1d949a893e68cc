/** What a home holds while no gateway runs on it, for `hermes status`: in a chunk of its own, as it needs the database. */
import { Effect, Layer } from "effect"
import * as JobStoreLayer from "../../layers/sqlite/JobStore.js"
import * as PauseLayer from "../../layers/sqlite/Pause.js"
import { Pause } from "../../services/operation/Pause.js"
import { JobStore } from "../../services/schedule/JobStore.js"
import { direct as database } from "../state.js"
import { settled } from "./settled.js"

export const resting = Effect.gen(function* () {
  const pause = yield* Pause
  return { jobs: yield* (yield* JobStore).summary, paused: (yield* pause.current) !== null }
}).pipe(
  Effect.provide(
    Layer.mergeAll(JobStoreLayer.layer, PauseLayer.layer).pipe(Layer.provide(database), Layer.provide(settled))
  )
)
