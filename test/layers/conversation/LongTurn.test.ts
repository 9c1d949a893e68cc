/** A turn in which nothing happens, under the test clock: what its chat hears, and that it ends. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, TestClock, TestServices } from "effect"
import { ModelError } from "../../../src/services/agent/ModelRoute.js"
import { Conversations } from "../../../src/services/conversation/Conversations.js"
import * as Notice from "../../../src/services/delivery/Notice.js"
import * as Testing from "../../../src/testing/index.js"

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)
const say = (text: string) => Effect.flatMap(only, (adapter) => adapter.say(text))
const heard = (text: string) =>
  Effect.flatMap(only, (adapter) => adapter.sent.waitFor(text, (sent) => sent.text.includes(text), { seconds: 20 }))
const texts = Effect.flatMap(only, (adapter) =>
  Effect.map(adapter.sent.all, (all) => all.filter(({ kind }) => kind === "send").map(({ text }) => text))
)
const asked = Effect.flatMap(Testing.ScriptedModel, ({ requests }) => requests).pipe(
  // In real time: the test clock stands still while the message is stored.
  Effect.zipLeft(TestServices.provideLive(Effect.sleep("10 millis"))),
  Effect.repeat({ until: (all) => all.length > 0 })
)

/** Lets time pass, and what is due in it happen. */
const minutes = (count: number) =>
  Effect.zipRight(TestClock.adjust(`${count} minutes`), TestServices.provideLive(Effect.sleep("20 millis")))

const backend = { provider: "scripted", model: "script" }
const error = new ModelError({
  reason: "server_error",
  provider: "scripted",
  detail: "boom",
  status: 500,
  retryAfterMillis: null
})

describe("a turn in which nothing happens", () => {
  it.scoped("is told of, warned of and ended, and the next message is answered", () =>
    Effect.gen(function* () {
      yield* say("hang")
      yield* asked
      yield* minutes(4)
      yield* heard("Still working, 3 min.")
      yield* minutes(2)
      yield* heard("I may be stuck: no progress for 5 min.")
      yield* minutes(10)
      yield* heard("Nothing has happened for 15 min.")
      yield* minutes(15)
      yield* heard("I stopped: nothing had happened for 30 min.")
      yield* minutes(1)
      yield* say("hello")
      yield* heard("fine")
      const views = yield* (yield* Conversations).views
      expect(views.every(({ phase }) => phase !== "stopping")).toBe(true)
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: (request) =>
            request.messages.at(-1)?.text.includes("hello") === true ? Testing.say("fine") : Testing.hang()
        })
      )
    )
  )

  it.scoped("gives no sign of life in quiet hours, and still says what has to be known", () =>
    Effect.gen(function* () {
      yield* say("hang")
      yield* asked
      yield* minutes(6)
      yield* heard("I may be stuck")
      expect((yield* texts).filter((text) => text.startsWith("Still working"))).toEqual([])
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: () => Testing.hang(),
          settings: { notices: { quietHours: { from: 0, until: 86_399 } } }
        })
      )
    )
  )

  it.scoped("says that the model has trouble, once, and that it is the model that is waited for", () =>
    Effect.gen(function* () {
      yield* say("hello")
      yield* asked
      yield* heard("The scripted model has errors (500). I ask again in 6 seconds.")
      yield* minutes(4)
      yield* heard("Still working, 3 min. (The scripted model has errors (500))")
      yield* minutes(2)
      yield* heard("I still wait for the model, for 5 min now: The scripted model has errors (500). /stop ends it.")
      const told = yield* texts
      expect(told.filter((text) => text.includes("I ask again"))).toHaveLength(1)
      expect(told.filter((text) => text.includes("stuck"))).toEqual([])
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: ({ waits = () => Effect.void }) => ({
            _tag: "Effect",
            effect: Effect.forEach([2_000, 6_000, 15_000], (millis) => waits({ backend, error, millis })).pipe(
              Effect.as(Testing.hang())
            )
          })
        })
      )
    )
  )

  it("tells nobody of /stop who has nowhere to say it", () => {
    const single = { minutes: 5, doing: null, trouble: null, stoppable: false }
    expect(Notice.runStalled(single).text).toBe("I may be stuck: no progress for 5 min.")
    expect(Notice.runInactiveWarning(single).text).not.toContain("/stop")
  })
})
