/** `hermes cron next`: when a schedule comes, without a gateway, a job or a home. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as FileSystem from "@effect/platform/FileSystem"
import { Clock, Effect, Option, Schema } from "effect"
import path from "node:path"
import * as SystemZone from "../../../layers/node/SystemZone.js"
import { Preview } from "../../../services/api/Jobs.js"
import { Settings } from "../../../services/operation/Settings.js"
import * as Schedule from "../../../services/schedule/Schedule.js"
import * as ScheduleText from "../../../services/schedule/ScheduleText.js"
import * as ScheduleWords from "../../../services/schedule/ScheduleWords.js"
import { settled } from "../settled.js"
import { Invocation } from "../invocation.js"
import { answer } from "../output.js"

export const systemZone = Effect.map(Invocation, ({ environment }) => SystemZone.name(environment))

/** The home's zone, or the system's where there is no home: asking makes none. */
export const configuredZone = Effect.gen(function* () {
  const { environment, home } = yield* Invocation
  const fs = yield* FileSystem.FileSystem
  const isHome = yield* Effect.orElseSucceed(fs.exists(path.join(home, "config.yaml")), () => false)
  return isHome
    ? yield* Effect.provide(
        Effect.map(Settings, ({ timezone }) => timezone),
        settled
      )
    : environment["HERMES_TIMEZONE"] || (yield* systemZone)
})

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
  ({ count, from, schedule, zone }) =>
    Effect.gen(function* () {
      const configured = yield* configuredZone
      const timezone = Option.getOrNull(zone)
      const now = Option.isNone(from)
        ? yield* Clock.currentTimeMillis
        : yield* ScheduleText.instant(from.value, timezone ?? configured)
      const text = schedule.join(" ").trim()
      const parsed = yield* ScheduleText.parse(text, { now, zone: configured, timezone, wakesAgent: false })
      const preview: Preview = {
        schedule: text,
        timezone: parsed.timezone,
        words: ScheduleWords.words(parsed),
        next: Schedule.upcoming(parsed, now, count)
      }
      yield* answer(Preview, preview, ({ next, timezone, words }) => [
        `${words} (${timezone})`,
        ...next.map((at) => `${ScheduleWords.localTime(at, timezone)}  ${new Date(at).toISOString()}`),
        ...(next.length === 0 ? ["It does not come any more."] : [])
      ])
    })
).pipe(Command.withDescription("When a schedule comes next; stores nothing."))
