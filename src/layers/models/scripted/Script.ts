/**
 * What a scripted model says, step by step: answers, tool calls, errors, silence, slowness. For tests, benches and the
 * provider `scripted`.
 */
import { Chunk, type Duration, Effect, Schedule, Stream } from "effect"
import {
  type BackendName,
  type Hear,
  ModelError,
  type ModelErrorReason,
  type ModelPart,
  type ModelRequest
} from "../../../services/agent/ModelRoute.js"
import type { TokenUsage } from "../../../services/agent/TokenUsage.js"

/** A part as a script writes it: an id is made for a call without one, arguments may be a value. */
export type ScriptedPart =
  | { readonly _tag: "Text"; readonly delta: string }
  | { readonly _tag: "Reasoning"; readonly delta: string }
  | { readonly _tag: "Unsaid" }
  | { readonly _tag: "ToolCall"; readonly id?: string; readonly name: string; readonly arguments: unknown }
  | {
      readonly _tag: "Finish"
      readonly reason: string
      readonly usage?: TokenUsage | null
      /** Who answered in place of whom it was asked of, as a fallback does. */
      readonly backend?: BackendName
    }

export type Step =
  | {
      readonly _tag: "Parts"
      readonly parts: ReadonlyArray<ScriptedPart>
      /** The time from one part to the next. */
      readonly every: Duration.DurationInput | null
      /** What comes after the parts; an answer that ends has a `Finish`, made when the script has none. */
      readonly then: "finish" | "hang" | ModelError
    }
  | { readonly _tag: "Delay"; readonly duration: Duration.DurationInput; readonly step: StepInput }
  | { readonly _tag: "Effect"; readonly effect: Effect.Effect<StepInput> }

/** A text is said; a function is asked with the request. */
export type StepInput = Step | string | ((request: ModelRequest) => StepInput)

export const parts = (parts: ReadonlyArray<ScriptedPart>, every: Duration.DurationInput | null = null): Step => ({
  _tag: "Parts",
  parts,
  every,
  then: "finish"
})

/** Says the texts as one answer, a delta each. */
export const say = (...deltas: ReadonlyArray<string>): Step => parts(deltas.map((delta) => ({ _tag: "Text", delta })))

/** As {@link say}, with `every` between two deltas. */
export const saySlowly = (every: Duration.DurationInput, ...deltas: ReadonlyArray<string>): Step =>
  parts(
    deltas.map((delta) => ({ _tag: "Text", delta })),
    every
  )

/** Calls one tool. Arguments that are a text are sent as they are, also when they are no JSON. */
export const call = (name: string, args: unknown = {}, id?: string): Step =>
  calls([{ name, arguments: args, ...(id === undefined ? {} : { id }) }])

/** Calls several tools in one answer. */
export const calls = (
  list: ReadonlyArray<{ readonly name: string; readonly arguments?: unknown; readonly id?: string }>,
  text = ""
): Step =>
  parts([
    ...(text === "" ? [] : [{ _tag: "Text", delta: text } as const]),
    ...list.map(({ arguments: args = {}, ...rest }) => ({ _tag: "ToolCall", arguments: args, ...rest }) as const)
  ])

/** Fails, after `said`. */
export const fail = (error: ModelErrorReason | ModelError, said: ReadonlyArray<ScriptedPart> = []): Step => ({
  _tag: "Parts",
  parts: said,
  every: null,
  then:
    typeof error === "string"
      ? new ModelError({
          reason: error,
          provider: "scripted",
          detail: "the script says so",
          status: null,
          retryAfterMillis: null
        })
      : error
})

/** Never answers, after `said`. */
export const hang = (said: ReadonlyArray<ScriptedPart> = []): Step => ({
  _tag: "Parts",
  parts: said,
  every: null,
  then: "hang"
})

export const delay = (duration: Duration.DurationInput, step: StepInput): Step => ({ _tag: "Delay", duration, step })

/** Runs an effect of the test (a latch, say) before it answers. */
export const effect = (effect: Effect.Effect<StepInput>): Step => ({ _tag: "Effect", effect })

const callsSoFar = (request: ModelRequest): number =>
  request.messages.reduce((sum, message) => sum + (message._tag === "assistant" ? message.toolCalls.length : 0), 0)

/** Parts with ids, argument texts and a Finish: ids count the conversation's calls, so that the same script makes the same ids. */
const complete = (
  script: ReadonlyArray<ScriptedPart>,
  request: ModelRequest,
  backend: BackendName,
  finishes: boolean
): ReadonlyArray<ModelPart> => {
  let calls = 0
  let finished = false
  const before = callsSoFar(request)
  const spoken = script.map((part): ModelPart => {
    switch (part._tag) {
      case "ToolCall":
        calls += 1
        return {
          _tag: "ToolCall",
          id: part.id ?? `call_${before + calls}`,
          name: part.name,
          arguments: typeof part.arguments === "string" ? part.arguments : JSON.stringify(part.arguments)
        }
      case "Finish":
        finished = true
        return { _tag: "Finish", reason: part.reason, usage: part.usage ?? null, backend: part.backend ?? backend }
      default:
        return part
    }
  })
  return finished || !finishes
    ? spoken
    : [...spoken, { _tag: "Finish", reason: calls > 0 ? "tool_calls" : "stop", usage: null, backend }]
}

/** Says a step, without a stream where it says all at once. */
export const speak = (
  input: StepInput,
  request: ModelRequest,
  backend: BackendName,
  hear: Hear
): Effect.Effect<void, ModelError> => {
  if (typeof input === "function") return Effect.suspend(() => speak(input(request), request, backend, hear))
  const step = typeof input === "string" ? say(input) : input
  return step._tag === "Parts" && step.every === null && step.then === "finish"
    ? Effect.forEach(complete(step.parts, request, backend, true), hear, { discard: true })
    : Stream.runForEach(stream(step, request, backend), hear)
}

/** What a step says to a request. */
export const stream = (
  input: StepInput,
  request: ModelRequest,
  backend: BackendName
): Stream.Stream<ModelPart, ModelError> => {
  if (typeof input === "string") return stream(say(input), request, backend)
  if (typeof input === "function") return Stream.suspend(() => stream(input(request), request, backend))
  switch (input._tag) {
    case "Delay":
      return Stream.unwrap(Effect.as(Effect.sleep(input.duration), stream(input.step, request, backend)))
    case "Effect":
      return Stream.unwrap(Effect.map(input.effect, (step) => stream(step, request, backend)))
    case "Parts": {
      const whole = complete(input.parts, request, backend, input.then === "finish")
      const said =
        input.every === null
          ? Stream.fromChunk(Chunk.unsafeFromArray(whole))
          : Stream.schedule(Stream.rechunk(Stream.fromIterable(whole), 1), Schedule.spaced(input.every))
      if (input.then === "finish") return said
      return Stream.concat(said, input.then === "hang" ? Stream.never : Stream.fail(input.then))
    }
  }
}
