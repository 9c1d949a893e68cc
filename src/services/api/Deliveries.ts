import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { Schema } from "effect"
import { Story } from "../delivery/Explain.js"
import { MediaKind } from "../delivery/Media.js"
import type { Choice } from "../delivery/TargetResolver.js"
import { CauseKind, type DeliveryRow, DeliveryState, Via } from "../delivery/Outbox.js"
import { Instant } from "../operation/Instant.js"
import { BadGateway, Conflict, Forbidden, NotFound } from "./ApiError.js"
import { Authentication } from "./Caller.js"
import { Limit, PathText } from "./Parameters.js"

const text = Schema.NullOr(Schema.String)

/** A file of a message, and where its bytes are to be had. */
export const FileView = Schema.Struct({
  kind: MediaKind,
  name: Schema.String,
  mimeType: Schema.String,
  bytes: Schema.Int,
  url: Schema.String
}).annotations({ identifier: "File" })
export type FileView = typeof FileView.Type

export const fileViews = (row: DeliveryRow): ReadonlyArray<FileView> =>
  row.media.map(({ bytes, kind, mimeType, name }, index) => ({
    bytes,
    kind,
    mimeType,
    name,
    url: `/api/deliveries/${row.id}/files/${index}`
  }))

/** A delivery as `hermes deliveries list` shows it (contract §2). */
export const DeliveryView = Schema.Struct({
  id: Schema.String,
  cause: Schema.Struct({ kind: CauseKind, id: Schema.String }),
  platform: Schema.String,
  chatId: Schema.String,
  threadId: text,
  part: Schema.Int,
  parts: Schema.Int,
  text: Schema.String,
  files: Schema.Array(FileView),
  state: DeliveryState,
  via: Via,
  platformMessageId: text,
  attempts: Schema.Int,
  createdAt: Instant,
  settledAt: Schema.NullOr(Instant),
  /** Of one that waits: when it is tried again at the earliest. */
  nextAttemptAt: Schema.NullOr(Instant),
  reason: text,
  resendOf: text
}).annotations({ identifier: "Delivery" })
export type DeliveryView = typeof DeliveryView.Type

export const deliveryView = (row: DeliveryRow): DeliveryView => ({
  id: row.id,
  cause: row.cause,
  platform: row.address.platform,
  chatId: row.address.chatId,
  threadId: row.address.threadId,
  part: row.part,
  parts: row.parts,
  text: row.text,
  files: fileViews(row),
  state: row.state,
  via: row.via,
  platformMessageId: row.platformMessageId,
  attempts: row.attempts,
  createdAt: row.createdAt,
  settledAt: row.settledAt,
  nextAttemptAt: row.state === "pending" ? row.notBefore : null,
  reason: row.reason,
  resendOf: row.resendOf
})

/** A file that was kept; `id` goes into `files` of the message. */
export const Attached = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  mimeType: Schema.String
}).annotations({ identifier: "Attached" })

/** Whatever a file holds. */
const Bytes = HttpApiSchema.Uint8Array()

export const SendBody = Schema.Struct({ target: Schema.NonEmptyString, text: Schema.NonEmptyString })

/** What became of one message out: its first part, and all of them. `problem` says what went wrong, or with `ok` why it waits or which files stayed behind. */
export const SendResult = Schema.Struct({
  delivery: DeliveryView,
  deliveries: Schema.Array(DeliveryView),
  ok: Schema.Boolean,
  problem: text,
  /** Of what waits: why it does not leave by itself, and what to do about that. */
  obstacle: Schema.optional(text)
}).annotations({ identifier: "SendResult" })

export const TargetView = Schema.Struct({
  target: Schema.String,
  platform: Schema.String,
  chatId: Schema.String,
  threadId: text,
  name: text,
  home: Schema.Boolean
}).annotations({ identifier: "Target" })
export type TargetView = typeof TargetView.Type

/** A place that a person may pick, once it is one: a platform alone names none. */
export const targetViews = (choices: ReadonlyArray<Choice>): ReadonlyArray<TargetView> =>
  choices.flatMap(({ home, name, place, platform, target }) =>
    place === null ? [] : [{ target, platform, chatId: place.chatId, threadId: place.threadId, name, home }]
  )

/** The outbox, and messages out. */
export const Deliveries = HttpApiGroup.make("deliveries")
  .add(
    HttpApiEndpoint.get("list", "/api/deliveries")
      .annotate(OpenApi.Summary, "Messages out, newest first")
      .setUrlParams(Schema.Struct({ state: Schema.optional(DeliveryState), limit: Limit(50, 500) }))
      .addSuccess(Schema.Array(DeliveryView))
  )
  .add(
    HttpApiEndpoint.get("get", "/api/deliveries/:id")
      .annotate(OpenApi.Summary, "One message out")
      .setPath(Schema.Struct({ id: PathText }))
      .addSuccess(DeliveryView)
      .addError(NotFound)
  )
  .add(
    HttpApiEndpoint.post("retry", "/api/deliveries/:id/retry")
      .annotate(OpenApi.Summary, "Sends once more, as a new message, what failed or is in doubt; once each")
      .setPath(Schema.Struct({ id: PathText }))
      .addSuccess(SendResult)
      .addError(NotFound)
      .addError(Conflict)
      .addError(Forbidden)
  )
  .add(
    HttpApiEndpoint.get("file", "/api/deliveries/:id/files/:index")
      .annotate(OpenApi.Summary, "The bytes of a file of one message out")
      .setPath(
        Schema.Struct({ id: PathText, index: Schema.NumberFromString.pipe(Schema.int(), Schema.between(0, 99)) })
      )
      .addSuccess(Bytes)
      .addError(NotFound)
  )
  .add(
    HttpApiEndpoint.post("attach", "/api/files")
      .annotate(
        OpenApi.Summary,
        "Keeps a file, sent as the body, for a message of the page; answers what to name it by"
      )
      .setUrlParams(Schema.Struct({ name: Schema.NonEmptyString.pipe(Schema.maxLength(500)) }))
      .addSuccess(Attached)
  )
  .add(
    HttpApiEndpoint.get("attached", "/api/files/:platform/:name")
      .annotate(OpenApi.Summary, "The bytes of a file that came in with a message and is still kept")
      .setPath(Schema.Struct({ platform: Schema.String.pipe(Schema.pattern(/^[a-z_]+$/)), name: PathText }))
      .addSuccess(Bytes)
      .addError(NotFound)
  )
  .add(
    HttpApiEndpoint.get("explain", "/api/explain/:id")
      .setPath(Schema.Struct({ id: PathText }))
      .addSuccess(Story)
      .addError(NotFound)
      .annotate(OpenApi.Summary, "The story of a delivery, turn, run, approval or message, from its cause to its end")
  )
  .add(
    HttpApiEndpoint.post("send", "/api/send")
      .setPayload(SendBody)
      .addSuccess(SendResult)
      .addError(BadGateway)
      .annotate(OpenApi.Summary, "Sends one message to `platform` or `platform:chat[:thread]`")
  )
  .add(
    HttpApiEndpoint.get("targets", "/api/targets")
      .addSuccess(Schema.Array(TargetView))
      .annotate(OpenApi.Summary, "Home channels and the chats that this home has met")
  )
  .middleware(Authentication)
