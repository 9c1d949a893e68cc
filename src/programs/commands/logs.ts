import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Console, Effect, Either, Schema, Stream } from "effect"
import path from "node:path"
import * as LogReader from "../../layers/node/LogReader.js"
import * as Signals from "../../layers/node/Signals.js"
import { usage } from "./failure.js"
import { Invocation } from "./invocation.js"
import { limit } from "./options.js"
import { answer, plain, second } from "./output.js"

/** A line that the log writes: time, level, message, and whatever it is annotated with. */
const Entry = Schema.Record({ key: Schema.String, value: Schema.Unknown })
const decode = Schema.decodeEither(Schema.parseJson(Entry))

const text = (value: unknown): string => (typeof value === "string" ? value : (JSON.stringify(value) ?? ""))

/** As a person reads it; what is no entry of ours is shown as it stands. */
const pretty = (line: string): string => {
  const decoded = decode(line)
  if (Either.isLeft(decoded)) return plain(line)
  const { time, level, message, cause, ...more } = decoded.right
  const facts = Object.entries(more).map(([name, value]) => ` ${name}=${text(value)}`)
  const at = typeof time === "string" && !Number.isNaN(Date.parse(time)) ? second(Date.parse(time)) : text(time)
  const why = cause === undefined ? "" : `\n  ${text(cause).replaceAll("\n", "\n  ")}`
  return plain(`${at} ${text(level).toLowerCase()} ${text(message)}${facts.join("")}${why}`)
}

const entryOf = (line: string): typeof Entry.Type => Either.getOrElse(decode(line), () => ({ message: line }))

export const command = Command.make(
  "logs",
  {
    follow: Options.boolean("follow").pipe(
      Options.withAlias("f"),
      Options.withDescription("Goes on with what is written from now on.")
    ),
    limit: limit(50, 10_000)
  },
  ({ follow, limit }) =>
    Effect.gen(function* () {
      const { home, json } = yield* Invocation
      if (follow && json) return yield* usage("--follow has no end, so it cannot be one JSON document")
      const file = path.join(home, "logs", "hermes.log")
      const lines = yield* LogReader.tail(file, limit)
      yield* answer(Schema.Array(Entry), lines.map(entryOf), () =>
        lines.length === 0 && !follow ? [`Nothing was logged yet in ${file}.`] : lines.map(pretty)
      )
      if (!follow) return
      const following = Stream.runForEach(LogReader.follow(file), (line) => Console.log(pretty(line)))
      yield* Effect.raceFirst(following, Signals.stop)
    })
).pipe(Command.withDescription("The end of the log of this home."))
