/**
 * What crosses to a child process or a worker thread, asserted over there, with both of them poisoned beforehand: by an
 * environment of somebody else, and by work of another turn that is still running (gateway.md 1.9, 1.11).
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import * as CronMarker from "../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../src/fibers/DeliveryOrigin.js"
import { Parcel } from "../../src/fibers/Parcel.js"
import * as Turn from "../../src/fibers/Turn.js"
import {
  type Answer,
  ChildProcess,
  childProcess,
  type Elsewhere,
  WorkerThread,
  workerThread
} from "./support/elsewhere.js"
import { poisoned, registeredNames } from "./support/names.js"
import { chatOf, cronTurn, fullTurn, nobody, turn } from "./support/turns.js"

const WholeParcel = Schema.parseJson(Parcel.schema(Schema.String))
const packed = (of: Turn.Turn) =>
  Turn.enter(of)(Effect.flatMap(Parcel.pack("value"), Schema.encode(WholeParcel))).pipe(Effect.orDie)

const insideOf = (answer: Answer) => answer.inside ?? assert.fail("no answer from inside the turn")

const assertSees = (answer: Answer, of: Turn.Turn) => {
  const inside = insideOf(answer)
  assert.deepStrictEqual(inside.identity, of.identity)
  assert.isTrue(CronMarker.same(inside.marker, of.marker))
  assert.isTrue(DeliveryOrigin.continues(of.origin, inside.origin))
  assert.strictEqual(inside.origin._tag, of.origin._tag)
  assert.strictEqual(inside.isCron, CronMarker.isCron(of.marker))
  assert.strictEqual(inside.readChat, chatOf(inside) ?? "")
  assert.strictEqual(inside.childEnvironment["HERMES_SESSION_CHAT_ID"], chatOf(inside) ?? "")
  assert.strictEqual(answer.turn?.id, of.id)
  for (const seen of [answer.before, answer.outside]) {
    assert.deepStrictEqual(
      { identity: seen?.identity, marker: seen?.marker._tag, origin: seen?.origin._tag },
      { identity: nobody.identity, marker: "Unset", origin: "Unset" }
    )
    // the program there reads its own environment, the poison, but gives none of it to a child once it has bound a turn
    assert.strictEqual(seen?.readChat, "foreign")
  }
  for (const name of registeredNames) assert.notProperty(answer.outside?.childEnvironment, name)
}

const A = fullTurn("A", { asyncDelivery: false, workingDirectory: "/work/a" })
const B = turn("B")
const C = cronTurn("C")

const places: ReadonlyArray<readonly [string, Effect.Effect<Elsewhere, never, ChildProcess | WorkerThread>]> = [
  ["a child process", ChildProcess],
  ["a worker thread", WorkerThread]
]

const both = Layer.merge(
  childProcess({ ...poisoned("foreign"), HERMES_CRON_SESSION: "1" }),
  workerThread({ ...poisoned("foreign"), HERMES_CRON_SESSION: "1" })
)

layer(both, { excludeTestServices: true, timeout: "2 minutes" })("elsewhere", (it) => {
  for (const [name, tag] of places) {
    describe(name, () => {
      it.effect("before any parcel it is what its environment says", () =>
        Effect.gen(function* () {
          const place = yield* tag
          const { outside } = yield* place.ask({ what: "outside" })
          assert.isTrue(outside?.isCron)
          assert.strictEqual(outside?.readChat, "foreign")
          assert.strictEqual(outside?.childEnvironment["HERMES_SESSION_CHAT_ID"], "foreign", "never engaged: inherited")
          assert.notProperty(outside?.childEnvironment, "HERMES_SEND_ORIGIN_CHAT_ID")
        })
      )

      it.effect("a parcel is opened in its own turn, whatever the environment says", () =>
        Effect.gen(function* () {
          const place = yield* tag
          for (const of of [A, B, C, turn("D", { marker: CronMarker.unset })]) {
            const answer = yield* place.ask({ what: "open", parcel: yield* packed(of) })
            if (of.marker._tag === "Unset") {
              assert.isTrue(insideOf(answer).isCron, "an unset marker asks the environment, which is marked")
            } else assertSees(answer, of)
          }
        })
      )

      it.effect("it comes back with its turn and its value", () =>
        Effect.gen(function* () {
          const place = yield* tag
          const { parcel } = yield* place.ask({ what: "open", parcel: yield* packed(A) })
          const returned = yield* Schema.decodeUnknown(WholeParcel)(parcel)
          const [value, current] = yield* Turn.enter(B)(
            Parcel.open(returned, (inside) => Effect.map(Turn.current, (at) => [inside, at] as const))
          )
          assert.strictEqual(value, "value.")
          assert.deepStrictEqual({ ...current }, { ...A })
        })
      )

      it.effect("left dirty by B it serves A, left dirty by A it serves B, and neither is influenced", () =>
        Effect.gen(function* () {
          const place = yield* tag
          for (const [dirty, clean] of [
            [B, A],
            [A, B],
            [C, B],
            [B, C]
          ] as const) {
            yield* place.ask({ what: "leave", parcel: yield* packed(dirty) })
            assertSees(yield* place.ask({ what: "open", parcel: yield* packed(clean) }), clean)
            const { leftovers, outside } = yield* place.ask({ what: "ask-leftovers" })
            assert.strictEqual(leftovers?.length, 1)
            assert.deepStrictEqual(leftovers?.[0]?.identity, dirty.identity, "who was left running is still himself")
            assert.isTrue(leftovers?.[0] !== undefined && CronMarker.same(leftovers[0].marker, dirty.marker))
            assert.deepStrictEqual(outside?.identity, nobody.identity)
          }
        })
      )

      it.effect("A→B→A on the one place: A is whole in both of its hops", () =>
        Turn.enter(A)(
          Effect.gen(function* () {
            const place = yield* tag
            const here = Effect.flatMap(Parcel.pack("here"), Schema.encode(WholeParcel)).pipe(Effect.orDie)
            assertSees(yield* place.ask({ what: "open", parcel: yield* here }), A)
            yield* Turn.enter(B)(
              Effect.gen(function* () {
                assertSees(yield* place.ask({ what: "open", parcel: yield* here }), B)
              })
            )
            assertSees(yield* place.ask({ what: "open", parcel: yield* here }), A)
          })
        )
      )

      it.effect("many at once, each in its own turn", () =>
        Effect.gen(function* () {
          const place = yield* tag
          yield* Effect.forEach(
            Array.from({ length: 40 }, (_, index) => (index % 3 === 0 ? cronTurn(`c${index}`) : fullTurn(`t${index}`))),
            (of) =>
              Effect.gen(function* () {
                assertSees(yield* place.ask({ what: "open", parcel: yield* packed(of) }), of)
              }),
            { concurrency: "unbounded" }
          )
        })
      )

      it.effect("a parcel that is not one is refused, and the place goes on", () =>
        Effect.gen(function* () {
          const place = yield* tag
          const refused = yield* Effect.exit(place.ask({ what: "open", parcel: '{"turn":{"id":""},"value":"x"}' }))
          assert.strictEqual(refused._tag, "Failure")
          assertSees(yield* place.ask({ what: "open", parcel: yield* packed(B) }), B)
        })
      )
    })
  }
})
