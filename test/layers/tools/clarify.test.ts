/** A question in the middle of a turn, through the whole gateway in memory (gateway.md 8.3). */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Presence from "../../../src/fibers/Presence.js"
import * as Turn from "../../../src/fibers/Turn.js"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import * as Clarification from "../../../src/services/agent/Clarification.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { Database } from "../../../src/services/state/Database.js"
import { turn } from "../support/hands.js"
import * as Testing from "../../../src/testing/index.js"

const only = Effect.map(Testing.AdapterInMemory, (memory) => memory.only)
const heard = (text: string, count = 1) =>
  Effect.flatMap(only, (adapter) =>
    adapter.sent.waitFor(text, (sent) => sent.text.includes(text), { count, seconds: 20 })
  )

/** Asks, then says what it was told. */
const asks =
  (args: object) =>
  (request: ModelRequest): Testing.StepInput => {
    const last = request.messages.at(-1)
    return last?._tag === "tool" ? Testing.say(`told: ${last.text}`) : Testing.call("clarify", args)
  }

/** Two chats, each with its own person. */
const { telegram } = Testing.profiles
const at1 = { in: telegram.dm(1), by: telegram.person(1) }
const at2 = { in: telegram.dm(2), by: telegram.person(2) }

const colours = { question: "Which colour?", choices: ["red", "blue"] }

const states = Effect.flatMap(Database, (database) =>
  database.read("test", (sql) =>
    sql.unsafe<{ state: string; answer: string | null }>("SELECT state, answer FROM clarifications ORDER BY asked_at")
  )
)

