import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Option, Schema } from "effect"
import { Config } from "../../services/operation/Config.js"
import * as Readable from "../../services/operation/Readable.js"
import { Provider, Settings } from "../../services/operation/Settings.js"
import * as Backend from "../../layers/models/Backend.js"
import * as Credentials from "./credentials.js"
import { usage } from "./failure.js"
import { ownerOnly } from "./ownerOnly.js"
import { settled } from "./settled.js"
import { answer, note } from "./output.js"

/** What a person may choose; the scripted one is for tests. */
const providers = Provider.literals.filter((provider) => provider !== "scripted")

const Model = Schema.Struct({
  provider: Provider,
  model: Schema.String,
  baseUrl: Schema.NullOr(Schema.String),
  contextLength: Schema.Number,
  fallbacks: Schema.Array(Schema.Struct({ provider: Provider, model: Schema.String })),
  ...Credentials.All.fields
})

/** A file of logins that cannot be read is told by `doctor`, and by whoever needs it. */
const credentials = Credentials.all.pipe(
  Effect.provide(Credentials.store),
  Effect.catchAll((error) => Effect.as(note(`hermes: ${error.message}`), { logins: [], cooldowns: [] }))
)

const current = Effect.provide(
  Effect.map(Settings, ({ model, fallbacks }) => ({
    provider: model.provider,
    model: model.model,
    baseUrl: model.baseUrl === null ? null : Readable.address(model.baseUrl),
    contextLength: model.contextWindow,
    fallbacks: fallbacks.map(({ provider, model }) => ({ provider, model })),
    lacking: Backend.missing(model)
  })),
  settled
)

/** Where the built-in assistant answers, a name says whose it is (`openai/gpt-5`), or an option does: it has no models of its own. */
const named = (provider: Option.Option<Provider>, name: Option.Option<string>) =>
  Effect.gen(function* () {
    const whose = Option.getOrElse(provider, () => null) ?? (yield* current).provider
    if (Option.isNone(name) || whose !== "offline") return { provider, name }
    const [, prefix, rest] = /^([a-z-]+)\/(.+)$/.exec(name.value) ?? []
    const other = providers.find((known) => known === prefix && known !== "offline")
    if (other === undefined || rest === undefined)
      return yield* usage(
        `the built-in assistant has no models: say whose "${name.value}" is, with --provider anthropic, openai or openai-compatible`
      )
    return { provider: Option.some(other), name: Option.some(rest) }
  })

/** Null takes it out of the file. */
const change = (path: string, value: Option.Option<string | null>) =>
  Option.isNone(value)
    ? Effect.void
    : Effect.provide(
        // JSON is YAML, and a name that looks like a number or a truth stays a name.
        Effect.flatMap(Config, (config) => config.set(path, JSON.stringify(value.value))),
        settled
      )

export const command = Command.make(
  "model",
  {
    provider: Options.choice("provider", providers).pipe(
      Options.withDescription("Sets the provider too."),
      Options.optional
    ),
    baseUrl: Options.text("base-url").pipe(
      Options.withPseudoName("URL"),
      Options.withDescription("Sets where its server is, such as http://127.0.0.1:11434/v1."),
      Options.optional
    ),
    name: Args.text({ name: "NAME" }).pipe(Args.withDescription("The model to use from now on."), Args.optional)
  },
  ({ baseUrl, ...asked }) =>
    Effect.gen(function* () {
      // Before anything is looked up: that would make a home where there is none.
      if ([asked.provider, asked.name, baseUrl].some(Option.isSome)) yield* ownerOnly("another model")
      const { name, provider } = yield* named(asked.provider, asked.name)
      const moves = Option.isSome(provider) && provider.value !== (yield* current).provider
      // Another provider's address would get this one's key, and nobody else knows its model.
      if (moves)
        yield* Effect.all([change("model.base_url", Option.some(null)), change("model.name", Option.some(null))])
      yield* change("model.provider", provider)
      yield* change("model.base_url", baseUrl)
      yield* change("model.name", name)
      const changed = [provider, baseUrl, name].some(Option.isSome)
      const known = { ...(yield* current), ...(yield* credentials) }
      yield* answer(Model, known, (now) => [
        `${now.provider}/${now.model}${now.baseUrl === null ? "" : ` at ${now.baseUrl}`}`,
        ...now.fallbacks.map((fallback) => `then ${fallback.provider}/${fallback.model}`),
        ...Credentials.problems(now),
        ...(changed && now.lacking !== null ? [now.lacking] : []),
        ...(changed ? ["It counts from the next start of the gateway; HERMES_MODEL* variables win over it."] : []),
        ...(now.provider === "offline" && !changed
          ? ["That is the built-in offline assistant. `hermes setup` asks for a real one and tries it."]
          : [])
      ])
    })
).pipe(Command.withDescription("Shows or sets the model."))
