import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { Schema } from "effect"
import { GatewayStatus, HealthBrief, HealthDetail, WorkCounts } from "../operation/Health.js"
import { Instant } from "../operation/Instant.js"
import { Authentication } from "./Caller.js"
import { answersWithEvents } from "./EventStream.js"
import { Paused } from "../operation/Pause.js"

/** Is it alive? The one question that needs no key. */
export const Liveness = HttpApiGroup.make("liveness").add(
  HttpApiEndpoint.get("health", "/health").addSuccess(HealthBrief).annotate(OpenApi.Summary, "Alive; needs no key")
)

const Reason = Schema.NonEmptyString.pipe(Schema.maxLength(500))

const prometheus = HttpApiSchema.Text({ contentType: "text/plain; version=0.0.4; charset=utf-8" })
const events = HttpApiSchema.Text({ contentType: "text/event-stream" })

/** How the gateway is, what it does and what happens in it. */
export const Operation = HttpApiGroup.make("operation")
  .add(
    HttpApiEndpoint.get("detail", "/health/detailed")
      .annotate(OpenApi.Summary, "Work, platforms, model, memory and conversations of this moment")
      .addSuccess(HealthDetail)
  )
  .add(
    HttpApiEndpoint.get("metrics", "/metrics")
      .addSuccess(prometheus)
      .annotate(OpenApi.Summary, "Figures for Prometheus")
  )
  .add(
    HttpApiEndpoint.get("status", "/api/status")
      .annotate(OpenApi.Summary, "What `hermes status` shows")
      .addSuccess(GatewayStatus)
  )
  .add(
    HttpApiEndpoint.post("pause", "/api/pause")
      .setPayload(Schema.Struct({ reason: Schema.optionalWith(Schema.NullOr(Reason), { default: () => null }) }))
      .addSuccess(Paused)
      .annotate(OpenApi.Summary, "Begins nothing new: no turns, no scheduled runs; what runs goes on")
  )
  .add(
    HttpApiEndpoint.post("unpause", "/api/unpause")
      .addSuccess(Schema.Struct({ lifted: Schema.Boolean }))
      .annotate(OpenApi.Summary, "Begins again; refused to what was started inside a turn")
  )
  .add(
    HttpApiEndpoint.post("restart", "/api/restart")
      .addSuccess(Schema.Struct({ running: WorkCounts }))
      .annotate(
        OpenApi.Summary,
        "Ends the process with code 75 when what runs has ended; refused to what was started inside a turn"
      )
  )
  .add(
    HttpApiEndpoint.get("events", "/api/events")
      .setUrlParams(Schema.Struct({ session: Schema.optional(Schema.String) }))
      .addSuccess(events)
      .annotateContext(
        answersWithEvents(
          "Everything that happens, as it happens",
          "One `ActivityEvent` as JSON per `data:` line, a comment every 15 seconds. `session` leaves only the events " +
            "of one session. What happened before is not told again."
        )
      )
  )
  .add(
    HttpApiEndpoint.post("exchange", "/api/session/exchange")
      .addSuccess(Schema.Struct({ expiresAt: Instant }))
      .annotate(OpenApi.Summary, "Exchanges the key for the page's HttpOnly cookie")
  )
  .middleware(Authentication)
