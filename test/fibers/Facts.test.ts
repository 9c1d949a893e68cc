import { assert, describe, it } from "@effect/vitest"
import { Either, FastCheck, Schema } from "effect"
import * as CronMarker from "../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../src/fibers/DeliveryOrigin.js"
import * as Field from "../../src/fibers/Field.js"
import * as Presence from "../../src/fibers/Presence.js"
import * as SessionIdentity from "../../src/fibers/SessionIdentity.js"
import * as Turn from "../../src/fibers/Turn.js"
import * as arbitraries from "./support/arbitraries.js"

const TurnJson = Schema.parseJson(Turn.Turn)

describe("Field", () => {
  it("an empty string is cleared, a missing value is cleared when bound and unset when decoded", () => {
    assert.strictEqual(Field.of("")._tag, "Cleared")
    assert.strictEqual(Field.bound(null)._tag, "Cleared")
    assert.strictEqual(Field.bound(undefined)._tag, "Cleared")
    assert.deepStrictEqual(Field.bound("x"), Field.of("x"))
    assert.strictEqual(Field.decode(undefined)._tag, "Unset")
    assert.strictEqual(Field.decode("")._tag, "Cleared")
    for (const field of [Field.unset, Field.cleared, Field.of("x")]) {
      assert.deepStrictEqual(Field.decode(Field.encode(field)), field)
      assert.strictEqual(Field.valueOrNull(field), field._tag === "Value" ? "x" : null)
    }
  })
})

describe("SessionIdentity", () => {
  it("bind clears what it is not given", () => {
    const identity = SessionIdentity.bind({ platform: "telegram", threadId: null, userId: undefined, chatName: "" })
    for (const name of SessionIdentity.fieldNames) {
      assert.strictEqual(identity[name]._tag, name === "platform" ? "Value" : "Cleared", name)
    }
  })

  it("is written as its fields that are not unset, and refuses unknown ones by name", () => {
    const encode = Schema.encodeSync(SessionIdentity.schema)
    const decode = Schema.decodeUnknownEither(SessionIdentity.schema)
    assert.deepStrictEqual(encode(SessionIdentity.unset), {})
    const some = SessionIdentity.unset.with("platform", Field.of("telegram")).with("threadId", Field.cleared)
    assert.deepStrictEqual(encode(some), { platform: "telegram", threadId: "" })
    assert.deepStrictEqual(decode({ platform: "telegram", threadId: "" }), Either.right(some))
    for (const name of ["chatid", "toString", "constructor"]) {
      const refused = decode({ platform: "telegram", [name]: "x" })
      assert.include(Either.isLeft(refused) ? refused.left.message : "", `unknown identity fields: ${name}`)
    }
    assert.isTrue(Either.isLeft(decode({ platform: 1 })))
  })
})

describe("CronMarker", () => {
  it("two runs, two jobs and two creators are different, copies are the same", () => {
    const marker = CronMarker.cron({ job: "j", run: "r", createdBy: { platform: "p", userId: "u" } })
    const others = [
      CronMarker.unset,
      CronMarker.notCron,
      CronMarker.cron({ job: "j", run: "s", createdBy: { platform: "p", userId: "u" } }),
      CronMarker.cron({ job: "k", run: "r", createdBy: { platform: "p", userId: "u" } }),
      CronMarker.cron({ job: "j", run: "r", createdBy: { platform: "p", userId: "v" } }),
      CronMarker.cron({ job: "j", run: "r", createdBy: { platform: "q", userId: "u" } }),
      CronMarker.cron({ job: "j", run: "r" })
    ]
    assert.isTrue(CronMarker.same(marker, JSON.parse(JSON.stringify(marker))))
    for (const other of others) {
      assert.isFalse(CronMarker.same(marker, other))
      assert.isFalse(CronMarker.same(other, marker))
      assert.isTrue(CronMarker.same(other, { ...other }))
    }
    assert.deepStrictEqual([marker, ...others].map(CronMarker.isCron), [
      true,
      false,
      false,
      true,
      true,
      true,
      true,
      true
    ])
  })
})

