import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Schema } from "effect"
import { type ApprovalRow, ApprovalState, Scope } from "../approval/Approval.js"
import { Instant } from "../operation/Instant.js"
import { NotFound } from "./ApiError.js"
import { Authentication } from "./Caller.js"
import { Limit, PathText } from "./Parameters.js"

/** A question as `hermes approvals list` shows it (contract §2). */
export const ApprovalView = Schema.Struct({
  id: Schema.String,
  sessionKey: Schema.String,
  turnId: Schema.String,
  tool: Schema.String,
  subject: Schema.String,
  reasons: Schema.Array(Schema.String),
  state: ApprovalState,
  askedAt: Instant,
  expiresAt: Instant,
  answeredAt: Schema.NullOr(Instant),
  answer: Schema.NullOr(Schema.String),
  by: Schema.NullOr(Schema.String)
}).annotations({ identifier: "Approval" })
export type ApprovalView = typeof ApprovalView.Type

export const approvalView = (row: ApprovalRow): ApprovalView => ({
  id: row.id,
  sessionKey: row.sessionKey,
  turnId: row.turnId,
  tool: row.tool,
  subject: row.subject,
  reasons: row.reasons,
  state: row.state,
  askedAt: row.askedAt,
  expiresAt: row.expiresAt,
  answeredAt: row.answeredAt,
  answer: row.answer,
  by: row.by
})

export const Answer = Schema.Struct({
  approve: Schema.Boolean,
  scope: Schema.optionalWith(Scope, { exact: true }),
  reason: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null })
})

/** What the agent asks before it acts, and the owner's answers. */
export const ApprovalQuestions = HttpApiGroup.make("approvals")
  .add(
    HttpApiEndpoint.get("list", "/api/approvals")
      .setUrlParams(Schema.Struct({ state: Schema.optional(Schema.Literal("open")), limit: Limit(50, 500) }))
      .addSuccess(Schema.Array(ApprovalView))
      .annotate(OpenApi.Summary, "Questions, newest first; with `state=open` those that wait, oldest first")
  )
  .add(
    HttpApiEndpoint.post("answer", "/api/approvals/:id")
      .setPath(Schema.Struct({ id: PathText }))
      .setPayload(Answer)
      .addSuccess(ApprovalView)
      .addError(NotFound)
      .annotate(OpenApi.Summary, "Answers a question; refused to what was started inside a turn")
  )
  .add(
    HttpApiEndpoint.get("grants", "/api/approvals/grants")
      .addSuccess(Schema.Array(ApprovalView))
      .annotate(OpenApi.Summary, "Answers that cover later questions, newest first")
  )
  .add(
    HttpApiEndpoint.del("revoke", "/api/approvals/:id/grant")
      .setPath(Schema.Struct({ id: PathText }))
      .addSuccess(ApprovalView)
      .addError(NotFound)
      .annotate(OpenApi.Summary, "Takes such an answer back; refused to what was started inside a turn")
  )
  .middleware(Authentication)
