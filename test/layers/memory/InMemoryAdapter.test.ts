import { assert, describe, it } from "@effect/vitest"
import { Effect, Equal, Layer, Ref, Schedule, type Scope } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Presence from "../../../src/fibers/Presence.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as Registry from "../../../src/layers/adapter/AdapterRegistry.js"
import * as InMemoryAdapter from "../../../src/layers/memory/InMemoryAdapter.js"
import { type Place, type Profile, profiles } from "../../../src/layers/memory/Profile.js"
import { SendRefused, SendRetryable, SendUncertain } from "../../../src/services/adapter/Adapter.js"
import { AdapterRegistry } from "../../../src/services/adapter/AdapterRegistry.js"
import { AdapterInMemory } from "../../../src/testing/AdapterInMemory.js"
import { adapterContract, type AdapterHarness, type PlatformFault } from "../../contract/Adapter.js"
import * as AdapterAdmission from "../../contract/AdapterAdmission.js"

const faults = (
  platform: string
): { readonly [Fault in PlatformFault]: Parameters<InMemoryAdapter.InMemoryAdapter["fail"]>[0] } => ({
  forbidden: { error: new SendRefused({ platform, detail: "blocked", code: "forbidden" }) },
  chat_not_found: { error: new SendRefused({ platform, detail: "no such chat", code: "chat_not_found" }) },
  flood: { error: new SendRetryable({ platform, detail: "slow down", retryAfterMillis: 7_000 }) },
  unreachable: { error: new SendRetryable({ platform, detail: "refused", retryAfterMillis: null }) },
  lost: { error: new SendUncertain({ platform, detail: "reset" }), accepted: true }
})

const harnessOf = (profile: Profile): Effect.Effect<AdapterHarness, never, Scope.Scope> =>
  Effect.gen(function* () {
    const admission = yield* AdapterAdmission.make
    const surface = yield* InMemoryAdapter.make(profile).pipe(
      Effect.provide(yield* Layer.build(Layer.merge(admission.layer, Registry.layer)))
    )
    const group = profile.group(1)
    const places = { dm: profile.dm(1), group, thread: profile.thread(group, 1) }
    const pending = yield* Ref.make(0)
    const ids = yield* Ref.make(1_000)
    // A platform delivers again what was not taken, and what is behind it afterwards.
    const line = yield* Effect.makeSemaphore(1)
    const deliver = (said: InMemoryAdapter.Said) =>
      Effect.acquireUseRelease(
        Ref.update(pending, (n) => n + 1),
        () => line.withPermits(1)(Effect.retry(surface.say(said), { schedule: Schedule.recurs(10) })),
        () => Ref.update(pending, (n) => n - 1)
      )
    return {
      adapter: surface.adapter,
      admission,
      places: {
        dm: InMemoryAdapter.addressOf(profile, places.dm),
        group: InMemoryAdapter.addressOf(profile, places.group),
        thread: InMemoryAdapter.addressOf(profile, places.thread)
      },
      chatTypes: { dm: "dm", group: "group", thread: places.thread.chatType },
      say: (spot, text, options) =>
        Effect.gen(function* () {
          const messageId = profile.messageId(yield* Ref.updateAndGet(ids, (n) => n + 1))
          const answered = options?.replyTo
          const replyTo = answered === undefined ? null : { messageId: answered, text: "first", author: "Bob" }
          const by = profile.person(options?.by ?? 1)
          yield* Effect.orDie(deliver({ text, in: places[spot], by, messageId, replyTo }))
          return messageId
        }),
      press: (spot, _messageId, value) => Effect.asVoid(Effect.orDie(surface.press({ value, in: places[spot] }))),
      shown: (address) =>
        Effect.map(surface.posted(address), (all) =>
          all.map((posted) => ({
            messageId: posted.messageId,
            text: posted.text,
            threadId: posted.address.threadId,
            replyTo: posted.address.anchor,
            buttons: posted.buttons.map((button) => button.value)
          }))
        ),
      fault: (fault) => surface.fail({ on: "send", ...faults(profile.platform)[fault] }),
      acknowledged: Effect.repeat(Effect.zipRight(Effect.yieldNow(), Ref.get(pending)), { until: (n) => n === 0 }).pipe(
        Effect.asVoid
      ),
      unacknowledged: Ref.get(pending)
    }
  })

for (const profile of Object.values(profiles)) {
  adapterContract(`in memory as ${profile.platform}`, harnessOf(profile))
}

const shapes: {
  readonly [platform: string]: { readonly user: RegExp; readonly chat: RegExp; readonly group: RegExp }
} = {
  telegram: { user: /^\d{9}$/, chat: /^\d{9}$/, group: /^-100\d+$/ },
  discord: { user: /^\d{18}$/, chat: /^\d{18}$/, group: /^\d{18}$/ },
  slack: { user: /^U\w{10}$/, chat: /^D\w{10}$/, group: /^C\w{10}$/ }
}

const aTurn = (identity: Parameters<typeof SessionIdentity.bind>[0], address: DeliveryOrigin.Address): Turn.Turn =>
  new Turn.Turn({
    id: Turn.TurnId.make("turn-1"),
    parent: null,
    depth: 0,
    identity: SessionIdentity.bind(identity),
    marker: CronMarker.cron({ job: "j", run: "r" }),
    origin: DeliveryOrigin.live(address),
    presence: Presence.nobody("cron"),
    asyncDelivery: true,
    workingDirectory: null
  })