describe("DeliveryOrigin", () => {
  const at = DeliveryOrigin.address({ platform: "telegram", chatId: "1", threadId: "2", anchor: "3", scopeId: "4" })
  const same = DeliveryOrigin.address({ platform: "telegram", chatId: "1", threadId: "2" })
  const elsewhere = [
    DeliveryOrigin.address({ ...same, platform: "slack" }),
    DeliveryOrigin.address({ ...same, chatId: "2" }),
    DeliveryOrigin.address({ ...same, threadId: null })
  ]

  it("continues: the same place, from live to routing-only and never back (decision 8)", () => {
    const { cleared, continues, live, routing, targets, unset } = DeliveryOrigin
    assert.isTrue(continues(live(at), live(same)))
    assert.isTrue(continues(live(at), routing(same)))
    assert.isTrue(continues(routing(at), routing(same)))
    assert.isFalse(continues(routing(at), live(same)))
    for (const other of elsewhere) {
      assert.isFalse(continues(live(at), live(other)))
      assert.isFalse(continues(live(at), routing(other)))
      assert.isFalse(continues(targets([at]), targets([other])))
    }
    assert.isTrue(continues(targets([at, same]), targets([same, at])))
    assert.isFalse(continues(targets([at]), targets([at, at])))
    assert.isFalse(continues(targets([at]), live(at)))
    for (const none of [unset, cleared]) {
      assert.isTrue(continues(none, none))
      assert.isFalse(continues(none, live(at)))
      assert.isFalse(continues(live(at), none))
      assert.isFalse(continues(targets([at]), none))
    }
    assert.isFalse(continues(unset, cleared))
    assert.isFalse(continues(cleared, unset))
  })

  it("chained: a chat becomes routing-only, all else stays; every chain continues what it came from", () => {
    assert.deepStrictEqual(DeliveryOrigin.chained(DeliveryOrigin.live(at)), DeliveryOrigin.routing(at))
    FastCheck.assert(
      FastCheck.property(arbitraries.origin, (origin) => {
        const child = DeliveryOrigin.chained(origin)
        assert.isTrue(DeliveryOrigin.continues(origin, child))
        assert.isTrue(DeliveryOrigin.continues(child, DeliveryOrigin.chained(child)))
        assert.notStrictEqual(child._tag, "Live")
        if (origin._tag !== "Live") assert.strictEqual(child, origin)
      })
    )
  })

  it("has one chat for answers only where there is one; no targets are explicitly none", () => {
    assert.deepStrictEqual(DeliveryOrigin.chat(DeliveryOrigin.routing(at)), at)
    assert.isNull(DeliveryOrigin.chat(DeliveryOrigin.targets([at])))
    assert.isNull(DeliveryOrigin.chat(DeliveryOrigin.cleared))
    assert.strictEqual(DeliveryOrigin.targets([])._tag, "Cleared")
  })
})

describe("Turn as a value", () => {
  it("is the same in a row or a message: JSON there and back", () => {
    FastCheck.assert(
      FastCheck.property(arbitraries.turn, (turn) => {
        const back = Schema.decodeUnknownSync(TurnJson)(Schema.encodeSync(TurnJson)(turn))
        assert.instanceOf(back, Turn.Turn)
        assert.deepStrictEqual(back.identity, turn.identity)
        assert.isTrue(CronMarker.same(back.marker, turn.marker))
        assert.deepStrictEqual({ ...back }, { ...turn })
      })
    )
  })

  it("refuses what is no turn, with the path", () => {
    const turn = Schema.encodeSync(Turn.Turn)(
      new Turn.Turn({
        id: Turn.TurnId.make("t"),
        parent: null,
        depth: 0,
        identity: SessionIdentity.cleared,
        marker: CronMarker.unset,
        origin: DeliveryOrigin.unset,
        presence: Presence.nobody("unattended"),
        asyncDelivery: null,
        workingDirectory: null
      })
    )
    const bad: ReadonlyArray<readonly [string, object]> = [
      ["marker", { ...turn, marker: { _tag: "Perhaps" } }],
      ["marker", { ...turn, marker: undefined }],
      ["origin", { ...turn, origin: { _tag: "Targets", addresses: [] } }],
      ["origin", { ...turn, origin: { _tag: "Live", address: { platform: "telegram" } } }],
      ["depth", { ...turn, depth: -1 }],
      ["id", { ...turn, id: "" }],
      ["identity", { ...turn, identity: { chat: "x" } }],
      ["presence", { ...turn, presence: { _tag: "Nobody", kind: "asleep" } }]
    ]
    for (const [field, value] of bad) {
      const refused = Schema.decodeUnknownEither(Turn.Turn)(value)
      assert.include(Either.isLeft(refused) ? refused.left.message : "accepted", `["${field}"]`)
    }
  })
})
