import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { Spending } from "../../services/agent/Spending.js"
import { Usage } from "../../services/agent/Usage.js"
import { Api } from "../../services/api/Api.js"
import { answered } from "./Failures.js"

export const layer = HttpApiBuilder.group(Api, "usage", (handlers) =>
  Effect.map(Effect.all([Usage, Spending]), ([usage, spending]) =>
    handlers.handle("report", ({ urlParams: { by, days, limit } }) =>
      answered(
        Effect.all({
          by: Effect.succeed(by),
          days: Effect.succeed(days),
          lines: usage.by(by, { days, limit }),
          limits: spending.limits
        })
      )
    )
  )
)
