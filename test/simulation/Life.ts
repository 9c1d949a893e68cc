/**
 * One life of a world: the gateway that people run, with its edges exchanged: clock, chance, platforms, model and the
 * database's write door.
 */
import {
  Context,
  Effect,
  type Fiber,
  Layer,
  Logger,
  Random,
  type Runtime,
  Scheduler,
  type Scope,
  Supervisor
} from "effect"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as AmbientEnvironment from "../../src/fibers/AmbientEnvironment.js"
import * as InMemoryAdapter from "../../src/layers/memory/InMemoryAdapter.js"
import * as Opening from "../../src/layers/operation/Opening.js"
import * as SearchIndex from "../../src/layers/sqlite/SearchIndex.js"
import * as Gateway from "../../src/programs/gateway.js"
import type { ModelRequest } from "../../src/services/agent/ModelRoute.js"
import { Settings } from "../../src/services/operation/Settings.js"
import * as Testing from "../../src/testing/index.js"
import { profiles, type Sent } from "../../src/testing/AdapterInMemory.js"
import * as TestSettings from "../../src/testing/Settings.js"
import type { Door } from "./Door.js"
import * as Model from "./Model.js"
import type { SimulatedClock } from "./SimulatedClock.js"

type Platform = keyof typeof profiles
export type Adapters = { readonly [P in Platform]: InMemoryAdapter.InMemoryAdapter }

export class Platforms extends Context.Tag("hermes/simulation/Platforms")<Platforms, Adapters>() {}

/** What a platform was asked for, in which life. */
export interface Act extends Sent {
  readonly platform: string
  readonly life: number
}

/** Helpers may write to chats, so that it is seen whose act that is. */
const settings = (home: string) =>
  TestSettings.settings(home, { delegation: { defaultToolsets: ["terminal", "file", "messaging"] } })

export const layer = (options: {
  readonly seed: number
  readonly file: string
  readonly door: Door
  readonly home: string
  readonly unclean: boolean
  readonly memories: { readonly [P in Platform]: InMemoryAdapter.Memory }
  readonly clock: SimulatedClock
  readonly fibers: Supervisor.Supervisor<Array<Fiber.RuntimeFiber<unknown, unknown>>>
  readonly logger: Logger.Logger<unknown, void>
  /** Told as soon as the platforms are there: what an earlier life left may be sent before this one has begun. */
  readonly met: (adapters: Adapters) => void
  /** Told what a model is sent. */
  readonly onRequest: (request: ModelRequest) => void
}) => {
  const { memories } = options
  const platforms = Layer.scoped(
    Platforms,
    Effect.all({
      telegram: InMemoryAdapter.make(profiles.telegram, memories.telegram),
      slack: InMemoryAdapter.make(profiles.slack, memories.slack),
      discord: InMemoryAdapter.make(profiles.discord, memories.discord)
    }).pipe(Effect.tap((adapters) => Effect.sync(() => options.met(adapters))))
  )
  return Opening.layer({ unclean: options.unclean }).pipe(
    Layer.provideMerge(platforms),
    Layer.provideMerge(Gateway.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        Testing.scriptedModel(
          (request) => {
            options.onRequest(request)
            return Model.answer(request)
          },
          { remember: 100 }
        ),
        options.door.layer(options.file),
        SearchIndex.layerMemory
      )
    ),
    Layer.provideMerge(Layer.succeed(Settings, settings(options.home))),
    Layer.provideMerge(AmbientEnvironment.layer({})),
    Layer.provideMerge(NodeContext.layer),
    Layer.provideMerge(Logger.replace(Logger.defaultLogger, options.logger)),
    Layer.provideMerge(Layer.setRandom(Random.make(options.seed))),
    Layer.provideMerge(Layer.setClock(options.clock)),
    // By microtasks alone: Effect's own goes on by a timer now and then, and what waits for it looks as if nothing happened.
    Layer.provideMerge(Layer.setScheduler(new Scheduler.MixedScheduler(Number.MAX_SAFE_INTEGER))),
    Layer.provideMerge(Supervisor.addSupervisor(options.fibers))
  )
}

export type Provided = Layer.Layer.Success<ReturnType<typeof layer>>

export interface Life {
  readonly number: number
  readonly file: string
  readonly door: Door
  readonly clock: SimulatedClock
  readonly fibers: Supervisor.Supervisor<Array<Fiber.RuntimeFiber<unknown, unknown>>>
  readonly scope: Scope.CloseableScope
  /** Null until it has begun. */
  runtime: Runtime.Runtime<Provided> | null
  adapters: Adapters | null
  /** What it left was given to the next. */
  handed: boolean
}
