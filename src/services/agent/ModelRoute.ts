import { Context, Effect, Schema, Stream } from "effect"
import type { Message } from "../session/Transcript.js"
import type { TokenUsage } from "./TokenUsage.js"

/** A tool as the model sees it; `parameters` is a JSON Schema. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: object
}

/** How hard a model thinks before it answers. A model that does not know a level is asked for the nearest below. */
export const ReasoningEffort = Schema.Literal("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")
export type ReasoningEffort = typeof ReasoningEffort.Type

export interface ModelRequest {
  readonly systemPrompt: string
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<ToolDefinition>
  /** Identifies the conversation for caches and for scripted and offline models. */
  readonly sessionKey: string
  /** Absent: as the model is set. Anthropic is not told: thinking there wants its own blocks back, which no transcript of ours has. */
  readonly effort?: ReasoningEffort
  /**
   * Run by a backend before anything of it leaves the process, and maybe again: what it is about is on the disk then. Absent:
   * it is there already.
   */
  readonly begins?: Effect.Effect<void>
  /** Told before each wait for a backend that failed and is asked again. */
  readonly waits?: (wait: ModelWait) => Effect.Effect<void>
  /** The pictures of its messages that this model is shown, by their path; put in where the backend is chosen. */
  readonly pictures?: ReadonlyMap<string, Shown>
}

/** A backend failed, and it or the whole chain is asked again after a while. */
export interface ModelWait {
  readonly backend: BackendName
  readonly error: ModelError
  readonly millis: number
}

/** A picture as a provider takes it. */
export interface Shown {
  readonly mimeType: "image/jpeg" | "image/png" | "image/gif" | "image/webp"
  readonly base64: string
}

/** What a model streams, undecoded: a tool call's arguments are text (decision 30). */
export type ModelPart =
  | { readonly _tag: "Text"; readonly delta: string }
  | { readonly _tag: "Reasoning"; readonly delta: string }
  /** All text of this answer so far was thought, as its end shows: it counts as reasoning, and is taken back where it was shown. */
  | { readonly _tag: "Unsaid" }
  | { readonly _tag: "ToolCall"; readonly id: string; readonly name: string; readonly arguments: string }
  | {
      readonly _tag: "Finish"
      readonly reason: string
      readonly usage: TokenUsage | null
      readonly backend: BackendName
    }

/** What is said of an answer, with its next part. */
export const saidWith = (text: string, part: ModelPart): string =>
  part._tag === "Text" ? text + part.delta : part._tag === "Unsaid" ? "" : text

/** The backend that spoke; the person is told when it is not the configured one (decision 33). */
export interface BackendName {
  readonly provider: string
  readonly model: string
}

export const ModelErrorReason = Schema.Literal(
  "auth",
  "auth_permanent",
  "billing",
  "rate_limit",
  "overloaded",
  "server_error",
  "timeout",
  "transport",
  "context_overflow",
  "payload_too_large",
  "model_not_found",
  "content_policy_blocked",
  "provider_policy_blocked",
  "format_error",
  "malformed_stream",
  "not_configured",
  "unknown"
)
export type ModelErrorReason = typeof ModelErrorReason.Type

/** The model could not answer; `reason` decides what the person is told and whether it is tried again (state-agent.md 3.7). */
export class ModelError extends Schema.TaggedError<ModelError>()("ModelError", {
  reason: ModelErrorReason,
  provider: Schema.String,
  detail: Schema.String,
  status: Schema.NullOr(Schema.Number),
  retryAfterMillis: Schema.NullOr(Schema.Number)
}) {
  override get message(): string {
    return `${this.provider}: ${this.reason}${this.status === null ? "" : ` (HTTP ${this.status})`}: ${this.detail}`
  }
}

/** Takes a part as it comes; the next one waits for it. */
export type Hear = (part: ModelPart) => Effect.Effect<void>

/** One provider at one address: a stream of parts, ending with `Finish` or failing. Silence is bounded by the backend. */
export interface ModelBackendService {
  readonly name: BackendName
  readonly contextWindow: number
  readonly stream: (request: ModelRequest) => Stream.Stream<ModelPart, ModelError>
  /** The same without a stream in between, which costs more than a short turn: for who only listens. */
  readonly speak?: (request: ModelRequest, hear: Hear) => Effect.Effect<void, ModelError>
}

/** The last call that failed in the end. */
export interface ModelTrouble {
  readonly at: number
  readonly error: ModelError
}

/** The model as the agent uses it: the configured backend, with retries and fallbacks behind. */
export class ModelRoute extends Context.Tag("hermes/agent/ModelRoute")<
  ModelRoute,
  {
    readonly primary: BackendName
    readonly contextWindow: number
    readonly stream: (request: ModelRequest) => Stream.Stream<ModelPart, ModelError>
    /** What is wrong with it; null when the last answer came whole, or nothing was asked yet. */
    readonly trouble: Effect.Effect<ModelTrouble | null>
    readonly speak?: (request: ModelRequest, hear: Hear) => Effect.Effect<void, ModelError>
    /**
     * The route of one turn: it begins with the configured backend and stays with the one that took over. Absent where
     * there is one backend only.
     */
    readonly ofTurn?: Effect.Effect<RouteOfTurn>
  }
>() {}

/** A route that knows who is asked next. */
export interface RouteOfTurn {
  readonly stream: (request: ModelRequest) => Stream.Stream<ModelPart, ModelError>
  readonly speak: (request: ModelRequest, hear: Hear) => Effect.Effect<void, ModelError>
  /** How many tokens the backend takes in that is asked next. */
  readonly contextWindow: Effect.Effect<number>
  /** Leaves the backend that says nothing of use for the next one; false where there is none. */
  readonly pass: Effect.Effect<boolean>
}

/** What `route` is for one turn. */
export const ofTurn = (route: typeof ModelRoute.Service): Effect.Effect<RouteOfTurn> =>
  route.ofTurn ??
  Effect.succeed({
    stream: route.stream,
    speak: (request, hear) => speak(route, request, hear),
    contextWindow: Effect.succeed(route.contextWindow),
    pass: Effect.succeed(false)
  })

/** Has a model answer, part by part, in the shortest way that it knows. */
export const speak = (
  model: Pick<ModelBackendService, "stream" | "speak">,
  request: ModelRequest,
  hear: Hear
): Effect.Effect<void, ModelError> =>
  model.speak === undefined ? Stream.runForEach(model.stream(request), hear) : model.speak(request, hear)
