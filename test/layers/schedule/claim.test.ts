/** The claim of all that is due: whoever gets an occurrence gets its own row, also where rows were there before. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as FireClaimsLayer from "../../../src/layers/sqlite/FireClaims.js"
import { FireClaims } from "../../../src/services/schedule/FireClaim.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import { handClock, jobs, nobody, ok } from "./support.js"

const day = 86_400_000

const rows = Effect.flatMap(Database, (database) =>
  database.read("test", (sql) =>
    sql.unsafe<{ id: number; job: number; at: number; state: string }>(
      "SELECT id, job, at, state FROM occurrences ORDER BY id"
    )
  )
)

const write = (text: string, values: ReadonlyArray<number>) =>
  Effect.flatMap(Database, (database) =>
    database.write(
      "test",
      Effect.flatMap(Transaction, (sql) => Effect.asVoid(sql.unsafe(text, values)))
    )
  )

/** Five jobs of one rule and two more of another, all due at the same instant. */
const made = Effect.gen(function* () {
  const service = yield* Jobs
  const list = []
  for (let index = 0; index < 7; index++)
    list.push(
      yield* service.create(
        { name: `job ${index}`, prompt: "x", schedule: index < 5 ? "0 9 * * *" : "0 9 * * 1-7" },
        nobody
      )
    )
  const at = list[0]?.job.nextRunAt ?? 0
  expect(list.map(({ job }) => job.nextRunAt)).toEqual(list.map(() => at))
  return at
})

const under = <A, E>(
  test: (at: { now: number }, claims: FireClaims["Type"]) => Effect.Effect<A, E, Jobs | Database>
) => {
  const { at, clock } = handClock(Date.UTC(2026, 2, 27, 10, 7))
  return FireClaims.pipe(
    Effect.tap((claims) => claims.recover),
    Effect.flatMap((claims) => test(at, claims)),
    Effect.provide(FireClaimsLayer.layer.pipe(Layer.provideMerge(jobs()))),
    Effect.withClock(clock)
  )
}

describe("the claim of what is due", () => {
  it.live("answers each occurrence with the number of its row", () =>
    under((at, claims) =>
      Effect.gen(function* () {
        const due = yield* made
        at.now = due
        for (let round = 0; round < 2; round++, at.now += day) {
          const { claimed } = yield* claims.claimDue()
          expect(claimed.map(({ job }) => job).toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7])
          const found = (yield* rows).slice(-7)
          expect(claimed.map(({ job, occurrence, scheduledAt }) => [occurrence, job, scheduledAt])).toEqual(
            found.map(({ at: instant, id, job }) => [id, job, instant])
          )
          for (const claim of yield* claims.start(claimed)) yield* claims.record(claim, ok)
        }
      })
    )
  )

  it.live("leaves out an instant that has its row, and gives none of the others another's", () =>
    under((at, claims) =>
      Effect.gen(function* () {
        const due = yield* made
        const before = `INSERT INTO occurrences (job, at, count, kind, state, attempts, finished_at)
          VALUES (3, ?, 1, 'on_time', 'ok', 1, ?)`
        yield* write(before, [due, due])
        at.now = due
        const { claimed } = yield* claims.claimDue()
        expect(claimed.map(({ job }) => job).toSorted()).toEqual([1, 2, 4, 5, 6, 7])
        const byId = new Map((yield* rows).map((row) => [row.id, row]))
        for (const { job, occurrence } of claimed) expect(byId.get(occurrence)).toMatchObject({ job, state: "claimed" })
        expect((yield* claims.claimDue()).claimed).toEqual([])
      })
    )
  )
})
