import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Schema } from "effect"
import { Limit as SpendingLimit } from "../agent/Spending.js"
import { Grouping, UsageLine } from "../agent/Usage.js"
import { Authentication } from "./Caller.js"
import { Limit } from "./Parameters.js"

/** What `hermes usage` shows: figures by what was asked, and what is left of the limits. */
export const UsageReport = Schema.Struct({
  by: Grouping,
  days: Schema.Int,
  lines: Schema.Array(UsageLine),
  limits: Schema.Array(SpendingLimit)
}).annotations({ identifier: "UsageReport" })
export type UsageReport = typeof UsageReport.Type

/** Tokens and cost (contract §4). */
export const UsageFigures = HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("report", "/api/usage")
      .setUrlParams(
        Schema.Struct({
          by: Schema.optionalWith(Grouping, { default: () => "day" }),
          days: Limit(30, 3_650),
          limit: Limit(100, 1_000)
        })
      )
      .addSuccess(UsageReport)
      .annotate(
        OpenApi.Summary,
        "Tokens and estimated cost by day, session, job or model, and what is left of the limits"
      )
  )
  .middleware(Authentication)
