/** A home's jobs over a database in memory: everybody's platforms are there, scripts and monitors say yes. */
import { FileSystem, Path } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { Clock, Effect, Layer } from "effect"
import { address } from "../../../src/fibers/DeliveryOrigin.js"
import * as Bell from "../../../src/layers/schedule/Bell.js"
import * as Jobs from "../../../src/layers/schedule/Jobs.js"
import * as Database from "../../../src/layers/sqlite/Database.js"
import * as FireClaimsLayer from "../../../src/layers/sqlite/FireClaims.js"
import * as JobStore from "../../../src/layers/sqlite/JobStore.js"
import { ModelRoute } from "../../../src/services/agent/ModelRoute.js"
import { SkillRefused, Skills } from "../../../src/services/agent/Skills.js"
import * as Deliver from "../../../src/services/delivery/Deliver.js"
import {
  NoHomeChannel,
  type Route,
  TargetResolver,
  UnknownPlatform
} from "../../../src/services/delivery/TargetResolver.js"
import type { CronSettings, ModelBackend } from "../../../src/services/operation/Settings.js"
import { FireClaims } from "../../../src/services/schedule/FireClaim.js"
import { Jobs as JobsTag } from "../../../src/services/schedule/Jobs.js"
import { JobStore as JobStoreTag } from "../../../src/services/schedule/JobStore.js"
import { LifecycleGuard } from "../../../src/services/schedule/LifecycleGuard.js"
import { Monitors } from "../../../src/services/schedule/Monitor.js"
import { ScriptRefused, Scripts } from "../../../src/services/schedule/Script.js"
import { Database as DatabaseTag } from "../../../src/services/state/Database.js"
import { ambient, ids, settings, settingsLayer } from "../support/hands.js"

export const nobody = { origin: null, createdBy: null }

/** Telegram is connected and has no home channel. */
export const resolver = Layer.mock(TargetResolver, {
  route: (deliver, origin) =>
    Effect.succeed({
      targets: Deliver.parse(deliver).flatMap(({ word, written }): ReadonlyArray<Deliver.Routed> => {
        if (word._tag === "Chat" && word.platform === "telegram")
          return [
            {
              token: written,
              address: address({ platform: "telegram", chatId: word.reference }),
              via: "explicit",
              note: null
            }
          ]
        return word._tag === "Origin" && origin !== null
          ? [{ token: written, address: origin, via: "origin", note: null }]
          : []
      }),
      problems: Deliver.parse(deliver).flatMap(({ word, written }): Route["problems"] => {
        if (word._tag === "Platform" && word.platform === "telegram")
          return [
            { token: written, error: new NoHomeChannel({ platform: "telegram", setting: "TELEGRAM_HOME_CHANNEL" }) }
          ]
        const platform = word._tag === "Platform" || word._tag === "Chat" ? word.platform : "telegram"
        return platform === "telegram"
          ? []
          : [{ token: written, error: new UnknownPlatform({ platform, known: ["telegram"] }) }]
      }),
      unanchored: origin === null && Deliver.parse(deliver).some(({ word }) => word._tag === "Origin")
    })
})

const scripts = Layer.mock(Scripts, {
  folder: "/home/scripts",
  locate: (path) =>
    /^[\w-]+\.(?:sh|py)$/.test(path)
      ? Effect.succeed(`/home/scripts/${path}`)
      : Effect.fail(new ScriptRefused({ path, detail: "is no script of this home" }))
})

export const model = Layer.succeed(ModelRoute, {
  primary: { provider: "openai", model: "gpt-5-mini" },
  contextWindow: 100_000,
  trouble: Effect.succeed(null),
  stream: () => Effect.runSync(Effect.dieMessage("no model here"))
})

const brew = { name: "brew", description: "", path: "brew", fallbackFor: [], requires: [] }

const skills = Layer.mock(Skills, {
  view: (name) =>
    name === brew.name
      ? Effect.succeed({ summary: brew, text: "", files: [], warning: null })
      : Effect.fail(new SkillRefused({ detail: `there is no skill ${name}; there are: brew` }))
})

/** What a job is checked with, saying yes; a script has a plain name, and the one skill is "brew". */
export const hands = Layer.mergeAll(
  scripts,
  skills,
  Layer.mock(Monitors, { check: () => Effect.void }),
  Layer.succeed(LifecycleGuard, { check: () => Effect.void }),
  model
)

export const edges = (
  options: {
    readonly home?: string
    readonly cron?: Partial<CronSettings>
    readonly model?: ModelBackend
    readonly environment?: Record<string, string>
  } = {}
) => {
  const home = options.home ?? "/nonexistent"
  return Layer.mergeAll(
    resolver,
    hands,
    ids,
    ambient(options.environment),
    settingsLayer(home, {
      cron: { ...settings(home).cron, ...options.cron },
      ...(options.model === undefined ? {} : { model: options.model })
    }),
    NodeContext.layer
  )
}

export const stores = JobStore.layer.pipe(Layer.provideMerge(Database.layerMemory))

export const jobs = (options: Parameters<typeof edges>[0] = {}) =>
  Jobs.layer.pipe(Layer.provideMerge(Bell.layer), Layer.provideMerge(stores), Layer.provideMerge(edges(options)))

export { FileSystem, Path }

/** How a run ends that went well and said nothing. */
export const ok = {
  status: "ok",
  reason: null,
  error: null,
  deliveryError: null,
  streak: "success",
  sessionId: null,
  output: null
} as const

/** A clock that stands where it is put. */
export const handClock = (start: number) => {
  const at = { now: start }
  const clock: Clock.Clock = Object.assign(Object.create(Clock.make()), {
    unsafeCurrentTimeMillis: () => at.now,
    currentTimeMillis: Effect.sync(() => at.now)
  })
  return { at, clock }
}

/** What the database of a test says to a query. */
export const rows = (sql: string) =>
  Effect.flatMap(DatabaseTag, (database) =>
    database.read("test", (client) => client.unsafe<Record<string, unknown>>(sql))
  )

/** Runs a test over jobs and their claims, by a clock that begins at `start` and is moved by hand. */
export const withClaims =
  (start: number) =>
  <A, E>(
    test: (at: { now: number }, claims: FireClaims["Type"]) => Effect.Effect<A, E, JobsTag | JobStoreTag | DatabaseTag>
  ) => {
    const { at, clock } = handClock(start)
    return FireClaims.pipe(
      Effect.tap((claims) => claims.recover),
      Effect.flatMap((claims) => test(at, claims)),
      Effect.provide(FireClaimsLayer.layer.pipe(Layer.provideMerge(jobs()))),
      Effect.withClock(clock)
    )
  }
