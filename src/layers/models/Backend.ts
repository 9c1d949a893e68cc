/**
 * The backend that a setting names. What a provider needs is loaded when it is first asked: a gateway on the offline
 * assistant never loads the client of another provider.
 */
import { FileSystem } from "@effect/platform/FileSystem"
import { HttpClient } from "@effect/platform/HttpClient"
import { Context, Effect, Stream } from "effect"
import type { Deadlines } from "../../fibers/Deadlines.js"
import * as Shared from "../../fibers/Shared.js"
import type { Seat } from "../../services/agent/Cooldowns.js"
import {
  type BackendName,
  type ModelBackendService,
  ModelError,
  type ModelErrorReason,
  type ModelRequest,
  speak
} from "../../services/agent/ModelRoute.js"
import { AccessTokens } from "../../services/credential/AccessTokens.js"
import * as OAuthLogin from "../../services/credential/OAuthLogin.js"
import { Ids } from "../../services/operation/Ids.js"
import type { OwnCommand } from "../../services/operation/OwnCommand.js"
import type { ModelBackend } from "../../services/operation/Settings.js"
import type { ModelLimits } from "./Limits.js"
import * as OAuthBackend from "./oauth/Backend.js"
import * as Pictures from "./Pictures.js"
import * as Seats from "./Seats.js"

export type BackendNeeds = HttpClient | Ids | FileSystem | AccessTokens

interface Made {
  readonly backend: ModelBackend
  readonly limits: ModelLimits
  /** What watches its waits. */
  readonly deadlines: Deadlines
  readonly timezone: string
  /** How a person sets up another one. */
  readonly command: OwnCommand
  /** Which of its login's credentials; left out or null: the first. */
  readonly credential?: string | null
  /** Is its key a token of a login? */
  readonly bearer?: boolean
}

const failed = (backend: ModelBackend, reason: ModelErrorReason, detail: string): ModelError =>
  new ModelError({ reason, provider: backend.provider, detail, status: null, retryAfterMillis: null })

/** The login that it is asked with: never one for another host than its own. */
const loginOf = (backend: ModelBackend): OAuthLogin.OAuthLogin | undefined =>
  backend.login === undefined ? undefined : OAuthLogin.of([backend.login], backend)

/** What is missing before the provider can be asked, as what to do about it; null when nothing is. */
export const missing = (backend: ModelBackend): string | null => {
  const noKey = backend.apiKey === null && loginOf(backend) === undefined
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

/** The backend with one of its credentials. */
export interface Seated {
  readonly backend: ModelBackend
  /** Of its login; null: the first that there will be. */
  readonly credential: string | null
  readonly seat: Seat
}

/**
 * The backend with each of its credentials: those of its login, else its keys. What somebody has logged in with is never
 * given up for a key without a word, because another pays for that (state-agent.md 3.8).
 */
export const seatsOf = (backend: ModelBackend): Effect.Effect<ReadonlyArray<Seated>, never, AccessTokens> => {
  const login = loginOf(backend)
  const { login: _login, ...keyed } = backend
  const keys = [backend.apiKey, ...(backend.spareKeys ?? [])].map((apiKey): Seated => {
    const one = { ...keyed, apiKey }
    return { backend: one, credential: null, seat: Seats.seatOf(one) }
  })
  if (login === undefined) return Effect.succeed(keys)
  const seated = (credential: string | null): Seated => ({
    backend,
    credential,
    seat: { ...Seats.seatOf({ ...keyed, apiKey: null }), credential: `login:${login.name}/${credential ?? "first"}` }
  })
  return Effect.flatMap(AccessTokens, (tokens) =>
    Effect.match(tokens.credentials(login), {
      // Why it cannot be read is said by whoever asks for a token.
      onFailure: () => [seated(null)],
      onSuccess: (all) =>
        all.length > 0 ? all.map(({ id }) => seated(id)) : backend.apiKey === null ? [seated(null)] : keys
    })
  )
}

const modelName = (backend: ModelBackend): string => (backend.model === "" ? backend.provider : backend.model)

const nameOf = (backend: ModelBackend): BackendName => ({ provider: backend.provider, model: modelName(backend) })

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

const load = ({
  backend,
  bearer = false,
  command,
  deadlines,
  limits,
  timezone
}: Made): Effect.Effect<ModelBackendService, ModelError, BackendNeeds> => {
  switch (backend.provider) {
    case "anthropic":
      return Effect.flatMap(
        chunk(backend, () => import("./anthropic/Backend.js")),
        ({ make }) => make({ backend, limits, bearer })
      )
    case "openai":
      return Effect.flatMap(
        chunk(backend, () => import("./openai/Backend.js")),
        ({ make }) => make({ backend, limits })
      )
    case "openai-compatible":
      return Effect.flatMap(
        chunk(backend, () => import("./chatCompletions/Backend.js")),
        ({ make }) => make({ backend, limits, deadlines, baseUrl: backend.baseUrl ?? "" })
      )
    case "scripted":
      return Effect.flatMap(
        chunk(backend, () => import("./scripted/Backend.js")),
        ({ fromModelName }) => fromModelName(backend.model, backend.contextWindow)
      )
    case "offline":
      return Effect.map(
        chunk(backend, () => import("./offline/Backend.js")),
        ({ make }) => make({ timezone, command, model: modelName(backend), contextWindow: backend.contextWindow })
      )
  }
}

/** As it is loaded, or with the token of its login each time. */
const asked = (options: Made): Effect.Effect<ModelBackendService, ModelError, BackendNeeds> => {
  const { backend, credential = null } = options
  const login = loginOf(backend)
  const { login: _login, spareKeys: _spareKeys, ...keyed } = backend
  return login === undefined
    ? load(options)
    : OAuthBackend.make({
        name: nameOf(backend),
        contextWindow: backend.contextWindow,
        login,
        credential,
        withToken: (token) => load({ ...options, backend: { ...keyed, apiKey: token }, bearer: true })
      })
}

/** Loaded once, when it is first asked; what is not set up says so at every answer. */
export const make = (options: Made): Effect.Effect<ModelBackendService, never, BackendNeeds> =>
  Effect.gen(function* () {
    const { backend } = options
    const context = yield* Effect.context<BackendNeeds>()
    const loaded = yield* Shared.cached<ModelBackendService, ModelError, never>(Effect.provide(asked(options), context))
    const name = nameOf(backend)
    const lacking = missing(backend)
    const fs = Context.get(context, FileSystem)
    let service: ModelBackendService | null = null
    /** What is asked, and with what: once it is loaded it is at hand. */
    const ready = (request: ModelRequest) =>
      Effect.flatMap(
        Effect.suspend(() => (service === null ? loaded : Effect.succeed(service))),
        (found) => {
          service = found
          return Effect.map(Pictures.shown(request, backend.sees === true, fs), (asked) => ({ asked, service: found }))
        }
      )
    return {
      name,
      contextWindow: backend.contextWindow,
      speak: (request, hear) =>
        lacking === null
          ? Effect.flatMap(ready(request), ({ asked, service }) => speak(service, asked, hear))
          : Effect.fail(failed(backend, "not_configured", lacking)),
      stream: (request) =>
        lacking === null
          ? Stream.unwrap(Effect.map(ready(request), ({ asked, service }) => service.stream(asked)))
          : Stream.fail(failed(backend, "not_configured", lacking))
    }
  })
