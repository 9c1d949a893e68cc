/**
 * Every notice of the catalogue, brought about once in the whole gateway in memory. The list of codes is the program's own:
 * a new one without a scenario fails.
 */
import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as Route from "../../../src/layers/models/Route.js"
import * as HomeDirectory from "../../../src/layers/node/Home.js"
import * as Lifecycle from "../../../src/layers/operation/Lifecycle.js"
import * as PresenceLayer from "../../../src/layers/operation/Presence.js"
import * as SearchIndex from "../../../src/layers/sqlite/SearchIndex.js"
import * as GatewayProgram from "../../../src/programs/gateway.js"
import { ModelRoute } from "../../../src/services/agent/ModelRoute.js"
import { ModelRoutes } from "../../../src/services/agent/ModelRoutes.js"
import { ApiServer } from "../../../src/services/api/ApiServer.js"
import * as Notice from "../../../src/services/delivery/Notice.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { Settings } from "../../../src/services/operation/Settings.js"
import * as Testing from "../../../src/testing/index.js"
import { killed } from "../support/killed.js"
import { elsewhere, heard, model, say, type Scenario, scenarios, telegram } from "./noticeScenarios.js"
import { words } from "./noticeWords.js"

const told = (code: Notice.Code) =>
  elsewhere.some((text) => words[code].test(text)) ? Effect.void : Effect.asVoid(heard(words[code]))

const live = ({ before, codes, options, run }: Scenario) =>
  Effect.gen(function* () {
    const database = Layer.succeedContext(yield* Layer.build(Testing.SqliteInMemory))
    const gateway = (unclean: boolean) => Testing.gateway({ model, database, unclean, ...options })
    if (before !== undefined) yield* Effect.provide(before, yield* Layer.buildWithScope(gateway(false), yield* killed))
    yield* Effect.gen(function* () {
      yield* run
      for (const code of codes) yield* told(code)
    }).pipe(Effect.provide(gateway(before !== undefined)))
  })

/** The gateway with a model of its own and an address, from its beginning in order to its end. */
const whole = (speaker: ReturnType<typeof Testing.scriptedModel>, database: typeof Testing.SqliteInMemory) =>
  Lifecycle.layer.pipe(
    Layer.provide(PresenceLayer.layer),
    Layer.provide(Layer.succeed(ApiServer, { url: "http://127.0.0.1:1", host: "127.0.0.1", port: 1 })),
    Layer.provide(Layer.unwrapEffect(Effect.map(Settings, ({ home }) => HomeDirectory.layer(home)))),
    Layer.provideMerge(Testing.AdapterInMemory.layer(telegram)),
    Layer.provideMerge(GatewayProgram.layer),
    Layer.provideMerge(Layer.mergeAll(speaker, database, SearchIndex.layerMemory)),
    Layer.provideMerge(Testing.Settings.layer()),
    Layer.provideMerge(AmbientEnvironment.layer({})),
    Layer.provideMerge(NodeContext.layer)
  )

/** Two models, of which the first never answers. */
const withFallback = Layer.effectContext(
  Effect.gen(function* () {
    const first = yield* Testing.scriptedBackend(() => Testing.fail("auth"))
    const second = yield* Testing.scriptedBackend(model, { provider: "scripted", model: "other" })
    const route = yield* Route.make(first, [second], { maxRetries: 0 })
    return Context.make(ModelRoute, route).pipe(
      Context.add(ModelRoutes, { over: () => Effect.succeed(route), missing: () => null }),
      Context.add(Testing.ScriptedModel, { requests: second.requests })
    )
  })
)

/** The second model takes the first step of a turn, the first one gives the answer. */
const withHelpAtFirst = Layer.effectContext(
  Effect.gen(function* () {
    const first = yield* Testing.scriptedBackend([Testing.say("it is green")])
    const second = yield* Testing.scriptedBackend([Testing.calls([{ name: "todo" }], "let me look")], {
      provider: "scripted",
      model: "other"
    })
    let calls = 0
    const route: typeof ModelRoute.Service = {
      primary: first.name,
      contextWindow: first.contextWindow,
      trouble: Effect.succeed(null),
      stream: (request) => (calls++ === 0 ? second : first).stream(request)
    }
    return Context.make(ModelRoute, route).pipe(
      Context.add(ModelRoutes, { over: () => Effect.succeed(route), missing: () => null }),
      Context.add(Testing.ScriptedModel, { requests: first.requests })
    )
  })
)

/** What needs another model, an end in order or the test clock (`LongTurn.test.ts`) has a test of its own. */
const others: { readonly [about: string]: ReadonlyArray<Notice.Code> } = {
  "a long turn": ["run.heartbeat", "run.stalled", "run.waiting", "run.inactive.warning", "run.inactive.killed"],
  "another model": ["reply.fallback"],
  "a restart": ["restart.going", "restart.back"]
}

describe("every notice", () => {
  it("is one of these", () => {
    const covered = [...scenarios.flatMap(({ codes }) => codes), ...Object.values(others).flat()]
    expect(covered.toSorted()).toEqual([...Notice.codes].toSorted())
  })

  for (const scenario of scenarios)
    it.scopedLive(`${scenario.about}: ${scenario.codes.join(", ")}`, () => live(scenario))

  it.scopedLive("another model", () =>
    Effect.zipRight(say("hello"), told("reply.fallback")).pipe(
      Effect.provide(whole(withFallback, Testing.SqliteInMemory))
    )
  )

  it.scopedLive("another model that only took a step towards the answer is not named", () =>
    Effect.gen(function* () {
      const ends = yield* (yield* Activity).watch(({ _tag }) => _tag === "turn.ended")
      yield* say("what colour?")
      expect(yield* ends.take).toMatchObject([{ text: "it is green" }])
    }).pipe(Effect.provide(whole(withHelpAtFirst, Testing.SqliteInMemory)))
  )

  it.scopedLive("a restart", () =>
    Effect.gen(function* () {
      const database = Layer.succeedContext(yield* Layer.build(Testing.SqliteInMemory))
      const life = whole(Testing.scriptedModel(model), database)
      yield* Effect.provide(Effect.zipRight(say("/restart"), told("restart.going")), life)
      yield* Effect.provide(told("restart.back"), life)
    })
  )
})
