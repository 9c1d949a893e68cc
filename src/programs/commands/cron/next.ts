/** `hermes cron next`: when a schedule comes, without a gateway, a job or a home. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Schema } from "effect"

const count = Options.integer("count").pipe(
  Options.withAlias("n"),
  Options.withSchema(
    Schema.Int.pipe(Schema.between(1, 1_000, { message: () => "--count is a number from 1 to 1000" }))
  ),
  Options.withDefault(5),
  Options.withDescription("How many (1 to 1000; default 5).")
)

const zone = Options.text("timezone").pipe(
  Options.withPseudoName("ZONE"),
  Options.withDescription("An IANA zone, such as Europe/Berlin; default the configured one."),
  Options.optional
)

const from = Options.text("from").pipe(
  Options.withPseudoName("TIME"),
  Options.withDescription("An ISO time to begin from; default now."),
  Options.optional
)

export const next = Command.make(
  "next",
  {
    count,
    zone,
    from,
    schedule: Args.text({ name: "SCHEDULE" }).pipe(
      Args.withDescription("30m, every 2h, every 1d at 09:00, weekdays at 9am, '0 9 * * 1-5', 2027-01-31T09:00."),
      Args.atLeast(1)
    )
  },
  // What reads a schedule and says it in words is loaded for this command alone.
  (asked) =>
    Effect.flatMap(
      Effect.promise(() => import("./upcoming.js")),
      ({ upcoming }) => upcoming(asked)
    )
).pipe(Command.withDescription("When a schedule comes next; stores nothing."))
