import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Schema } from "effect"
import { type ClarificationRow, ClarificationState } from "../agent/Clarification.js"
import { Instant } from "../operation/Instant.js"
import { NotFound } from "./ApiError.js"
import { Authentication } from "./Caller.js"
import { PathText } from "./Parameters.js"

/** A question of the agent's own (gateway.md 8.3), with its choices; `several` of them may be taken where it says so. */
export const ClarificationView = Schema.Struct({
  id: Schema.String,
  sessionKey: Schema.String,
  turnId: Schema.String,
  question: Schema.String,
  choices: Schema.Array(Schema.String),
  several: Schema.Boolean,
  state: ClarificationState,
  askedAt: Instant,
  expiresAt: Instant,
  answer: Schema.NullOr(Schema.String),
  by: Schema.NullOr(Schema.String)
}).annotations({ identifier: "Clarification" })
export type ClarificationView = typeof ClarificationView.Type

/** The row without what only the tool call needs. */
export const clarificationView = ({ callId: _, ...row }: ClarificationRow): ClarificationView => row

export const Reply = Schema.Struct({
  answer: Schema.NonEmptyTrimmedString.pipe(Schema.maxLength(4_000)).annotations({
    description: "A choice by its number or its words, several of them with commas between, or words of one's own."
  })
})

/** What the agent asks in the middle of its work, and the owner's answers. */
export const ClarifyingQuestions = HttpApiGroup.make("clarifications")
  .add(
    HttpApiEndpoint.get("list", "/api/clarifications")
      .addSuccess(Schema.Array(ClarificationView))
      .annotate(OpenApi.Summary, "What the agent asks in the middle of its work and waits for, oldest first")
  )
  .add(
    HttpApiEndpoint.post("reply", "/api/clarifications/:id")
      .setPath(Schema.Struct({ id: PathText }))
      .setPayload(Reply)
      .addSuccess(ClarificationView)
      .addError(NotFound)
      .annotate(OpenApi.Summary, "Answers such a question; refused to what was started inside a turn")
  )
  .middleware(Authentication)
