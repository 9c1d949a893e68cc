/** A model that says what a test tells it, in place of a real one. */
import { Context, Effect, Layer, Ref, Stream } from "effect"
import * as Backend from "../layers/models/scripted/Backend.js"
import type { StepInput } from "../layers/models/scripted/Script.js"
import {
  type BackendName,
  type ModelBackendService,
  ModelError,
  type ModelPart,
  type ModelRequest,
  ModelRoute,
  speak
} from "../services/agent/ModelRoute.js"
import { ModelRoutes } from "../services/agent/ModelRoutes.js"

export {
  call,
  calls,
  delay,
  effect,
  fail,
  hang,
  parts,
  say,
  saySlowly,
  type ScriptedPart,
  type Step,
  type StepInput
} from "../layers/models/scripted/Script.js"

/** What the scripted model was asked. */
export class ScriptedModel extends Context.Tag("hermes/testing/ScriptedModel")<
  ScriptedModel,
  { readonly requests: Effect.Effect<ReadonlyArray<ModelRequest>> }
>() {}

const window = 200_000

export interface ScriptedModelOptions {
  /** Requests that `requests` keeps, the newest; all when left out. */
  readonly remember?: number
}

interface Asked {
  readonly count: number
  readonly requests: ReadonlyArray<ModelRequest>
}

/** A backend that gives the steps in order, whoever asks; one function answers every request. It fails when the steps are used up. */
export const scriptedBackend = (
  steps: ReadonlyArray<StepInput> | ((request: ModelRequest) => StepInput),
  name = { provider: "scripted", model: "script" },
  { remember = Number.POSITIVE_INFINITY }: ScriptedModelOptions = {}
): Effect.Effect<ModelBackendService & { readonly requests: Effect.Effect<ReadonlyArray<ModelRequest>> }> =>
  Effect.map(Ref.make<Asked>({ count: 0, requests: [] }), (asked) => ({
    ...Backend.make(name, window, (request) =>
      Effect.flatMap(
        Ref.modify(asked, ({ count, requests }) => [
          count,
          { count: count + 1, requests: [...requests, request].slice(-remember) }
        ]),
        (index): Effect.Effect<StepInput, ModelError> => {
          const step = typeof steps === "function" ? steps : steps[index]
          return step === undefined
            ? Effect.fail(
                new ModelError({
                  reason: "format_error",
                  provider: name.provider,
                  detail: `the script has ${steps.length} steps and was asked for number ${index + 1}`,
                  status: null,
                  retryAfterMillis: null
                })
              )
            : Effect.succeed(step)
        }
      )
    ),
    requests: Effect.map(Ref.get(asked), ({ requests }) => requests)
  }))

const routeTo = (backend: ModelBackendService): typeof ModelRoute.Service => ({
  primary: backend.name,
  contextWindow: backend.contextWindow,
  stream: backend.stream,
  speak: (request, hear) => speak(backend, request, hear),
  trouble: Effect.succeed(null)
})

/** A route whose answers are signed by `primary`, as those of a backend that was asked for are. */
const inNameOf = (backend: ModelBackendService, primary: BackendName): typeof ModelRoute.Service => {
  const { model, provider } = backend.name
  const signed = (part: ModelPart): ModelPart =>
    part._tag === "Finish" && part.backend.provider === provider && part.backend.model === model
      ? { ...part, backend: primary }
      : part
  return {
    ...routeTo(backend),
    primary,
    stream: (request) => Stream.map(backend.stream(request), signed),
    speak: (request, hear) => speak(backend, request, (part) => hear(signed(part)))
  }
}

/** The model of a program under test, with a record of what it was asked. */
export const scriptedModel = (
  steps: ReadonlyArray<StepInput> | ((request: ModelRequest) => StepInput),
  options: ScriptedModelOptions = {}
): Layer.Layer<ModelRoute | ModelRoutes | ScriptedModel> =>
  Layer.effectContext(
    Effect.map(scriptedBackend(steps, undefined, options), (backend) => {
      return Context.make(ModelRoute, routeTo(backend)).pipe(
        Context.add(ModelRoutes, {
          // Whatever a job is pinned to, the script speaks for it.
          over: ({ model, provider }) => Effect.succeed(inNameOf(backend, { provider, model })),
          missing: () => null
        }),
        Context.add(ScriptedModel, { requests: backend.requests })
      )
    })
  )
