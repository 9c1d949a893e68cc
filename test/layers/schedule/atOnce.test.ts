/** What several ask for at once of the same jobs: no job ever runs beside itself, and no name is refused that nobody gave. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, FastCheck as fc } from "effect"
import type { FireClaim } from "../../../src/services/schedule/FireClaim.js"
import { JobNumber } from "../../../src/services/schedule/Job.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { JobStore } from "../../../src/services/schedule/JobStore.js"
import { Database } from "../../../src/services/state/Database.js"
import { scaled } from "../../scale.js"
import { jobs, nobody, ok, rows, withClaims } from "./support.js"

const start = Date.UTC(2026, 2, 27, 10, 7)
const second = 1_000

const under = withClaims(start)

/** As often as is said, at once; the words of each refusal. */
const asked = (job: string, times: number) =>
  Effect.flatMap(Jobs, (service) =>
    Effect.all(
      Array.from({ length: times }, () => Effect.either(service.runNow(job))),
      { concurrency: "unbounded" }
    )
  ).pipe(Effect.map((all) => all.map(Either.match({ onLeft: ({ message }) => message, onRight: () => "asked" }))))

const names = ["first", "second"] as const

type Befalls =
  | { readonly what: "ask"; readonly job: (typeof names)[number]; readonly times: number }
  | { readonly what: "retry"; readonly job: (typeof names)[number]; readonly seconds: number }
  | { readonly what: "claim" | "start" | "end" | "stop" }
  | { readonly what: "pass"; readonly seconds: number }

const job = fc.constantFrom(...names)
const befalls: fc.Arbitrary<Befalls> = fc.oneof(
  fc.record({ what: fc.constant("ask" as const), job, times: fc.integer({ min: 1, max: 4 }) }),
  fc.record({ what: fc.constant("retry" as const), job, seconds: fc.integer({ min: 0, max: 5 }) }),
  fc.record({ what: fc.constantFrom(...(["claim", "claim", "start", "end", "stop"] as const)) }),
  fc.record({ what: fc.constant("pass" as const), seconds: fc.integer({ min: 1, max: 8 }) })
)

const open = "SELECT job FROM occurrences WHERE finished_at IS NULL"
const waiting = "SELECT job FROM wakes WHERE kind = 'manual'"

describe("jobs of which several things are asked at once", () => {
  it.effect.prop(
    "never run beside themselves, and of many who ask for a run one is told that it comes",
    [fc.array(befalls, { maxLength: 30 })],
    ([events]) =>
      under((at, claims) =>
        Effect.gen(function* () {
          const service = yield* Jobs
          const store = yield* JobStore
          const database = yield* Database
          for (const name of names)
            yield* service.create({ name, script: "a.sh", noAgent: true, schedule: "every 4s" }, nobody)
          let claimed = (yield* claims.claimDue()).claimed
          const running: Array<FireClaim> = []
          for (const one of events) {
            switch (one.what) {
              case "ask": {
                const number = names.indexOf(one.job) + 1
                const busy = yield* rows(`SELECT 1 FROM (${open} UNION ALL ${waiting}) WHERE job = ${number}`)
                const said = yield* asked(one.job, one.times)
                expect(said.filter((words) => words === "asked")).toHaveLength(busy.length === 0 ? 1 : 0)
                for (const words of said) expect(words).toMatch(/^asked$|it runs already|about to begin/)
                break
              }
              case "retry": {
                const number = JobNumber.make(names.indexOf(one.job) + 1)
                const wake = {
                  job: number,
                  at: at.now + one.seconds * second,
                  kind: "retry",
                  attempt: 1,
                  context: null
                } as const
                yield* database.write("test", store.wake(wake))
                break
              }
              case "claim":
                claimed = [...claimed, ...(yield* claims.claimDue()).claimed]
                break
              case "start":
                running.push(...(yield* claims.start(claimed)))
                claimed = []
                break
              case "end":
                for (const run of running.splice(0, 1)) yield* claims.record(run, ok)
                break
              case "stop":
                // The gateway dies: what it had begun is given up, and what it had claimed is claimed anew.
                running.length = 0
                claimed = (yield* claims.recover).claimed
                break
              case "pass":
                at.now += one.seconds * second
            }
            expect(yield* rows(`${open} GROUP BY job HAVING count(*) > 1`)).toEqual([])
            expect(yield* rows(`${waiting} GROUP BY job HAVING count(*) > 1`)).toEqual([])
          }
        })
      ),
    { fastCheck: { numRuns: scaled(2_000, 60) } }
  )

  it.live("say so to each who asks for a run that is to come or goes on, and run again afterwards", () =>
    under((_, claims) =>
      Effect.gen(function* () {
        const service = yield* Jobs
        yield* service.create({ name: "s", script: "a.sh", noAgent: true, schedule: "every 1h" }, nobody)
        expect((yield* asked("s", 3)).toSorted()).toEqual([
          "asked",
          ...Array.from({ length: 2 }, () => "job s: a run was asked for already and is about to begin")
        ])
        const { claimed } = yield* claims.claimDue()
        expect(yield* asked("s", 1)).toEqual(["job s: it runs already"])
        for (const run of yield* claims.start(claimed)) yield* claims.record(run, ok)
        // It fails and is to be tried again at once: that run and the one that is asked for do not begin beside each other.
        expect(yield* asked("s", 1)).toEqual(["asked"])
        const retry = { job: JobNumber.make(1), at: start, kind: "retry", attempt: 1, context: null } as const
        yield* Effect.flatMap(Effect.all([Database, JobStore]), ([database, store]) =>
          database.write("test", store.wake(retry))
        )
        expect((yield* claims.claimDue()).claimed).toHaveLength(1)
        expect(yield* rows("SELECT state, reason FROM occurrences WHERE id > 1 ORDER BY id")).toEqual([
          { state: "claimed", reason: null },
          { state: "skipped", reason: "the run before was not over" }
        ])
      })
    )
  )

  const prompts = ["News", "news", "the weather"]

  it.effect.prop(
    "get the names that nobody gave as if they had been made one after another",
    [fc.array(fc.constantFrom(...prompts), { minLength: 2, maxLength: 12 })],
    ([given]) =>
      Effect.gen(function* () {
        const made = yield* Effect.flatMap(Jobs, (service) =>
          Effect.forEach(given, (prompt) => Effect.either(service.create({ schedule: "every 1h", prompt }, nobody)), {
            concurrency: "unbounded"
          })
        )
        const own = made.map(Either.match({ onLeft: ({ message }) => message, onRight: (view) => view.job.name }))
        const borne = new Set<string>()
        for (const prompt of given) {
          let name = prompt
          for (let number = 2; borne.has(name.toLowerCase()); number++) name = `${prompt} (${number})`
          borne.add(name.toLowerCase())
        }
        expect(own.map((name) => name.toLowerCase()).toSorted()).toEqual([...borne].toSorted())
        // A name that somebody gave is theirs or nobody's.
        const clash = Effect.flatMap(Jobs, (service) =>
          service.create({ schedule: "every 1h", prompt: "x", name: own[0] ?? "" }, nobody)
        )
        expect(yield* Effect.flip(clash)).toMatchObject({ _tag: "JobNameTaken" })
      }).pipe(Effect.provide(jobs())),
    { fastCheck: { numRuns: scaled(1_000, 30) } }
  )
})
