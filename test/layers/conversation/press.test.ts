/** Who may press a button in a group: whoever shares the conversation in which the agent asked (gateway.md 5.7). */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type Place, profiles } from "../../../src/layers/memory/Profile.js"
import * as Testing from "../../../src/testing/index.js"

const { telegram } = profiles
const group = telegram.group(1)

/** The first person has the agent do something that needs a yes; the answer presses as somebody and says what became of it. */
const asked = (place: Place) =>
  Effect.gen(function* () {
    const { only } = yield* Testing.AdapterInMemory
    yield* only.say({ text: "go", in: place, by: telegram.person(1) })
    yield* only.sent.waitFor("the question", ({ text }) => text.includes("hermes-press"))
    const posted = yield* only.posted(place)
    const value = posted.flatMap(({ buttons }) => buttons).find((button) => button.value.startsWith("deny:"))?.value
    if (value === undefined) return yield* Effect.dieMessage("the question has no buttons")
    return (person: number) =>
      Effect.map(only.press({ value, in: place, by: telegram.person(person) }), ({ _tag }) => _tag)
  })

const gateway = (groupSessionsPerUser: boolean) =>
  Testing.gateway({
    model: [Testing.call("terminal", { command: "rm -rf /tmp/hermes-press" }), Testing.say("done")],
    settings: { conversation: { groupSessionsPerUser } }
  })

describe("a button in a group", () => {
  it.scopedLive("counts from the person who was asked alone, where each has a conversation of their own", () =>
    Effect.gen(function* () {
      const press = yield* asked(group)
      expect(yield* press(2)).toBe("Ignored")
      expect(yield* press(1)).toBe("Accepted")
    }).pipe(Effect.provide(gateway(true)))
  )

  it.scopedLive("counts from everybody, where the group shares one", () =>
    Effect.gen(function* () {
      const press = yield* asked(group)
      expect(yield* press(2)).toBe("Accepted")
    }).pipe(Effect.provide(gateway(false)))
  )

  it.scopedLive("counts from everybody in a topic, which all share", () =>
    Effect.gen(function* () {
      const press = yield* asked(telegram.thread(group, 1))
      expect(yield* press(2)).toBe("Accepted")
    }).pipe(Effect.provide(gateway(true)))
  )
})
