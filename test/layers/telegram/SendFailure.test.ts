import { describe, expect, it } from "@effect/vitest"
import { Effect, FastCheck as fc, Random } from "effect"
import { BotApiRefused, BotApiUnreachable } from "../../../src/layers/telegram/BotApi.js"
import { format } from "../../../src/layers/telegram/Formatting.js"
import { delay, judge, Unsettled } from "../../../src/layers/telegram/Reconnection.js"
import { isThreadGone, isUnchanged, sendErrorOf } from "../../../src/layers/telegram/SendFailure.js"
import { split } from "../../../src/services/delivery/Splitter.js"
import { scaled } from "../../scale.js"

const refused = (code: number, description: string, retryAfterSeconds: number | null = null) =>
  new BotApiRefused({ method: "sendMessage", code, description, retryAfterSeconds, migratedTo: null })
const unreachable = (sent: boolean) => new BotApiUnreachable({ method: "sendMessage", sent, detail: "gone" })

describe("Telegram send failures", () => {
  it.each([
    [403, "Forbidden: bot was blocked by the user", "forbidden"],
    [403, "Forbidden: bot was kicked from the supergroup chat", "forbidden"],
    [400, "Bad Request: chat not found", "chat_not_found"],
    [400, "Bad Request: not enough rights to send text messages to the chat", "forbidden"],
    [400, "Bad Request: message is too long", "too_long"],
    [400, "Bad Request: message text is empty", "empty"],
    [400, "Bad Request: TOPIC_CLOSED", "topic_closed"],
    [400, "Bad Request: something new", "bad_request"],
    [404, "Not Found: method not found", "bad_request"],
    [413, "Request Entity Too Large", "too_long"]
  ])("%i %s is refused as %s", (code, description, expected) => {
    expect(sendErrorOf(refused(code, description), "once")).toMatchObject({ _tag: "SendRefused", code: expected })
  })

  it("waits as long as flood control asks", () => {
    expect(sendErrorOf(refused(429, "Too Many Requests", 13), "once")).toMatchObject({
      _tag: "SendRetryable",
      retryAfterMillis: 13_000
    })
  })

  it.each([
    [401, "Unauthorized"],
    [404, "Not Found"]
  ])("%i %s is about the token and not the message, which waits for another one", (code, description) => {
    expect(sendErrorOf(refused(code, description), "once")).toMatchObject({
      _tag: "SendRetryable",
      retryAfterMillis: null
    })
  })

  it("never promises that a message did not leave when it may have", () => {
    expect(sendErrorOf(unreachable(false), "once")._tag).toBe("SendRetryable")
    expect(sendErrorOf(unreachable(true), "once")._tag).toBe("SendUncertain")
    expect(sendErrorOf(refused(502, "Bad Gateway"), "once")._tag).toBe("SendUncertain")
    expect(sendErrorOf(refused(500, "Internal Server Error"), "once")._tag).toBe("SendUncertain")
    expect(sendErrorOf(unreachable(true), "idempotent")._tag).toBe("SendRetryable")
  })

  it("knows a topic that is gone and an edit that changes nothing", () => {
    expect(isThreadGone(refused(400, "Bad Request: message thread not found"))).toBe(true)
    expect(isThreadGone(refused(400, "Bad Request: chat not found"))).toBe(false)
    expect(isUnchanged(refused(400, "Bad Request: message is not modified: specified new …"))).toBe(true)
    expect(isUnchanged(unreachable(true))).toBe(false)
  })
})

describe("Telegram reconnection", () => {
  it("gives up on a bad token and on another poller, and on nothing else", () => {
    expect(judge(refused(401, "Unauthorized"), 0)).toMatchObject({ _tag: "GiveUp" })
    expect(judge(refused(404, "Not Found"), 0)).toMatchObject({ _tag: "GiveUp" })
    const conflict = refused(409, "Conflict: terminated by other getUpdates request")
    expect([1, 2, 3].map((n) => judge(conflict, n)._tag)).toEqual(["Retry", "Retry", "GiveUp"])
    const webhook = refused(409, "Conflict: can't use getUpdates method while webhook is active")
    expect(judge(webhook, 1)._tag).toBe("RemoveWebhook")
    expect(judge(refused(429, "Too Many Requests", 5), 0)).toEqual({ _tag: "Retry", afterMillis: 5_000 })
    for (const error of [unreachable(true), unreachable(false), refused(500, "x"), new Unsettled({ detail: "disk" })]) {
      expect(judge(error, 0)._tag).toBe("Retry")
    }
  })

  it.effect("waits longer each time, at most 30 s, and never the same", () =>
    Effect.gen(function* () {
      const delays = yield* Effect.forEach([1, 2, 3, 7, 8, 500], delay)
      for (const [index, step] of [500, 1_000, 2_000, 30_000, 30_000, 30_000].entries()) {
        expect(delays[index]).toBeGreaterThanOrEqual(step / 2)
        expect(delays[index]).toBeLessThanOrEqual(step)
      }
      expect(new Set(yield* Effect.replicateEffect(delay(9), 20)).size).toBeGreaterThan(10)
    }).pipe(Effect.withRandom(Random.make("seed")))
  )
})

describe("Telegram formatting", () => {
  it("leaves text without fences alone, whatever it looks like", () => {
    for (const text of ["plain", "*bold _never", "<b>&amp;", "[a](b", "`x`"])
      expect(format(text)).toEqual({ text, entities: [] })
  })

  it("turns a fence into an entity with its language", () => {
    expect(format("Look: 😀\n```ts\nconst a = 1\n```\ndone")).toEqual({
      text: "Look: 😀\nconst a = 1\ndone",
      entities: [{ type: "pre", offset: 9, length: 11, language: "ts" }]
    })
    expect(format("```\na\n```\n\n~~~python title\nb\n~~~").entities).toEqual([
      { type: "pre", offset: 0, length: 1 },
      { type: "pre", offset: 3, length: 1, language: "python" }
    ])
    expect(format("```js\nstill growing").entities).toEqual([{ type: "pre", offset: 0, length: 13, language: "js" }])
    expect(format("```\n\n```")).toEqual({ text: "```\n\n```", entities: [] })
  })

  it("sends no half of a character", () => {
    expect(format("a\uD83Db").text).toBe("a\uFFFDb")
  })

  const parts = fc.constantFrom(
    "text ",
    "\n```ts\n",
    "\n```\n",
    "\n~~~\n",
    "😀",
    "`",
    "```",
    " \n",
    "x".repeat(300),
    "\uD83D"
  )

  it.prop(
    "gives entities that lie within the text, apart from each other, and no empty message",
    [fc.array(parts, { minLength: 1, maxLength: 60 })],
    ([pieces]) => {
      const whole = pieces.join("")
      for (const piece of split(whole, { maxMessageLength: 400, lengthUnit: "utf16" })) {
        const { text, entities } = format(piece)
        expect(text.trim() === "").toBe(piece.trim() === "")
        expect(text.length).toBeLessThanOrEqual(400)
        let end = 0
        for (const entity of entities) {
          expect(entity.offset).toBeGreaterThanOrEqual(end)
          expect(entity.length).toBeGreaterThan(0)
          end = entity.offset + entity.length
        }
        expect(end).toBeLessThanOrEqual(text.length)
      }
    },
    { fastCheck: { numRuns: scaled(2_000) } }
  )
})
