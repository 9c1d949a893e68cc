/** Which backend a job's run asks (cron-delivery.md 3.6, decision 33). */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Ref } from "effect"
import * as RunModel from "../../../src/layers/schedule/RunModel.js"
import { ModelRoute } from "../../../src/services/agent/ModelRoute.js"
import { ModelRoutes } from "../../../src/services/agent/ModelRoutes.js"
import type { ModelBackend } from "../../../src/services/operation/Settings.js"
import type { Job } from "../../../src/services/schedule/Job.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { settings, settingsLayer } from "../support/hands.js"
import { jobs, nobody } from "./support.js"

const backend = (provider: ModelBackend["provider"], model: string, baseUrl: string | null): ModelBackend => ({
  provider,
  model,
  baseUrl,
  apiKey: null,
  contextWindow: 100_000
})

interface Configured {
  readonly model: ModelBackend
  readonly others?: ReadonlyArray<ModelBackend>
  readonly cron?: { readonly provider?: ModelBackend["provider"] | null; readonly model?: string | null }
}

/** What a run of the job asks: "the configured route", or a backend of its own. */
const asked = (job: Job, configured: Configured) =>
  Effect.gen(function* () {
    const pinned = yield* Ref.make<string | null>(null)
    const route = Layer.succeed(ModelRoute, {
      primary: { provider: configured.model.provider, model: configured.model.model },
      contextWindow: 100_000,
      trouble: Effect.succeed(null),
      stream: () => Effect.runSync(Effect.dieMessage("no model here"))
    })
    const routes = Layer.effect(
      ModelRoutes,
      Effect.map(ModelRoute, (only) => ({
        missing: () => null,
        over: ({ baseUrl, model, provider }: ModelBackend) =>
          Effect.as(Ref.set(pinned, `${provider}/${model} at ${baseUrl ?? "its own address"}`), only)
      }))
    ).pipe(Layer.provideMerge(route))
    const cron = {
      ...settings("/home").cron,
      ...configured.cron,
      backends: [configured.model, ...(configured.others ?? [])]
    }
    const model = yield* Effect.flatMap(RunModel.make, (modelOf) => modelOf(job)).pipe(
      Effect.provide(Layer.merge(routes, settingsLayer("/home", { model: configured.model, cron })))
    )
    return model._tag === "Blocked" ? model.reason : ((yield* Ref.get(pinned)) ?? "the configured route")
  })

const made = (draft: { readonly model?: string; readonly provider?: string } = {}) =>
  Effect.flatMap(Jobs, (service) =>
    Effect.map(service.create({ schedule: "every 1h", prompt: "look", ...draft }, nobody), ({ job }) => job)
  )

const old = "http://127.0.0.1:7801/v1"
const local = (model: string, baseUrl: string) => backend("openai-compatible", model, baseUrl)

describe("a job that names a model alone", () => {
  const spare = backend("anthropic", "claude", null)

  it.effect("is asked of the provider of all jobs, and without one of the configured provider", () =>
    Effect.gen(function* () {
      const job = yield* made({ model: "mine" })
      const model = backend("openai", "gpt-5-mini", null)
      expect(yield* asked(job, { model, others: [spare], cron: { provider: "anthropic", model: "claude" } })).toBe(
        "anthropic/mine at its own address"
      )
      expect(yield* asked(job, { model, others: [spare] })).toBe("openai/mine at its own address")
    }).pipe(Effect.provide(jobs()))
  )

  it.effect("whose provider is named too goes there, whatever all jobs have", () =>
    Effect.gen(function* () {
      const job = yield* made({ model: "mine", provider: "openai" })
      const model = backend("openai", "gpt-5-mini", null)
      expect(yield* asked(job, { model, others: [spare], cron: { provider: "anthropic" } })).toBe(
        "openai/mine at its own address"
      )
    }).pipe(Effect.provide(jobs()))
  )
})

describe("a job that names no model", () => {
  const job = made().pipe(
    Effect.map((one): Job => ({
      ...one,
      modelSnapshot: { provider: "openai-compatible", model: "oldmodel", baseUrl: old }
    })),
    Effect.provide(jobs())
  )

  it.effect("goes on with the model that it was made with, where that is still reached", () =>
    Effect.gen(function* () {
      expect(yield* asked(yield* job, { model: local("newmodel", `${old}/`) })).toBe(
        `openai-compatible/oldmodel at ${old}/`
      )
    })
  )

  it.effect("runs on what is configured when the address is another one: its model is not asked for there", () =>
    Effect.gen(function* () {
      expect(yield* asked(yield* job, { model: local("newmodel", "http://127.0.0.1:7802/v1") })).toBe(
        "the configured route"
      )
      expect(yield* asked(yield* job, { model: backend("openai", "gpt-5-mini", null) })).toBe("the configured route")
    })
  )

  it.effect("that was made before addresses were kept goes on as it did", () =>
    Effect.gen(function* () {
      const before = { ...(yield* job), modelSnapshot: { provider: "openai-compatible", model: "oldmodel" } }
      expect(yield* asked(before, { model: local("newmodel", old) })).toBe(`openai-compatible/oldmodel at ${old}`)
    })
  )

  it.effect("keeps the address of what it is made with", () =>
    Effect.gen(function* () {
      expect((yield* made()).modelSnapshot).toEqual({ provider: "openai", model: "gpt-5-mini", baseUrl: old })
    }).pipe(Effect.provide(jobs({ model: backend("openai", "gpt-5-mini", old) })))
  )
})
