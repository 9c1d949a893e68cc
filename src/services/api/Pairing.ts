import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Schema } from "effect"
import { Instant } from "../operation/Instant.js"
import { Authentication } from "./Caller.js"

const name = Schema.NullOr(Schema.String)

export const PairingRequestView = Schema.Struct({
  platform: Schema.String,
  userId: Schema.String,
  userName: name,
  requestedAt: Instant,
  expiresAt: Instant
}).annotations({ identifier: "PairingRequest" })

export const PairedUserView = Schema.Struct({
  platform: Schema.String,
  userId: Schema.String,
  userName: name,
  approvedAt: Instant
}).annotations({ identifier: "PairedUser" })

/** Strangers who may write to the agent, by a code that they were shown. */
export const PairingCodes = HttpApiGroup.make("pairing")
  .add(
    HttpApiEndpoint.get("list", "/api/pairing")
      .annotate(OpenApi.Summary, "Who waits to be let in, and who was")
      .addSuccess(Schema.Struct({ pending: Schema.Array(PairingRequestView), paired: Schema.Array(PairedUserView) }))
  )
  .add(
    HttpApiEndpoint.post("approve", "/api/pairing/approve")
      .setPayload(Schema.Struct({ platform: Schema.NonEmptyString, code: Schema.NonEmptyString }))
      .addSuccess(PairedUserView)
      .annotate(OpenApi.Summary, "Lets a stranger in; refused to what was started inside a turn")
  )
  .add(
    HttpApiEndpoint.post("revoke", "/api/pairing/revoke")
      .annotate(OpenApi.Summary, "Shuts somebody out who was let in")
      .setPayload(Schema.Struct({ platform: Schema.NonEmptyString, userId: Schema.NonEmptyString }))
      .addSuccess(Schema.Struct({ revoked: Schema.Boolean }))
  )
  .middleware(Authentication)
