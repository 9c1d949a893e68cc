import { Clock, Effect, Layer } from "effect"
import { describe, type Limit, Spending } from "../../services/agent/Spending.js"
import * as Price from "../../services/agent/Price.js"
import { type Spent, Usage } from "../../services/agent/Usage.js"
import { Settings } from "../../services/operation/Settings.js"
import * as Schedule from "../../services/schedule/Schedule.js"
import { localTime } from "../../services/schedule/LocalTime.js"

/** The limits of the settings over what was used today. */
export const layer: Layer.Layer<Spending, never, Settings | Usage> = Layer.effect(
  Spending,
  Effect.gen(function* () {
    const { limits, prices, timezone } = yield* Settings
    const usage = yield* Usage

    const midnight: Schedule.Schedule = { kind: "cron", expression: "0 0 * * *", timezone, ownZone: false }

    const used = (job: string | null, open: ReadonlyArray<Spent>) =>
      Effect.map(usage.today(job), ({ costUsd, tokens }) => ({
        tokens: tokens + open.reduce((sum, spent) => sum + spent.tokens.inputTokens + spent.tokens.outputTokens, 0),
        costUsd: costUsd + open.reduce((sum, spent) => sum + (Price.costOf(spent, spent.tokens, prices) ?? 0), 0)
      }))

    const limitOf = (name: Limit["name"], limit: number | null, spent: number) =>
      Effect.map(Clock.currentTimeMillis, (now): ReadonlyArray<Limit> =>
        limit === null
          ? []
          : [{ name, limit, used: spent, reached: spent >= limit, liftsAt: Schedule.next(midnight, now) ?? now }]
      )

    const daily = Effect.fnUntraced(function* (open: ReadonlyArray<Spent>) {
      if (limits.dailyUsd === null && limits.dailyTokens === null) return []
      const { costUsd, tokens } = yield* used(null, open)
      return [
        ...(yield* limitOf("limits.daily_usd", limits.dailyUsd, costUsd)),
        ...(yield* limitOf("limits.daily_tokens", limits.dailyTokens, tokens))
      ]
    })

    const ofJob = (job: string | null, open: ReadonlyArray<Spent>) =>
      job === null || limits.perJobUsd === null
        ? Effect.succeed<ReadonlyArray<Limit>>([])
        : Effect.flatMap(used(job, open), ({ costUsd }) => limitOf("limits.per_job_usd", limits.perJobUsd, costUsd))

    return Spending.of({
      reached: Effect.fnUntraced(function* (job, open) {
        const all = [...(yield* daily(open)), ...(yield* ofJob(job, open))]
        return all.find((limit) => limit.reached) ?? null
      }),
      limits: daily([]),
      words: (limit) => describe(limit, localTime(limit.liftsAt, timezone))
    })
  })
)
