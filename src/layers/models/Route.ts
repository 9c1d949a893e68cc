/**
 * The configured backend with retries and fallbacks behind it (state-agent.md 3.5, 3.8; decision 33). A backend is switched
 * as a whole. Each call starts with the first backend that is not cooling down.
 */
import { Chunk, Clock, Effect, Layer, Option, Random, Ref, Stream } from "effect"
import { backoffMillis, verdict } from "../../services/agent/ModelEvidence.js"
import {
  type Hear,
  type ModelBackendService,
  ModelError,
  type ModelPart,
  type ModelRequest,
  ModelRoute,
  type ModelTrouble,
  speak
} from "../../services/agent/ModelRoute.js"
import { ModelRoutes } from "../../services/agent/ModelRoutes.js"
import { type ModelBackend, Settings } from "../../services/operation/Settings.js"
import * as Backend from "./Backend.js"
import { type ModelLimits, standard } from "./Limits.js"

const cooldownMillis = 60_000

interface Attempt {
  /** Where in the chain. */
  readonly index: number
  /** Retries of this backend before. */
  readonly retries: number
  /** What the backends before this one failed with. */
  readonly failures: ReadonlyArray<ModelError>
}

/** What a person sees or a tool does; reasoning is neither, so a call that only reasoned may be made again. */
const isVisible = (part: ModelPart): boolean => part._tag === "Text" || part._tag === "ToolCall"

/** The first failure, because it is the configured backend's, with those of the others behind. */
const exhausted = (failures: ReadonlyArray<ModelError>, last: ModelError): ModelError => {
  const [first, ...others] = [...failures, last]
  return first === undefined || others.length === 0
    ? last
    : new ModelError({
        ...first,
        detail: `${first.detail}. Then ${others.map((error) => `${error.provider} failed too (${error.reason}): ${error.detail}`).join("; ")}`
      })
}

/** A route over backends in order of preference. */
export const make = (
  primary: ModelBackendService,
  fallbacks: ReadonlyArray<ModelBackendService>,
  options: { readonly maxRetries: number }
): Effect.Effect<typeof ModelRoute.Service> =>
  Effect.gen(function* () {
    const cooling = yield* Ref.make<ReadonlyMap<number, number>>(new Map())
    const trouble = yield* Ref.make<ModelTrouble | null>(null)
    const chain = [primary, ...fallbacks]

    const coolDown = (index: number, millis: number): Effect.Effect<void> =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Ref.update(cooling, (until) => new Map(until).set(index, now + Math.max(millis, cooldownMillis)))
      )

    const start: Effect.Effect<number> = Effect.zipWith(Ref.get(cooling), Clock.currentTimeMillis, (until, now) => {
      if (until.size === 0) return 0
      const ready = chain.findIndex((_, index) => (until.get(index) ?? 0) <= now)
      return ready === -1 ? 0 : ready
    })

    /** Who is asked after a failure, and after how long; none when nobody is. */
    const after = (attempt: Attempt, error: ModelError): Effect.Effect<Option.Option<Attempt>> =>
      Effect.gen(function* () {
        const { cooldown, retry, triesBeforeFallback } = verdict(error.reason)
        if (cooldown) yield* coolDown(attempt.index, error.retryAfterMillis ?? 0)
        const another = attempt.index + 1 < chain.length && triesBeforeFallback !== null
        const tries = attempt.retries + 1
        const wait = backoffMillis(error, attempt.retries, yield* Random.next)
        if (
          retry &&
          wait !== null &&
          attempt.retries < options.maxRetries &&
          (!another || tries < triesBeforeFallback)
        ) {
          yield* Effect.logWarning("a model call failed and is tried again").pipe(
            Effect.annotateLogs({ ...facts(attempt, error), waitMillis: wait })
          )
          yield* Effect.sleep(wait)
          return Option.some({ ...attempt, retries: tries })
        }
        if (another) {
          yield* Effect.logWarning("a model call failed and the next backend is asked").pipe(
            Effect.annotateLogs(facts(attempt, error))
          )
          return Option.some({ index: attempt.index + 1, retries: 0, failures: [...attempt.failures, error] })
        }
        if (chain.length > 1 && triesBeforeFallback !== null) yield* coolDown(0, 0)
        return Option.none()
      })

    const facts = (attempt: Attempt, error: ModelError) => ({
      provider: chain[attempt.index]?.name.provider ?? "",
      model: chain[attempt.index]?.name.model ?? "",
      reason: error.reason,
      status: error.status ?? "none",
      retries: attempt.retries
    })

    const ask = (request: ModelRequest, attempt: Attempt): Stream.Stream<ModelPart, ModelError> =>
      Stream.suspend(() => {
        const backend = chain[attempt.index] ?? primary
        let visible = false
        return backend.stream(request).pipe(
          Stream.mapChunks((parts) => {
            visible ||= Chunk.some(parts, isVisible)
            return parts
          }),
          Stream.catchAll((error) =>
            visible
              ? Stream.fail(error)
              : Stream.unwrap(
                  Effect.map(
                    after(attempt, error),
                    Option.match({
                      onNone: () => Stream.fail(exhausted(attempt.failures, error)),
                      onSome: (next) => ask(request, next)
                    })
                  )
                )
          )
        )
      })

    const tell = (request: ModelRequest, hear: Hear, attempt: Attempt): Effect.Effect<void, ModelError> =>
      Effect.suspend(() => {
        let visible = false
        const note: Hear = (part) => {
          visible ||= isVisible(part)
          return hear(part)
        }
        return Effect.catchAll(speak(chain[attempt.index] ?? primary, request, note), (error) =>
          visible
            ? Effect.fail(error)
            : Effect.flatMap(
                after(attempt, error),
                Option.match({
                  onNone: () => Effect.fail(exhausted(attempt.failures, error)),
                  onSome: (next) => tell(request, hear, next)
                })
              )
        )
      })

    return {
      primary: primary.name,
      contextWindow: primary.contextWindow,
      trouble: Ref.get(trouble),
      speak: (request, hear) =>
        Effect.flatMap(start, (index) => tell(request, hear, { index, retries: 0, failures: [] })).pipe(
          Effect.tapError((error) => Effect.flatMap(Clock.currentTimeMillis, (at) => Ref.set(trouble, { at, error }))),
          Effect.zipLeft(Ref.set(trouble, null))
        ),
      stream: (request) =>
        Stream.unwrap(Effect.map(start, (index) => ask(request, { index, retries: 0, failures: [] }))).pipe(
          Stream.tapError((error) => Effect.flatMap(Clock.currentTimeMillis, (at) => Ref.set(trouble, { at, error }))),
          Stream.onDone(() => Ref.set(trouble, null))
        )
    }
  })

