import { assert, describe, it } from "@effect/vitest"
import { Effect, Either, Schema } from "effect"
import { Parcel } from "../../src/fibers/Parcel.js"
import * as Turn from "../../src/fibers/Turn.js"
import { A, B, cronTurn, factsOf, nobody } from "./support/turns.js"

const Note = Schema.Struct({ text: Schema.String, at: Schema.Date })
const NoteParcel = Parcel.schema(Note)
const note = { text: "hello", at: new Date(0) }
const inChild = Effect.flatMap(Turn.fork(Turn.peek), Turn.result)

describe("Parcel", () => {
  it.effect("opens in the turn that packed it, whatever fiber opens it, and puts that fiber's own back", () =>
    Effect.gen(function* () {
      const parcel = yield* Turn.enter(A)(Parcel.pack(note))
      const opened = Parcel.open(parcel, (value) => Effect.zip(inChild, Effect.succeed(value)))
      assert.deepStrictEqual(yield* opened, [factsOf(A), note])
      assert.deepStrictEqual(yield* Turn.peek, nobody)
      yield* Turn.enter(B)(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* opened, [factsOf(A), note])
          assert.deepStrictEqual(yield* inChild, factsOf(B))
          const failed = yield* Effect.flip(Parcel.open(parcel, () => Effect.fail("no")))
          assert.strictEqual(failed, "no")
          assert.deepStrictEqual(yield* inChild, factsOf(B))
        })
      )
    })
  )

  it.effect("packs the turn that asks, the delegate's in a delegate", () =>
    Turn.enter(cronTurn("C"))(
      Effect.gen(function* () {
        const delegated = Turn.delegate({ id: Turn.TurnId.make("d"), sessionKey: "k", sessionId: "s" })
        const parcel = yield* delegated(Parcel.pack(1))
        const at = yield* Parcel.open(parcel, () => Turn.current)
        assert.deepStrictEqual([at.id, at.parent, at.depth, at.marker._tag], ["d", "turn-C", 1, "Cron"])
      })
    )
  )

  it.effect("is { turn, value } in a row or message, and the same when it comes back", () =>
    Effect.gen(function* () {
      const parcel = yield* Turn.enter(A)(Parcel.pack(note))
      const written = yield* Schema.encode(Schema.parseJson(NoteParcel))(parcel)
      const plain = JSON.parse(written)
      assert.deepStrictEqual(Object.keys(plain), ["turn", "value"])
      assert.deepStrictEqual(plain.value, { text: "hello", at: "1970-01-01T00:00:00.000Z" })
      assert.strictEqual(plain.turn.identity.chatId, "A-chatId")
      const back = yield* Schema.decode(Schema.parseJson(NoteParcel))(written)
      assert.deepStrictEqual(yield* Parcel.open(back, (value) => Effect.zip(inChild, Effect.succeed(value))), [
        factsOf(A),
        note
      ])
    })
  )

  it("is refused with the path where the turn or the value is not one", () => {
    const decode = Schema.decodeUnknownEither(NoteParcel)
    const message = (input: unknown) =>
      Either.match(decode(input), { onLeft: (error) => error.message, onRight: String })
    assert.include(message({ value: { text: "x", at: "1970-01-01" } }), '["turn"]')
    assert.include(message({ turn: {}, value: { text: "x", at: "1970-01-01" } }), '["id"]')
    assert.include(message(null), "Expected")
  })
})
