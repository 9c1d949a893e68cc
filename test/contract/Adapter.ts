/** What every adapter does, whatever the platform behind it (gateway.md 4.1–4.3). */
import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope, TestClock } from "effect"
import { type Address, address } from "../../src/fibers/DeliveryOrigin.js"
import * as SessionIdentity from "../../src/fibers/SessionIdentity.js"
import type { Adapter, OutboundMessage } from "../../src/services/adapter/Adapter.js"
import type { ChatType } from "../../src/services/conversation/InboundEvent.js"
import { measure, split } from "../../src/services/delivery/Splitter.js"
import { StateDiskFull } from "../../src/services/state/StateError.js"
import { scaled } from "../scale.js"
import type { AdapterAdmission } from "./AdapterAdmission.js"

export type Spot = "dm" | "group" | "thread"

/** A message as the platform shows it. */
export interface Shown {
  readonly messageId: string
  readonly text: string
  readonly threadId: string | null
  readonly replyTo: string | null
  readonly buttons: ReadonlyArray<string>
}

export type PlatformFault = "forbidden" | "chat_not_found" | "flood" | "unreachable" | "lost"

/** A connected adapter with the platform behind it in the test's hands. */
export interface AdapterHarness {
  readonly adapter: Adapter
  readonly admission: AdapterAdmission
  /** Places without an anchor; one that the platform does not have is null. */
  readonly places: { readonly [Place in Spot]: Address | null }
  readonly chatTypes: { readonly [Place in Spot]: ChatType }
  /** Somebody writes something for the bot; answers the platform's message id. */
  readonly say: (
    spot: Spot,
    text: string,
    options?: { readonly by?: number; readonly replyTo?: string }
  ) => Effect.Effect<string>
  /** Null where the platform has no buttons. */
  readonly press: ((spot: Spot, messageId: string, value: string) => Effect.Effect<void>) | null
  /** All messages of a chat, oldest first. */
  readonly shown: (address: Address) => Effect.Effect<ReadonlyArray<Shown>>
  /** What goes wrong with the next send (`flood` asks for 7 s, `lost` loses the answer after the message was taken). */
  readonly fault: (fault: PlatformFault) => Effect.Effect<void>
  /** Succeeds when the platform holds no message that was not acknowledged. */
  readonly acknowledged: Effect.Effect<void>
  /** Messages that the platform holds unacknowledged. */
  readonly unacknowledged: Effect.Effect<number>
  /** What this platform does not have, or what cannot go wrong with it: the tests of that are not about it. */
  readonly without?: ReadonlySet<PlatformFault | "replies" | "bots">
}

const outbound = (at: Address, text: string, facts: Partial<OutboundMessage> = {}): OutboundMessage => ({
  address: at,
  text,
  deliveryId: `delivery-${text.slice(0, 20)}`,
  transcriptId: null,
  buttons: [],
  ...facts
})

const anchored = (at: Address, anchor: string): Address => address({ ...at, anchor })

/** Lets the clock go on while something that also needs a socket is waited for. */
export const advancing = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.raceFirst(
    self,
    Effect.forever(
      Effect.zipRight(
        TestClock.adjust("50 millis"),
        Effect.promise(() => new Promise(setImmediate))
      )
    )
  )

const has = (harness: AdapterHarness, what: PlatformFault | "replies" | "bots"): boolean =>
  harness.without?.has(what) !== true

const place = (harness: AdapterHarness, spot: Spot): Address => {
  const found = harness.places[spot]
  return found ?? assert.fail(`no ${spot} here`)
}

