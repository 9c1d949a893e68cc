/**
 * The backend that a setting names. What a provider needs is loaded when it is first asked: a gateway on the offline
 * assistant never loads the client of another provider.
 */
import { FileSystem } from "@effect/platform/FileSystem"
import { HttpClient } from "@effect/platform/HttpClient"
import { Context, Effect, Stream } from "effect"
import * as Shared from "../../fibers/Shared.js"
import {
  type BackendName,
  type ModelBackendService,
  ModelError,
  type ModelErrorReason,
  type ModelRequest,
  speak
} from "../../services/agent/ModelRoute.js"
import { Ids } from "../../services/operation/Ids.js"
import type { ModelBackend } from "../../services/operation/Settings.js"
import type { ModelLimits } from "./Limits.js"
import * as Pictures from "./Pictures.js"

export type BackendNeeds = HttpClient | Ids | FileSystem

interface Made {
  readonly backend: ModelBackend
  readonly limits: ModelLimits
  readonly timezone: string
}

const failed = (backend: ModelBackend, reason: ModelErrorReason, detail: string): ModelError =>
  new ModelError({ reason, provider: backend.provider, detail, status: null, retryAfterMillis: null })

/** What is missing before the provider can be asked, as what to do about it; null when nothing is. */
export const missing = (backend: ModelBackend): string | null => {
  const noKey = backend.apiKey === null
  switch (backend.provider) {
    case "anthropic":
      if (noKey && backend.baseUrl === null)
        return "Set ANTHROPIC_API_KEY in the home's .env file or the environment, then restart the gateway."
      break
    case "openai":
      if (noKey && backend.baseUrl === null)
        return "Set OPENAI_API_KEY in the home's .env file or the environment, then restart the gateway."
      break
    case "openai-compatible":
      if (backend.baseUrl === null || backend.baseUrl.trim() === "")
        return "Set HERMES_MODEL_BASE_URL (model.base_url) to what stands before /chat/completions, such as http://127.0.0.1:11434/v1."
      break
    case "offline":
    case "scripted":
      return null
  }
  return backend.model.trim() === "" ? "Set HERMES_MODEL (model.name) to the name of the model." : null
}

/** The backend with each of its keys. */
export const withEachKey = (backend: ModelBackend): ReadonlyArray<ModelBackend> => [
  backend,
  ...(backend.spareKeys ?? []).map((apiKey) => ({ ...backend, apiKey }))
]

const modelName = (backend: ModelBackend): string => (backend.model === "" ? backend.provider : backend.model)

/** A module that is a chunk of its own. */
const chunk = <A>(backend: ModelBackend, load: () => Promise<A>): Effect.Effect<A, ModelError> =>
  Effect.tryPromise({
    try: load,
    catch: (error) =>
      failed(
        backend,
        "not_configured",
        `The client for ${backend.provider} could not be loaded (${error instanceof Error ? error.message : String(error)}). Install hermes-effect again.`
      )
  })

const load = ({ backend, limits, timezone }: Made): Effect.Effect<ModelBackendService, ModelError, BackendNeeds> => {
  switch (backend.provider) {
    case "anthropic":
      return Effect.flatMap(
        chunk(backend, () => import("./anthropic/Backend.js")),
        ({ make }) => make({ backend, limits })
      )
    case "openai":
      return Effect.flatMap(
        chunk(backend, () => import("./openai/Backend.js")),
        ({ make }) => make({ backend, limits })
      )
    case "openai-compatible":
      return Effect.flatMap(
        chunk(backend, () => import("./chatCompletions/Backend.js")),
        ({ make }) => make({ backend, limits, baseUrl: backend.baseUrl ?? "" })
      )
    case "scripted":
      return Effect.flatMap(
        chunk(backend, () => import("./scripted/Backend.js")),
        ({ fromModelName }) => fromModelName(backend.model, backend.contextWindow)
      )
    case "offline":
      return Effect.map(
        chunk(backend, () => import("./offline/Backend.js")),
        ({ make }) => make({ timezone, model: modelName(backend), contextWindow: backend.contextWindow })
      )
  }
}

/** Loaded once, when it is first asked; what is not set up says so at every answer. */
export const make = (options: Made): Effect.Effect<ModelBackendService, never, BackendNeeds> =>
  Effect.gen(function* () {
    const { backend } = options
    const context = yield* Effect.context<BackendNeeds>()
    const loaded = yield* Shared.cached<ModelBackendService, ModelError, never>(Effect.provide(load(options), context))
    const name: BackendName = { provider: backend.provider, model: modelName(backend) }
    const lacking = missing(backend)
    const fs = Context.get(context, FileSystem)
    const shown = (request: ModelRequest) => Pictures.shown(request, backend.sees === true, fs)
    return {
      name,
      contextWindow: backend.contextWindow,
      speak: (request, hear) =>
        lacking === null
          ? Effect.flatMap(Effect.all([loaded, shown(request)]), ([service, asked]) => speak(service, asked, hear))
          : Effect.fail(failed(backend, "not_configured", lacking)),
      stream: (request) =>
        lacking === null
          ? Stream.unwrap(Effect.map(Effect.all([loaded, shown(request)]), ([service, asked]) => service.stream(asked)))
          : Stream.fail(failed(backend, "not_configured", lacking))
    }
  })
