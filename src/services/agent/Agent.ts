import { Context, type Effect, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import type { Session } from "../session/Session.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import type { ModelError, ModelRoute, ModelWait, ReasoningEffort } from "./ModelRoute.js"
import type { TokenUsage } from "./TokenUsage.js"

/** Rows that could not be stored: the turn stopped before its next side effect (state-agent.md 3.4). */
export class PersistenceFailed extends Schema.TaggedError<PersistenceFailed>()("PersistenceFailed", {
  detail: Schema.String
}) {
  override get message(): string {
    return `this turn could not be stored and was stopped: ${this.detail}`
  }
}

/** What was said before cannot be read, so nothing was begun: an answer without it would be somebody else's. Run `hermes doctor`. */
export class HistoryUnreadable extends Schema.TaggedError<HistoryUnreadable>()("HistoryUnreadable", {
  detail: Schema.String
}) {
  override get message(): string {
    return `the conversation so far cannot be read (${this.detail}); run \`hermes doctor\``
  }
}

export type AgentError = ModelError | HistoryUnreadable | PersistenceFailed | StateError

/** Steering text, and the step that settles its events in the transaction that stores it. */
export interface Steer {
  readonly text: string
  readonly taken: Step<void>
  /** Run once it is stored. */
  readonly told: Effect.Effect<void>
}

/** Where the answer is heard while it grows. */
export interface Speech {
  /** The whole text so far. */
  readonly update: (text: string) => Effect.Effect<void>
  /** The text so far was not the answer: tools follow, or it is tried again. */
  readonly segment: Effect.Effect<void>
}

export interface AgentTask {
  readonly session: Session
  /** The session key that whoever dispatched the turn was given; another one bound to the fiber is warned about (gateway.md 1.13). */
  readonly sessionKey: string
  /** Text that a person sent while the turn runs, to be added to a batch's last tool result; null when there is none (state-agent.md 3.11). */
  readonly takeSteer: Effect.Effect<Steer | null>
  readonly speech: Speech
  /** Run before anything comes of the turn, and maybe again: what it is to answer is on the disk then. What is read for it is read before. */
  readonly begins?: Effect.Effect<void>
  /** Told before each wait for a model that failed and is asked again. */
  readonly waits?: (wait: ModelWait) => Effect.Effect<void>
  /** The place of the turn's first row in its transcript; absent where it is not known. */
  readonly since?: number
  readonly maxTurns: number
  /** Asked instead of the configured model: what a job is pinned to. */
  readonly route?: typeof ModelRoute.Service
  /** How hard it thinks; absent: as the model is set. */
  readonly effort?: ReasoningEffort
  /** Said in the system prompt: goal and workspace of a delegate, extra instructions of an API request. */
  readonly instructions: string | null
}

export type AgentExit =
  | "answered"
  /** The budget was used up; the text is a summary made without tools. */
  | "budget"
  | "empty"
  | "truncated"
  /** Whoever runs the model kept back the rest of it, or all but words of refusal. */
  | "content_filter"

export interface AgentAnswer {
  readonly text: string
  readonly exit: AgentExit
  readonly usage: TokenUsage
  readonly modelCalls: number
  /** Did any tool act? Decides between "not processed" and "may be partly done" (gateway.md 3.6). */
  readonly acted: boolean
  /** The backend that the answer is of, where that is another than the configured one. */
  readonly spokenBy: string | null
  /** Belongs into the transaction that stores the answer: the pinned prompt and what this turn used. */
  readonly bookkeeping: Step<void>
}

/** The loop: model, tools, model, until an answer. Store first, act after; it goes on from whatever the transcript holds. */
export class Agent extends Context.Tag("hermes/agent/Agent")<
  Agent,
  {
    /** Everything but the final answer's row is stored when this returns; the caller stores that together with its delivery. */
    readonly run: (task: AgentTask) => Effect.Effect<AgentAnswer, AgentError, CurrentTurn>
  }
>() {}
