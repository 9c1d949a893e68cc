/** What a person says in a row is begun in the order in which it came, whatever runs meanwhile. */
import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { Database } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"
import { scaled } from "../../scale.js"

/** `later`: by `/queue`, which lets others go first. */
interface Said {
  readonly later: boolean
  /** Milliseconds before it is said. */
  readonly pause: number
}

const burst: fc.Arbitrary<ReadonlyArray<Said>> = fc.array(
  fc.record({
    later: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    pause: fc.constantFrom(0, 0, 0, 1, 3, 8)
  }),
  { minLength: 4, maxLength: 16 }
)

const rows = (sql: string) =>
  Effect.flatMap(Database, (database) => database.read("test", (client) => client.unsafe<Record<string, unknown>>(sql)))

const ascending = (numbers: ReadonlyArray<number>) => numbers.toSorted((a, b) => a - b)

it.scopedLive("a burst stands in the transcript as it came", () =>
  Effect.gen(function* () {
    const adapter = yield* Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)
    const bursts = fc.sample(burst, scaled(400, 24))
    yield* Effect.forEach(
      bursts,
      (said, chat) =>
        Effect.forEach(said, ({ later, pause }, n) =>
          Effect.zipRight(
            pause === 0 ? Effect.void : Effect.sleep(pause),
            adapter.say({
              text: `${later ? "/queue " : ""}${n}`,
              in: adapter.profile.dm(chat + 1),
              by: adapter.profile.person(chat + 1)
            })
          )
        ),
      { concurrency: 4, discard: true }
    )
    yield* rows("SELECT id FROM inbound_events WHERE state IN ('accepted', 'running')").pipe(
      Effect.zipLeft(Effect.sleep("20 millis")),
      Effect.repeat({ until: (open) => open.length === 0 }),
      Effect.timeout("60 seconds")
    )
    for (const [chat, said] of bursts.entries()) {
      const begun = (yield* rows(
        `SELECT text FROM messages JOIN sessions ON sessions.id = session_id
          WHERE role = 'user' AND chat_id = '${adapter.profile.dm(chat + 1).chatId}' ORDER BY messages.id`
      )).map(({ text }) => Number(text))
      const told = `said ${JSON.stringify(said)}, begun ${begun.join()}`
      expect(ascending(begun), told).toEqual([...said.keys()])
      for (const later of [true, false]) {
        const these = begun.filter((n) => said[n]?.later === later)
        expect(these, told).toEqual(ascending(these))
      }
    }
  }).pipe(
    Effect.provide(
      Testing.gateway({
        model: () => Testing.effect(Effect.as(Effect.sleep("4 millis"), Testing.say("done"))),
        settings: { notices: { hints: false } }
      })
    )
  )
)
