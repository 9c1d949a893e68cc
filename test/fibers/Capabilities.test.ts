import { assert, describe, it } from "@effect/vitest"
import { Effect, FiberRef, Option } from "effect"
import * as AmbientEnvironment from "../../src/fibers/AmbientEnvironment.js"
import * as Capabilities from "../../src/fibers/Capabilities.js"
import * as facts from "../../src/fibers/internal/facts.js"
import { Parcel } from "../../src/fibers/Parcel.js"
import * as SessionIdentity from "../../src/fibers/SessionIdentity.js"
import * as Turn from "../../src/fibers/Turn.js"
import { cronTurn, turn } from "./support/turns.js"

const supported = Capabilities.asyncDeliverySupported
const inFork = Effect.flatMap(Turn.fork(supported), Turn.result)
const withEnvironment = (environment: Record<string, string>) => Effect.provide(AmbientEnvironment.layer(environment))

describe("Capabilities.asyncDeliverySupported", () => {
  it.effect("is true for what never declared anything, else what the turn declares", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* supported)
      assert.isTrue(yield* Turn.enter(turn("A", { asyncDelivery: null }))(inFork))
      assert.isTrue(yield* Turn.enter(turn("A", { asyncDelivery: true }))(inFork))
      assert.isFalse(yield* Turn.enter(turn("A", { asyncDelivery: false }))(inFork))
      assert.isFalse(yield* Turn.enter(cronTurn("C"))(inFork))
    }).pipe(withEnvironment({}))
  )

  it.effect("is false in a kanban worker whatever was declared", () =>
    Turn.enter(turn("A", { asyncDelivery: true }))(Effect.map(inFork, (answer) => assert.isFalse(answer))).pipe(
      withEnvironment({ HERMES_KANBAN_TASK: "task-1" })
    )
  )

  it.effect("an empty task is none", () =>
    Effect.map(supported, (answer) => assert.isTrue(answer)).pipe(withEnvironment({ HERMES_KANBAN_TASK: "" }))
  )

  it.effect("a sibling's no is not inherited by a turn that declares nothing", () =>
    Effect.gen(function* () {
      const sibling = turn("S", { asyncDelivery: false })
      const undeclared = turn("A", { asyncDelivery: null })
      assert.isTrue(yield* Turn.enter(sibling)(Turn.enter(undeclared)(inFork)))
      assert.isTrue(yield* Capabilities.stateless(Turn.enter(undeclared)(inFork)))
      assert.isTrue(yield* Turn.enter(sibling)(Turn.detach(supported)))
      assert.isTrue(yield* Turn.enter(sibling)(Turn.cleared(supported)))
    }).pipe(withEnvironment({}))
  )

  it.effect("binding only what is declared would inherit it (negative control)", () => {
    const enterDeclared =
      (of: Turn.Turn) =>
      <X, E, R>(self: Effect.Effect<X, E, R>) =>
        of.asyncDelivery === null ? self : Effect.locally(self, facts.asyncDeliveryRef, Option.some(of.asyncDelivery))
    return Turn.enter(turn("S", { asyncDelivery: false }))(
      Effect.map(enterDeclared(turn("A", { asyncDelivery: null }))(supported), (answer) => assert.isFalse(answer))
    ).pipe(withEnvironment({}))
  })
})

describe("Capabilities.stateless", () => {
  it.effect("declares the capability, binds nothing and does not engage the latch", () =>
    Effect.gen(function* () {
      facts.unsafeDisengage()
      yield* Capabilities.stateless(
        Effect.gen(function* () {
          assert.isFalse(yield* supported)
          assert.deepStrictEqual((yield* Turn.peek).identity, SessionIdentity.unset)
          assert.strictEqual(yield* AmbientEnvironment.read("HERMES_SESSION_ID"), "from the environment")
        })
      )
      assert.isTrue(yield* supported)
      assert.isFalse(yield* Turn.engaged)
    }).pipe(withEnvironment({ HERMES_SESSION_ID: "from the environment" }))
  )

  it.effect("holds in a turn's forks, parcels, delegates and callbacks, and is undone after a failure", () =>
    Turn.enter(turn("A", { asyncDelivery: true }))(
      Effect.gen(function* () {
        yield* Effect.exit(
          Capabilities.stateless(
            Effect.gen(function* () {
              assert.isFalse(yield* inFork)
              const parcel = yield* Parcel.pack(null)
              assert.isFalse(yield* Turn.detach(Parcel.open(parcel, () => supported)))
              const child = { id: Turn.TurnId.make("d"), sessionKey: "k", sessionId: "s" }
              assert.isFalse(yield* Turn.delegate(child)(inFork))
              const runner = yield* Turn.runner<AmbientEnvironment.AmbientEnvironment>()
              assert.isFalse(yield* Turn.result(runner.fork(supported)))
              yield* Effect.fail("no")
            })
          )
        )
        assert.isTrue(yield* inFork)
        assert.deepStrictEqual(yield* FiberRef.get(facts.asyncDeliveryRef), Option.some(true))
      })
    ).pipe(withEnvironment({}))
  )
})

describe("Capabilities.isMessagingSurface", () => {
  const asked = (bound: { platform?: string; source?: string }, environment: Record<string, string> = {}) =>
    Turn.enter(turn("A", { identity: SessionIdentity.bind(bound) }))(Capabilities.isMessagingSurface).pipe(
      withEnvironment(environment)
    )

  const notMessaging = [
    "",
    "api_server",
    "cli",
    "codex",
    "desktop",
    "gateway",
    "kanban",
    "local",
    "msgraph_webhook",
    "tool",
    "tui",
    "webhook"
  ]

  it.effect.each(notMessaging)("%j is nobody's chat, as a platform and as a source", (name) =>
    Effect.gen(function* () {
      assert.isFalse(yield* asked({ platform: name }))
      assert.isFalse(yield* asked({ source: name }))
      assert.isFalse(yield* asked({ platform: ` ${name.toUpperCase()} `, source: `\t${name}\n` }))
      assert.isFalse(yield* asked({}, { HERMES_PLATFORM: name }))
    })
  )

  it.effect.each(["telegram", "Discord", " slack ", "web", "a-platform-of-tomorrow", "cron"])(
    "%j is a chat, as a platform and as a source",
    (name) =>
      Effect.gen(function* () {
        assert.isTrue(yield* asked({ platform: name }))
        assert.isTrue(yield* asked({ source: name }))
        assert.isTrue(yield* asked({ platform: "local", source: name }))
        assert.isTrue(yield* asked({ platform: name, source: "cli" }))
        assert.isTrue(yield* asked({}, { HERMES_PLATFORM: name }))
      })
  )

  it.effect("the environment's platform comes before the bound one, and does not hide the source", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* asked({ platform: "telegram" }, { HERMES_PLATFORM: "local" }))
      assert.isTrue(yield* asked({ platform: "telegram" }, { HERMES_PLATFORM: "" }))
      assert.isTrue(yield* asked({ source: "telegram" }, { HERMES_PLATFORM: "local" }))
    })
  )

  it.effect("outside of a turn the environment answers; explicitly nobody is no chat", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* Capabilities.isMessagingSurface)
      assert.isFalse(yield* Turn.cleared(Capabilities.isMessagingSurface))
    }).pipe(withEnvironment({ HERMES_SESSION_PLATFORM: "telegram", HERMES_SESSION_SOURCE: "telegram" }))
  )
})