const sameBackend = (a: ModelBackend, b: ModelBackend): boolean =>
  a.provider === b.provider && a.model === b.model && a.baseUrl === b.baseUrl

/** Fallbacks that are another backend than those before them. */
const distinct = (primary: ModelBackend, fallbacks: ReadonlyArray<ModelBackend>): ReadonlyArray<ModelBackend> =>
  fallbacks.filter(
    (fallback, index) =>
      !sameBackend(primary, fallback) && !fallbacks.slice(0, index).some((earlier) => sameBackend(earlier, fallback))
  )

const over = (
  limits: ModelLimits,
  settings: typeof Settings.Service,
  primary: ModelBackend,
  fallbacks: ReadonlyArray<ModelBackend>
) =>
  Effect.gen(function* () {
    const backend = (model: ModelBackend) => Backend.make({ backend: model, limits, timezone: settings.timezone })
    return yield* make(yield* backend(primary), yield* Effect.forEach(distinct(primary, fallbacks), backend), {
      maxRetries: settings.agent.apiMaxRetries
    })
  })

const fromSettings = (limits: ModelLimits) =>
  Effect.flatMap(Settings, (settings) => over(limits, settings, settings.model, settings.fallbacks))

/** The model of the settings, under other limits than the standard ones. */
export const layerWith = (limits: ModelLimits): Layer.Layer<ModelRoute, never, Settings | Backend.BackendNeeds> =>
  Layer.effect(ModelRoute, fromSettings(limits))

/** The model of the settings. */
export const layer: Layer.Layer<ModelRoute, never, Settings | Backend.BackendNeeds> = layerWith(standard)

/** Routes over any backends, for what is pinned to one. */
export const routes: Layer.Layer<ModelRoutes, never, Settings | Backend.BackendNeeds> = Layer.effect(
  ModelRoutes,
  Effect.gen(function* () {
    const settings = yield* Settings
    const context = yield* Effect.context<Backend.BackendNeeds>()
    return ModelRoutes.of({
      over: (primary, fallbacks) => Effect.provide(over(standard, settings, primary, fallbacks), context),
      missing: Backend.missing
    })
  })
)