const anywhere = (first: Profile, ...others: ReadonlyArray<Profile>) =>
  Effect.gen(function* () {
    const admission = yield* AdapterAdmission.make
    return AdapterInMemory.layer(first, ...others).pipe(
      Layer.provideMerge(Layer.merge(admission.layer, Registry.layer))
    )
  })

describe("AdapterInMemory", () => {
  it("has the id shapes and key rules of its platform", () => {
    for (const [name, profile] of Object.entries(profiles)) {
      const shape = shapes[name]
      assert.match(profile.person(12).id, shape?.user ?? /never/)
      assert.match(profile.dm(12).chatId, shape?.chat ?? /never/)
      assert.match(profile.group(12).chatId, shape?.group ?? /never/)
    }
    assert.isNotNull(profiles.slack.dm(1).scopeId)
    const thread: Place = profiles.discord.thread(profiles.discord.group(1), 1)
    assert.strictEqual(thread.chatId, thread.threadId)
    assert.strictEqual(thread.parentChatId, profiles.discord.group(1).chatId)
  })

  it.scoped("records what a send was asked for by whom, why and for where", () =>
    Effect.gen(function* () {
      const layer = yield* anywhere(profiles.discord)
      yield* Effect.gen(function* () {
        const { only } = yield* AdapterInMemory
        const place = only.profile.group(3)
        const address = InMemoryAdapter.addressOf(only.profile, place)
        const message = { address, deliveryId: "1", transcriptId: null, buttons: [] }
        const turn = aTurn({ platform: "discord", chatId: place.chatId, sessionKey: "k" }, address)
        yield* Turn.enter(turn)(only.adapter.send({ ...message, text: "by somebody" }))
        yield* only.adapter.send({ ...message, text: "by nobody" })
        const factsOf = (text: string) =>
          Effect.map(
            only.sent.waitFor(text, (sent) => sent.text === text),
            (sent) => sent.facts
          )
        const bound = yield* factsOf("by somebody")
        assert.isTrue(Equal.equals(bound.identity, turn.identity))
        assert.deepStrictEqual(bound.marker, turn.marker)
        assert.deepStrictEqual(bound.origin, turn.origin)
        const unbound = yield* factsOf("by nobody")
        assert.isTrue(Equal.equals(unbound.identity, SessionIdentity.unset))
        assert.deepStrictEqual(unbound.origin, DeliveryOrigin.unset)
      }).pipe(Effect.provide(layer))
    })
  )

  it.scoped("lets several platforms live side by side, registered until the scope closes", () =>
    Effect.gen(function* () {
      const layer = yield* anywhere(profiles.telegram, profiles.slack)
      const registry = yield* Effect.gen(function* () {
        const platforms = yield* AdapterInMemory
        const registry = yield* AdapterRegistry
        assert.deepStrictEqual(
          (yield* registry.all).map((adapter) => adapter.platform),
          ["telegram", "slack"]
        )
        assert.strictEqual((yield* platforms.on("slack")).profile.platform, "slack")
        assert.isTrue((yield* Effect.exit(platforms.on("irc")))._tag === "Failure")
        return registry
      }).pipe(Effect.provide(layer))
      assert.deepStrictEqual(yield* registry.all, [])
    })
  )

  it.scoped("waits for what comes, and tells what did come when it waited in vain", () =>
    Effect.gen(function* () {
      const layer = yield* anywhere(profiles.telegram)
      yield* Effect.gen(function* () {
        const { only } = yield* AdapterInMemory
        const address = InMemoryAdapter.addressOf(only.profile, only.profile.dm(1))
        const waiting = yield* Effect.fork(only.sent.waitFor("the second", () => true, { count: 2 }))
        yield* Effect.yieldNow()
        for (const text of ["a", "b"]) {
          yield* only.adapter.send({ address, text, deliveryId: text, transcriptId: null, buttons: [] })
        }
        assert.strictEqual((yield* Effect.fromFiber(waiting)).text, "b")
        const missed = yield* Effect.flip(only.sent.waitFor("a third", (sent) => sent.text === "c", { seconds: 0.01 }))
        assert.match(missed.message, /a third.*"a".*"b"/s)
      }).pipe(Effect.provide(layer))
    })
  )

  it.scoped("hangs on command", () =>
    Effect.gen(function* () {
      const layer = yield* anywhere(profiles.telegram)
      yield* Effect.gen(function* () {
        const { only } = yield* AdapterInMemory
        const address = InMemoryAdapter.addressOf(only.profile, only.profile.dm(1))
        yield* only.fail({ error: "never" })
        const message = { address, text: "a", deliveryId: "a", transcriptId: null, buttons: [] }
        const sending = yield* Effect.fork(only.adapter.send(message))
        yield* only.sent.waitFor("the attempt", (sent) => sent.error === "never")
        yield* Effect.yieldNow()
        assert.isNull(sending.unsafePoll())
      }).pipe(Effect.provide(layer))
    })
  )
})