export const adapterContract = <E>(name: string, makeHarness: Effect.Effect<AdapterHarness, E, Scope.Scope>) =>
  describe(`Adapter ${name}`, () => {
    const spots = (harness: AdapterHarness): ReadonlyArray<Spot> =>
      (["dm", "group", "thread"] as const).filter((spot) => harness.places[spot] !== null)

    it.scoped("a message lands in the chat and thread it is addressed to, as an answer to its anchor", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        for (const spot of spots(harness)) {
          const asked = yield* harness.say(spot, `asked in ${spot}`)
          const at = anchored(place(harness, spot), asked)
          const receipt = yield* harness.adapter.send(outbound(at, `answered in ${spot}`))
          const found = (yield* harness.shown(at)).filter((one) => one.text === `answered in ${spot}`)
          assert.deepStrictEqual(
            found.map(({ threadId, replyTo }) => ({ threadId, replyTo })),
            [{ threadId: at.threadId, replyTo: has(harness, "replies") ? asked : null }]
          )
          // Where the platform names no message, its proof may be the row that holds it (decision 22).
          if (harness.adapter.capabilities.platformIds || receipt.platformMessageId !== null)
            assert.strictEqual(receipt.platformMessageId, found[0]?.messageId)
          assert.isNull(receipt.note)
        }
      })
    )

    it.scoped("what a person wrote comes with its source in full, and carries nobody's turn", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        for (const spot of spots(harness)) {
          const before = yield* harness.say(spot, "first")
          const messageId = yield* harness.say(spot, `hello from ${spot}`, { by: 2, replyTo: before })
          const { event, arrival, facts } = yield* harness.admission.admitted.waitFor(
            `the ${spot} message`,
            (one) => one.event.text === `hello from ${spot}`
          )
          const at = place(harness, spot)
          const { source } = event
          assert.deepInclude(
            { ...source },
            { platform: harness.adapter.platform, chatId: at.chatId, threadId: at.threadId, isBot: false }
          )
          assert.strictEqual(source.chatType, harness.chatTypes[spot])
          assert.isNotNull(source.userId)
          if (has(harness, "bots")) assert.isTrue(source.userName !== null && source.botId !== null)
          assert.strictEqual(event.messageId, messageId)
          if (has(harness, "replies")) {
            assert.strictEqual(event.replyTo?.messageId, before)
            assert.strictEqual(event.replyTo?.text, "first")
          }
          assert.strictEqual(arrival.asyncDelivery, harness.adapter.capabilities.asyncDelivery)
          assert.isNull(arrival.unattended)
          assert.deepStrictEqual({ ...facts.identity }, { ...SessionIdentity.unset })
          assert.strictEqual(facts.marker._tag, "Unset")
          assert.strictEqual(facts.origin._tag, "Unset")
        }
      })
    )

    it.scoped("messages of a chat are admitted in order, whatever other chats do", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        const count = scaled(300, 30)
        const all = spots(harness)
        yield* Effect.forEach(
          all,
          (spot) => Effect.forEach(Array.from({ length: count }), (_, n) => harness.say(spot, `${spot} ${n}`)),
          { concurrency: "unbounded", discard: true }
        )
        yield* harness.admission.admitted.waitFor("all of them", () => true, { count: count * all.length })
        const texts = (yield* harness.admission.admitted.all).map((one) => one.event.text)
        for (const spot of all) {
          assert.deepStrictEqual(
            texts.filter((text) => text.startsWith(`${spot} `)),
            Array.from({ length: count }, (_, n) => `${spot} ${n}`)
          )
        }
      })
    )

    it.scoped("a message is acknowledged only after admission came back", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        yield* harness.admission.close
        yield* Effect.fork(harness.say("dm", "held"))
        // Another one behind it cannot be what confirms the first.
        yield* Effect.fork(harness.say("dm", "behind"))
        for (let n = 0; n < 50; n += 1) yield* Effect.promise(() => new Promise(setImmediate))
        assert.isAbove(yield* harness.unacknowledged, 0)
        assert.strictEqual((yield* harness.admission.admitted.all).length, 0)
        yield* harness.admission.open
        yield* harness.admission.admitted.waitFor("the message", (one) => one.event.text === "behind")
        yield* advancing(harness.acknowledged)
      })
    )

    it.scoped("a message that could not be stored comes again, before those behind it, and only once more", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        yield* harness.admission.failNext(new StateDiskFull({ operation: "accept", detail: "full" }), 2)
        yield* Effect.fork(harness.say("dm", "one"))
        yield* Effect.yieldNow()
        yield* Effect.fork(harness.say("dm", "two"))
        yield* advancing(harness.admission.admitted.waitFor("the second", (one) => one.event.text === "two"))
        yield* advancing(harness.acknowledged)
        assert.deepStrictEqual(
          (yield* harness.admission.admitted.all).map((one) => one.event.text),
          ["one", "two"]
        )
      })
    )

    it.scoped("a refusal names its reason and nothing is shown", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        const at = place(harness, "dm")
        for (const code of (["forbidden", "chat_not_found"] as const).filter((fault) => has(harness, fault))) {
          yield* harness.fault(code)
          const error = yield* Effect.flip(harness.adapter.send(outbound(at, `refused ${code}`)))
          assert.strictEqual(error._tag, "SendRefused")
          assert.strictEqual(error._tag === "SendRefused" ? error.code : "", code)
        }
        assert.deepStrictEqual(
          (yield* harness.shown(at)).filter((one) => one.text.startsWith("refused")),
          []
        )
        yield* harness.adapter.send(outbound(at, "works again"))
      })
    )

    it.scoped("flood control says how long to wait, and a platform out of reach that nothing left", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        const at = place(harness, "dm")
        if (has(harness, "flood")) {
          yield* harness.fault("flood")
          const flooded = yield* Effect.flip(harness.adapter.send(outbound(at, "flooded")))
          assert.strictEqual(flooded._tag, "SendRetryable")
          assert.strictEqual(flooded._tag === "SendRetryable" ? flooded.retryAfterMillis : null, 7_000)
          yield* TestClock.adjust("7 seconds")
        }
        yield* harness.fault("unreachable")
        const away = yield* Effect.flip(harness.adapter.send(outbound(at, "away")))
        assert.strictEqual(away._tag, "SendRetryable")
        assert.deepStrictEqual(yield* harness.shown(at), [])
      })
    )

    it.scoped("a message whose answer is lost is uncertain, and never sent a second time", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        if (!has(harness, "lost")) return
        const at = place(harness, "dm")
        yield* harness.fault("lost")
        const error = yield* Effect.flip(harness.adapter.send(outbound(at, "perhaps")))
        assert.strictEqual(error._tag, "SendUncertain")
        yield* harness.adapter.send(outbound(at, "after"))
        assert.deepStrictEqual(
          (yield* harness.shown(at)).map((one) => one.text),
          ["perhaps", "after"]
        )
      })
    )

    it.scoped("an edit replaces the text; the last one takes the buttons away", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        const { capabilities, edit, send } = harness.adapter
        if (!capabilities.messageEditing) return
        const at = place(harness, "dm")
        const buttons = capabilities.buttons ? [{ label: "Yes", value: "approve:1" }] : []
        const { platformMessageId } = yield* send(outbound(at, "growing", { buttons }))
        assert.isNotNull(platformMessageId)
        if (platformMessageId === null) return
        yield* edit(at, platformMessageId, "growing more", { final: false })
        yield* edit(at, platformMessageId, "growing more", { final: false })
        assert.deepInclude((yield* harness.shown(at)).at(-1), {
          messageId: platformMessageId,
          text: "growing more",
          buttons: buttons.map((button) => button.value)
        })
        yield* edit(at, platformMessageId, "grown", { final: true })
        assert.deepInclude((yield* harness.shown(at)).at(-1), { text: "grown", buttons: [] })
        const gone = yield* Effect.flip(edit(at, "999999", "nobody", { final: true }))
        assert.strictEqual(gone._tag, "SendRefused")
      })
    )

    it.scoped("a button's value comes back with who pressed it and where", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        if (harness.press === null) return
        for (const spot of spots(harness)) {
          const at = place(harness, spot)
          const buttons = [
            { label: "Approve", value: `approve:${spot}` },
            { label: "Deny", value: `deny:${spot}` }
          ]
          const { platformMessageId } = yield* harness.adapter.send(outbound(at, "May I?", { buttons }))
          assert.deepStrictEqual((yield* harness.shown(at)).at(-1)?.buttons, [`approve:${spot}`, `deny:${spot}`])
          yield* harness.press(spot, platformMessageId ?? "", `deny:${spot}`)
          const { event, kind } = yield* harness.admission.admitted.waitFor(
            "the press",
            (one) => one.value === `deny:${spot}`
          )
          assert.strictEqual(kind, "press")
          assert.isNotNull(event.source.userId)
          assert.deepInclude({ ...event.source }, { chatId: at.chatId, threadId: at.threadId })
        }
      })
    )

    it.scoped("the longest message fits, and every piece of a longer one", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        const { capabilities, send } = harness.adapter
        const at = place(harness, "dm")
        const longest = "😀".repeat(Math.floor(capabilities.maxMessageLength / measure("😀", capabilities.lengthUnit)))
        yield* send(outbound(at, longest))
        const code = `\`\`\`ts\n${"const a = 1 // 😀\n".repeat(1_000)}\`\`\`\n`
        const parts = split(code.repeat(4), capabilities)
        for (const part of parts) yield* send(outbound(at, part))
        assert.strictEqual((yield* harness.shown(at)).length, 1 + parts.length)
      })
    )

    it.scoped("text that is no valid Unicode is sent all the same", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        const at = place(harness, "dm")
        yield* harness.adapter.send(outbound(at, "half a \uD83D pair, _unclosed *markup [and](brackets"))
        assert.match(
          (yield* harness.shown(at)).at(-1)?.text ?? "",
          /^half a .* pair, _unclosed \*markup \[and\]\(brackets$/
        )
      })
    )

    it.scoped("many chats are sent to at once, each its own", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        const all = spots(harness)
        const count = scaled(200, 30)
        yield* Effect.forEach(
          Array.from({ length: count }),
          (_, n) => harness.adapter.send(outbound(place(harness, all[n % all.length] ?? "dm"), `note ${n}`)),
          { concurrency: "unbounded", discard: true }
        )
        for (const [index, spot] of all.entries()) {
          const at = place(harness, spot)
          const notes = (yield* harness.shown(at)).filter(
            (one) => one.threadId === at.threadId && one.text.startsWith("note ")
          )
          assert.deepStrictEqual(
            notes.map((one) => Number(one.text.slice(5))).sort((a, b) => a - b),
            Array.from({ length: count }, (_, n) => n).filter((n) => n % all.length === index)
          )
        }
      })
    )

    it.scoped("typing never fails, and something can be said about any chat", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        const { typing, chatInfo } = harness.adapter
        for (const spot of spots(harness)) yield* typing(place(harness, spot))
        yield* typing(address({ ...place(harness, "dm"), chatId: "123123123" }))
        const chats = (["dm", "group"] as const).filter((spot) => harness.places[spot] !== null)
        for (const spot of chats) yield* harness.say(spot, `here in ${spot}`)
        yield* harness.admission.admitted.waitFor("all", () => true, { count: chats.length })
        for (const spot of chats) assert.strictEqual((yield* chatInfo(place(harness, spot).chatId)).type, spot)
        assert.isNotEmpty((yield* chatInfo("-100424242")).name)
      })
    )

    it.scoped("a fiber that must not be interrupted can send", () =>
      Effect.gen(function* () {
        const harness = yield* makeHarness
        const at = place(harness, "dm")
        yield* Effect.uninterruptible(harness.adapter.send(outbound(at, "whole")))
        assert.strictEqual((yield* harness.shown(at)).at(-1)?.text, "whole")
      })
    )
  })
