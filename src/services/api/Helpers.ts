import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Schema } from "effect"
import { DelegateStatus, Role, type RunningDelegate } from "../delegation/Delegation.js"
import type { PastDelegation } from "../delegation/DelegationStore.js"
import { Instant } from "../operation/Instant.js"
import { NotFound } from "./ApiError.js"
import { Authentication } from "./Caller.js"
import { Limit, PathText } from "./Parameters.js"

/** A helper at work; those with its `turnId` as `parentTurnId` are its own. */
export const HelperView = Schema.Struct({
  id: Schema.String,
  goal: Schema.String,
  turnId: Schema.String,
  parentTurnId: Schema.String,
  /** The conversation that it works for; empty for a scheduled run's. */
  sessionKey: Schema.String,
  role: Role,
  depth: Schema.Int,
  background: Schema.Boolean,
  startedAt: Instant,
  doing: Schema.String,
  lastAt: Instant
}).annotations({ identifier: "Helper" })
export type HelperView = typeof HelperView.Type

export const helperView = ({ delegationId, lastDoing, ...helper }: RunningDelegate): HelperView => ({
  ...helper,
  id: delegationId,
  doing: lastDoing
})

/** A helper that a conversation had, or has; what it did is the transcript of its `sessionId`. */
export const PastHelperView = Schema.Struct({
  id: Schema.String,
  goal: Schema.String,
  turnId: Schema.String,
  sessionId: Schema.String,
  parentTurnId: Schema.String,
  /** The call that it was set to work by. */
  callId: Schema.String,
  background: Schema.Boolean,
  startedAt: Instant,
  /** How it ended; null while it works. */
  status: Schema.NullOr(DelegateStatus)
}).annotations({ identifier: "PastHelper" })
export type PastHelperView = typeof PastHelperView.Type

export const pastHelperView = ({ childSessionId, childTurnId, ...helper }: PastDelegation): PastHelperView => ({
  ...helper,
  turnId: childTurnId,
  sessionId: childSessionId
})

/** Helpers of the agent at work. */
export const HelpersAtWork = HttpApiGroup.make("helpers")
  .add(
    HttpApiEndpoint.get("list", "/api/helpers")
      .addSuccess(Schema.Array(HelperView))
      .annotate(OpenApi.Summary, "Helpers at work, oldest first, as a flat tree")
  )
  .add(
    HttpApiEndpoint.get("ofSession", "/api/sessions/:id/helpers")
      .setPath(Schema.Struct({ id: PathText }))
      .setUrlParams(Schema.Struct({ limit: Limit(100, 1_000) }))
      .addSuccess(Schema.Array(PastHelperView))
      .annotate(OpenApi.Summary, "The newest helpers of a conversation, ended or at work, with theirs; oldest first")
  )
  .add(
    HttpApiEndpoint.post("stop", "/api/helpers/:id/stop")
      .setPath(Schema.Struct({ id: PathText }))
      .addSuccess(HelperView)
      .addError(NotFound)
      .annotate(OpenApi.Summary, "Ends a helper and its own; refused to what was started inside a turn")
  )
  .middleware(Authentication)
