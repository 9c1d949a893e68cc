import { Context, type Effect, Either, Schema } from "effect"
import { Provider, type ModelBackend, type SettingsShape } from "../operation/Settings.js"
import type { Session, SessionId } from "../session/Session.js"
import type { StateError } from "../state/StateError.js"
import type { BackendName, ModelRoute } from "./ModelRoute.js"

/** No model that could be asked goes by this name. */
export class ModelUnknown extends Schema.TaggedError<ModelUnknown>()("ModelUnknown", {
  wanted: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `"${this.wanted}" cannot be used: ${this.detail}`
  }
}

/** Who chose the model of a conversation: itself, the owner for its chat, a person for all of them, or the settings. */
export type ChosenBy = "session" | "channel" | "all" | "settings"

export interface Choice {
  readonly backend: BackendName
  readonly by: ChosenBy
}

/** Which model answers where (gateway.md 9.2 `/model`, 9.3 `channel_overrides`). A choice holds no secret and outlives the gateway. */
export class ModelChoice extends Context.Tag("hermes/agent/ModelChoice")<
  ModelChoice,
  {
    /** The route of a conversation. Asking touches no disk. */
    readonly routeOf: (session: Session) => Effect.Effect<typeof ModelRoute.Service>
    readonly of: (session: Session | null) => Effect.Effect<Choice>
    /** `all`: of every conversation that has none of its own. From the next turn on. */
    readonly choose: (scope: SessionId | "all", wanted: string) => Effect.Effect<BackendName, ModelUnknown | StateError>
    /** Back to what the owner has set. */
    readonly clear: (scope: SessionId | "all") => Effect.Effect<void, StateError>
  }
>() {}

const isProvider = Schema.is(Provider)

/** A provider's backend as the settings have it, with another model in it; null where that provider is not set up. */
export const backendOf = (
  settings: Pick<SettingsShape, "model" | "cron">,
  provider: string | null,
  model: string | null,
  baseUrl: string | null
): ModelBackend | null => {
  const base =
    provider === null || provider === settings.model.provider
      ? settings.model
      : settings.cron.backends.find((backend) => backend.provider === provider)
  if (base === undefined) return null
  return { ...base, model: model ?? base.model, baseUrl: baseUrl ?? base.baseUrl }
}

/** Is the provider still reached where it was? A model of one address is never asked for at another (decision 33). */
export const isReachedAt = (
  settings: Pick<SettingsShape, "model" | "cron">,
  provider: string,
  baseUrl: string | null
): boolean => {
  const written = (url: string | null): string | null => url?.replace(/\/+$/, "") ?? null
  const backend = backendOf(settings, provider, null, null)
  return backend !== null && written(backend.baseUrl) === written(baseUrl)
}

/** Reads `NAME`, `PROVIDER/NAME` or one of the owner's `model_aliases`. A router's own `vendor/name` stays a name. */
export const read = (
  settings: Pick<SettingsShape, "model" | "cron" | "modelAliases">,
  wanted: string
): Either.Either<ModelBackend, ModelUnknown> => {
  const name = settings.modelAliases.get(wanted.toLowerCase()) ?? wanted
  const slash = name.indexOf("/")
  const first = name.slice(0, Math.max(0, slash))
  const [provider, model] = isProvider(first) ? [first, name.slice(slash + 1)] : [null, name]
  if (model.trim() === "" || /\s/.test(model))
    return Either.left(new ModelUnknown({ wanted, detail: "say a model's name, or PROVIDER/NAME" }))
  const backend = backendOf(settings, provider, model, null)
  return backend === null
    ? Either.left(new ModelUnknown({ wanted, detail: `the provider "${provider}" is not set up here` }))
    : Either.right(backend)
}
