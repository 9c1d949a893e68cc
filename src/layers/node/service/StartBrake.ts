/** Keeps a gateway that dies at once from being started over and over (gateway.md 3.9). */
import { Clock, Effect, Schema } from "effect"
import { writeFileSync } from "node:fs"
import path from "node:path"
import { AmbientEnvironment } from "../../../fibers/AmbientEnvironment.js"
import * as PlainFile from "../PlainFile.js"

const windowMillis = 120_000
const mostStarts = 5
const longestSeconds = 300

const Starts = Schema.parseJson(Schema.Array(Schema.Number))

/** Seconds to wait before the next start; `starts` are those of the last two minutes, this one included. */
export const pauseSeconds = (starts: number): number =>
  starts < mostStarts ? 0 : Math.min(longestSeconds, 5 * 2 ** (starts - mostStarts))

/**
 * Counts this start in a file beside the database, which may be what it dies of, and waits when there were too many.
 * Only a service manager's are counted: a person who starts it by hand looks at it.
 */
export const hold = (home: string) =>
  Effect.gen(function* () {
    const environment = yield* AmbientEnvironment
    if (environment["INVOCATION_ID"] === undefined) return
    const file = path.join(home, "starts.json")
    const now = yield* Clock.currentTimeMillis
    const before = yield* PlainFile.text(file).pipe(
      Effect.flatMap(Schema.decode(Starts)),
      Effect.orElseSucceed((): ReadonlyArray<number> => [])
    )
    const starts = [...before.filter((at) => at <= now && now - at < windowMillis), now]
    yield* Effect.ignoreLogged(Effect.try(() => writeFileSync(file, JSON.stringify(starts), { mode: 0o600 })))
    const seconds = pauseSeconds(starts.length)
    if (seconds === 0) return
    yield* Effect.logWarning(
      `the gateway was started ${starts.length} times in two minutes; it waits ${seconds} s before it begins`
    )
    yield* Effect.sleep(`${seconds} seconds`)
  })