describe("clarify", () => {
  it.scopedLive("is asked where the person is and answered there, by number, by word or by other words", () =>
    Effect.gen(function* () {
      const adapter = yield* only
      yield* adapter.say({ text: "paint", ...at1 })
      const asked = yield* heard("Which colour?")
      expect(asked.address.chatId).toBe(at1.in.chatId)
      expect(asked.text).toContain("1. red\n2. blue")
      // somebody else's words are their own
      yield* adapter.say({ text: "2", ...at2 })
      yield* heard("Which colour?", 2)
      expect((yield* states).map(({ state }) => state)).toEqual(["open", "open"])
      yield* adapter.say({ text: "2", ...at1 })
      const answer = yield* heard("told: The answer: blue")
      expect(answer.address.chatId).toBe(at1.in.chatId)
      yield* adapter.say({ text: "something green", ...at2 })
      expect((yield* heard("told: The answer: something green")).address.chatId).toBe(at2.in.chatId)
      expect(yield* states).toEqual([
        { state: "answered", answer: "blue" },
        { state: "answered", answer: "something green" }
      ])
    }).pipe(Effect.provide(Testing.gateway({ model: asks(colours) })))
  )

  it.scopedLive("takes a button of the chat that was asked, and no other's", () =>
    Effect.gen(function* () {
      const adapter = yield* only
      yield* adapter.say({ text: "paint", ...at1 })
      const { buttons } = yield* heard("Which colour?")
      expect(buttons.map(({ label }) => label)).toEqual(["red", "blue"])
      const value = buttons[0]?.value ?? ""
      expect(yield* adapter.press({ value, ...at2 })).toMatchObject({ _tag: "Ignored" })
      expect(yield* adapter.press({ value: `${value}9`, ...at1 })).toMatchObject({ _tag: "Ignored" })
      expect(yield* adapter.press({ value, ...at1 })).toMatchObject({ _tag: "Accepted" })
      yield* heard("told: The answer: red")
      expect(yield* adapter.press({ value, ...at1 })).toMatchObject({ _tag: "Ignored" })
    }).pipe(Effect.provide(Testing.gateway({ model: asks(colours) })))
  )

  it.scopedLive("is answered by its id, once, and told of in the streams", () =>
    Effect.gen(function* () {
      const adapter = yield* only
      const clarifications = yield* Clarification.Clarifications
      const stream = yield* Effect.flatMap(Activity, (activity) => activity.subscribe)
      const told = yield* stream.pipe(
        Stream.filter(({ _tag }) => _tag.startsWith("clarification.")),
        Stream.take(3),
        Stream.runCollect,
        Effect.fork
      )
      yield* adapter.say({ text: "paint", ...at1 })
      yield* heard("Which colour?")
      yield* adapter.say({ text: "paint", ...at2 })
      yield* heard("Which colour?", 2)
      const [first, second] = yield* clarifications.open
      const id = first?.id ?? ""
      expect(yield* Effect.flip(clarifications.reply(`${id}0`, "2", "owner"))).toMatchObject({
        _tag: "NothingToAnswer"
      })
      expect(yield* clarifications.reply(id, "2", "owner")).toMatchObject({ answer: "blue", by: "owner" })
      expect((yield* heard("told: The answer: blue")).address.chatId).toBe(at1.in.chatId)
      expect(yield* Effect.flip(clarifications.reply(id, "1", "owner"))).toMatchObject({ _tag: "NothingToAnswer" })
      expect((yield* clarifications.open).map((row) => row.id)).toEqual([second?.id])
      expect([...(yield* Fiber.join(told))]).toMatchObject([
        { _tag: "clarification.asked", clarificationId: id, ...colours, several: false },
        { _tag: "clarification.asked", clarificationId: second?.id },
        { _tag: "clarification.settled", clarificationId: id, answer: "blue" }
      ])
    }).pipe(Effect.provide(Testing.gateway({ model: asks(colours) })))
  )

  it.scopedLive("goes on without an answer", () =>
    Effect.gen(function* () {
      const adapter = yield* only
      yield* adapter.say("paint")
      yield* heard("told: No answer came in time")
      expect((yield* states).map(({ state }) => state)).toEqual(["expired"])
    }).pipe(Effect.provide(Testing.gateway({ model: asks(colours), settings: { approvals: { timeoutSeconds: 0.2 } } })))
  )

  it.scopedLive("asks nobody for a scheduled run, a helper, or where nobody reads", () =>
    Effect.gen(function* () {
      const { ask } = yield* Clarification.Clarifications
      const asked = { callId: "call", question: "Which?", choices: [], several: false }
      const said = (changes: Parameters<typeof turn>[1]) =>
        Turn.enter(turn("a", changes))(
          Effect.map(Effect.either(ask(asked)), (told) => (told._tag === "Left" ? told.left.message : told.right))
        )
      const marker = CronMarker.cron({ job: "job", run: "run", createdBy: null })
      expect(yield* said({ marker })).toContain("Nobody is there")
      expect(yield* said({ depth: 1 })).toContain("A helper asks nobody")
      expect(yield* said({ presence: Presence.nobody("unattended") })).toContain("Nobody is there")
      expect(yield* said({ origin: DeliveryOrigin.cleared })).toContain("End your turn with the question")
      expect(yield* states).toEqual([])
      // the negative control: the same turn without what stops it asks, and waits for its answer
      expect(yield* said({})).toBe(null)
      expect(yield* states).toHaveLength(1)
    }).pipe(Effect.provide(Testing.gateway({ model: asks(colours), settings: { approvals: { timeoutSeconds: 0.2 } } })))
  )

  it("understands numbers and words", () => {
    const choices = ["red", "dark blue", "3"]
    expect(Clarification.meant("2.", choices, false)).toBe("dark blue")
    expect(Clarification.meant("Dark Blue", choices, false)).toBe("dark blue")
    expect(Clarification.meant("1, 2", choices, true)).toBe("red, dark blue")
    expect(Clarification.meant("1 and 2", choices, true)).toBe("red, dark blue")
    expect(Clarification.meant("9", choices, false)).toBe("9")
    expect(Clarification.meant("neither", choices, true)).toBe("neither")
  })
})
