import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Schema } from "effect"
import type { Limit } from "../../services/agent/Spending.js"
import { Grouping, type UsageLine } from "../../services/agent/Usage.js"
import { UsageReport } from "../../services/api/Usage.js"
import { Desk } from "../../services/operation/Desk.js"
import { desk } from "./desk.js"
import { limit } from "./options.js"
import { answer, moment, plain, table } from "./output.js"

const by = Options.choice("by", Grouping.literals).pipe(
  Options.withDefault("day" as const),
  Options.withDescription("What a line is for (default day).")
)
const days = Options.integer("days").pipe(
  Options.withSchema(Schema.Int.pipe(Schema.between(1, 3_650, { message: () => "--days is a number from 1 to 3650" }))),
  Options.withDefault(30),
  Options.withDescription("So many days back; today is 1 (1 to 3650; default 30).")
)

const count = (tokens: number): string => tokens.toLocaleString("en-US")
const dollars = (usd: number): string => `$${usd.toFixed(usd < 1 ? 4 : 2)}`

const rowOf = (line: UsageLine): ReadonlyArray<string> => [
  line.name === null ? line.key : `${plain(line.name)} (${line.key})`,
  count(line.calls),
  count(line.inputTokens),
  count(line.outputTokens),
  count(line.cacheReadTokens),
  line.unpricedCalls === 0
    ? dollars(line.costUsd)
    : line.costUsd === 0
      ? "unknown"
      : `${dollars(line.costUsd)} and more`
]

const limitLine = ({ liftsAt, limit, name, reached, used }: Limit): string => {
  const said = name === "limits.daily_tokens" ? count : dollars
  return reached
    ? `${name}: all of ${said(limit)} is used; nothing new begins until ${moment(liftsAt)}.`
    : `${name}: ${said(used)} of ${said(limit)} used today, ${said(limit - used)} left.`
}

const lines = (report: UsageReport): ReadonlyArray<string> => [
  ...table(
    [report.by, "calls", "tokens in", "tokens out", "of them cached", "cost"],
    report.lines.map(rowOf),
    "Nothing was used."
  ),
  ...(report.lines.some((line) => line.unpricedCalls > 0)
    ? ["", "Where a model's price is not known it is not counted: `prices` in config.yaml names it."]
    : []),
  "",
  ...(report.limits.length === 0
    ? ["No limit is set: limits.daily_usd, limits.daily_tokens and limits.per_job_usd in config.yaml set one."]
    : report.limits.map(limitLine))
]

export const command = Command.make("usage", { by, days, limit: limit(100, 1_000) }, (options) =>
  Effect.gen(function* () {
    const { usage } = yield* Desk
    yield* answer(UsageReport, yield* usage(options), lines)
  })
).pipe(
  Command.withDescription("Tokens and estimated cost by day, session, job or model, and what is left of the limits."),
  Command.provide(desk)
)
