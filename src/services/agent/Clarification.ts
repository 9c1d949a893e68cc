/** A question of the agent's own, with choices (gateway.md 8.3, state-agent.md 3.4). */
import { Context, type Effect, Schema } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import type { NothingToAnswer } from "../approval/Approval.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"
import { Millis } from "../operation/Instant.js"

export const ClarificationState = Schema.Literal("open", "answered", "expired", "cancelled")
export type ClarificationState = typeof ClarificationState.Type

export class ClarificationRow extends Schema.Class<ClarificationRow>("hermes/agent/ClarificationRow")({
  id: Schema.String,
  sessionKey: Schema.String,
  turnId: Schema.String,
  callId: Schema.String,
  question: Schema.String,
  choices: Schema.Array(Schema.String),
  /** May several of them be named? */
  several: Schema.Boolean,
  state: ClarificationState,
  askedAt: Millis,
  expiresAt: Millis,
  answer: Schema.NullOr(Schema.String),
  by: Schema.NullOr(Schema.String)
}) {}

export interface Asked {
  readonly callId: string
  readonly question: string
  readonly choices: ReadonlyArray<string>
  readonly several: boolean
}

/** Nobody can be asked here, or could be told. */
export class NobodyToAsk extends Schema.TaggedError<NobodyToAsk>()("NobodyToAsk", { reason: Schema.String }) {
  override get message(): string {
    return this.reason
  }
}

/** Questions as rows: asked once, answered once, and still open after a restart. */
export class ClarificationStore extends Context.Tag("hermes/agent/ClarificationStore")<
  ClarificationStore,
  {
    readonly insert: (row: ClarificationRow) => Step<void>
    /** False when it was settled already. */
    readonly settle: (
      id: string,
      outcome: {
        readonly state: Exclude<ClarificationState, "open">
        readonly answer: string | null
        readonly by: string | null
      }
    ) => Step<boolean>
    readonly get: (id: string) => Effect.Effect<ClarificationRow | null, StateError>
    /** The newest question of one tool call. */
    readonly ofCall: (turnId: string, callId: string) => Effect.Effect<ClarificationRow | null, StateError>
  }
>() {}

export class Clarifications extends Context.Tag("hermes/agent/Clarifications")<
  Clarifications,
  {
    /** Asks in the conversation of the turn and waits; null when nobody answered in time. */
    readonly ask: (asked: Asked) => Effect.Effect<string | null, NobodyToAsk | StateError, CurrentTurn>
    /** Takes a message of a conversation as the answer to what is being asked there; false when nothing is. */
    readonly answer: (sessionKey: string, text: string, by: string) => Effect.Effect<boolean, StateError>
    /** Takes a pressed button; only of the conversation that was asked. */
    readonly press: (sessionKey: string, id: string, choice: number, by: string) => Effect.Effect<boolean, StateError>
    /** What waits for an answer now, in every conversation, oldest first. */
    readonly open: Effect.Effect<ReadonlyArray<ClarificationRow>>
    /** The owner's answer to one of them by its id, wherever it was asked; the row as it is then. */
    readonly reply: (
      id: string,
      text: string,
      by: string
    ) => Effect.Effect<ClarificationRow, NothingToAnswer | StateError>
  }
>() {}

/** What a text means: the choices it names by number or by word, else itself. */
export const meant = (text: string, choices: ReadonlyArray<string>, several: boolean): string => {
  const said = text.trim()
  const parts = several ? said.split(/[\s,;]+(?:and\s+)?/).filter((part) => part !== "") : [said]
  const named = parts.map((part) => {
    const number = /^[#(]?(\d{1,2})[.)]?$/.exec(part)?.[1]
    if (number !== undefined) return choices[Number(number) - 1]
    return choices.find((choice) => choice.toLowerCase() === part.toLowerCase())
  })
  const whole = choices.find((choice) => choice.toLowerCase() === said.toLowerCase())
  if (whole !== undefined) return whole
  return named.length > 0 && named.every((choice) => choice !== undefined) ? [...new Set(named)].join(", ") : said
}
