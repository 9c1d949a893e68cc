/**
 * Jobs that come often keep their time beside people who make and list jobs and beside one that runs long: no occurrence
 * is lost, skipped or put together with another (decision 17, #9086). How late they begin is printed and not asserted.
 */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Schedule, Schema } from "effect"
import { mkdirSync, writeFileSync } from "node:fs"
import path from "node:path"
import { JobView, RunView } from "../../../src/services/api/Jobs.js"
import { scaled } from "../../scale.js"
import * as Command from "../support/Command.js"
import * as Gateway from "../support/Gateway.js"
import * as HomeDirectory from "../support/HomeDirectory.js"

const seconds = scaled(100, 20)
const creations = scaled(80, 16)
const lists = scaled(50, 10)
/** By name: the schedule, and the milliseconds from one occurrence to the next. */
const often = {
  "every five": ["every 5s", 5_000],
  "every ten": ["every 10s", 10_000],
  "each minute": ["* * * * *", 60_000]
} as const

const quantile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN

describe("jobs that come often", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    `lose no occurrence in ${seconds} s beside ${creations} new jobs, ${lists} lists and a run of ${seconds * 0.9} s`,
    () =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        const scripts = path.join(home.directory, "scripts")
        mkdirSync(scripts, { recursive: true, mode: 0o700 })
        writeFileSync(path.join(scripts, "quick.sh"), "true\n")
        writeFileSync(path.join(scripts, "long.sh"), `sleep ${seconds * 0.9}\n`)
        const gateway = yield* Gateway.start(home)
        const ask = (method: string, where: string, body?: unknown) =>
          Effect.map(gateway.ask(method, where, body), (answer) => {
            expect(answer.status, answer.text).toBeLessThan(300)
            return answer.json
          })
        const make = (draft: object) => Effect.flatMap(ask("POST", "/api/jobs", draft), Schema.decodeUnknown(JobView))
        const runsOf = ({ id }: JobView) =>
          Effect.flatMap(ask("GET", `/api/jobs/${id}/runs?limit=500`), Schema.decodeUnknown(Schema.Array(RunView)))

        const long = yield* make({ name: "long", schedule: "every 1d", script: "long.sh", noAgent: true })
        const jobs = yield* Effect.forEach(Object.entries(often), ([name, [schedule, period]]) =>
          Effect.map(make({ name, schedule, script: "quick.sh", noAgent: true }), (job) => ({ job, period }))
        )
        yield* ask("POST", `/api/jobs/${long.id}/run`, {})
        yield* Effect.all(
          [
            Effect.forEach(Array.from({ length: creations }), (_, index) =>
              Effect.zipRight(
                make({ name: `other ${index}`, schedule: "0 9 * * *", prompt: "say: hello" }),
                Effect.sleep((seconds * 1_000) / creations)
              )
            ),
            Effect.repeat(ask("GET", "/api/jobs"), {
              schedule: Schedule.spaced((seconds * 1_000) / lists),
              times: lists
            })
          ],
          { concurrency: "unbounded", discard: true }
        )

        const ended = Effect.filterOrFail(
          runsOf(long),
          ([run]) => run?.finishedAt !== null,
          () => "the long run goes on"
        ).pipe(Effect.retry(Schedule.spaced("200 millis").pipe(Schedule.upTo("60 seconds"))))
        expect((yield* ended).map(({ status }) => status)).toEqual(["ok"])

        const late: Array<number> = []
        for (const { job, period } of jobs) {
          yield* ask("POST", `/api/jobs/${job.id}/pause`, {})
          const runs = yield* Effect.filterOrFail(
            runsOf(job),
            (all) => all.every(({ finishedAt }) => finishedAt !== null),
            () => "one is not over"
          ).pipe(Effect.retry(Schedule.spaced("100 millis").pipe(Schedule.upTo("30 seconds"))))
          const first = job.nextRunAt ?? Number.NaN
          expect(runs.length, job.name).toBeGreaterThanOrEqual(Math.floor((seconds * 1_000 - period) / period))
          expect(
            runs.toReversed().map(({ count, scheduledAt, status }) => [scheduledAt, count, status]),
            job.name
          ).toEqual(runs.map((_, index) => [first + index * period, 1, "ok"]))
          late.push(...runs.map(({ scheduledAt, startedAt }) => (startedAt ?? Number.NaN) - scheduledAt))
        }
        const sorted = late.toSorted((a, b) => a - b)
        yield* Effect.logInfo(
          `${sorted.length} occurrences, none lost; late by ${quantile(sorted, 0.5)} ms (p50), ${quantile(sorted, 0.99)} ms (p99)`
        )
      }),
    300_000
  )
})
