/** Limits in the whole gateway in memory: what was used is a row, and what is used up stops turns, runs and what goes on. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { Usage } from "../../../src/services/agent/Usage.js"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { JobOrigin } from "../../../src/services/schedule/Job.js"
import { Jobs } from "../../../src/services/schedule/Jobs.js"
import * as Testing from "../../../src/testing/index.js"

const finish = (tokens: number) => ({
  _tag: "Finish" as const,
  reason: "stop",
  usage: { inputTokens: tokens, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }
})

/** Says something that costs so many tokens. */
const saying = (text: string, tokens: number): Testing.StepInput =>
  Testing.parts([{ _tag: "Text", delta: text }, finish(tokens)])

const calling = (tokens: number): Testing.StepInput =>
  Testing.parts([{ _tag: "ToolCall", id: "a", name: "read_file", arguments: '{"path":"x"}' }, finish(tokens)])

const settings = (limits: { dailyTokens?: number; dailyUsd?: number; perJobUsd?: number }) => ({
  limits: { dailyTokens: null, dailyUsd: null, perJobUsd: null, ...limits },
  prices: [{ model: "script", input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 }]
})

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)
const say = (text: string) => Effect.flatMap(only, (adapter) => adapter.say(text))
const heard = (text: string) =>
  Effect.flatMap(only, (adapter) => adapter.sent.waitFor(text, (sent) => sent.text.includes(text), { seconds: 20 }))
const asked = Effect.flatMap(Testing.ScriptedModel, ({ requests }) => requests)

describe("what was used", () => {
  it.scopedLive("is counted by day, session and model, with its cost, and told in the chat", () =>
    Effect.gen(function* () {
      yield* say("hello")
      yield* heard("hi")
      yield* say("/usage")
      yield* heard("This conversation: 40 tokens, about $40.00.")
      const usage = yield* Usage
      const [day] = yield* usage.by("day", { days: 1, limit: 10 })
      expect(day).toMatchObject({ calls: 1, inputTokens: 40, costUsd: 40, unpricedCalls: 0 })
      expect(yield* usage.by("model", { days: 1, limit: 10 })).toMatchObject([{ key: "scripted/script", calls: 1 }])
      expect(yield* usage.by("job", { days: 1, limit: 10 })).toEqual([])
    }).pipe(Effect.provide(Testing.gateway({ model: [saying("hi", 40)], settings: settings({}) })))
  )

  it.scopedLive("is counted too when the turn fails in the end", () =>
    Effect.gen(function* () {
      yield* say("hello")
      yield* heard("Some of it may be done already")
      const usage = yield* Usage
      expect(yield* usage.by("day", { days: 1, limit: 10 })).toMatchObject([{ calls: 1, inputTokens: 40 }])
    }).pipe(
      Effect.provide(Testing.gateway({ model: [calling(40), Testing.fail("model_not_found")], settings: settings({}) }))
    )
  )
})

describe("a limit that is reached", () => {
  it.scopedLive("begins no turn, says which limit and until when, and lets commands through", () =>
    Effect.gen(function* () {
      yield* say("one")
      yield* heard("first")
      yield* say("two")
      yield* heard(
        "I did not take this message. Today's limit of 40 tokens is used up (limits.daily_tokens); I go on at 2"
      )
      yield* say("/whoami")
      yield* heard("You are Bob")
      expect((yield* asked).length).toBe(1)
    }).pipe(
      Effect.provide(
        Testing.gateway({ model: [saying("first", 40), saying("never", 1)], settings: settings({ dailyTokens: 40 }) })
      )
    )
  )

  it.scopedLive("ends a turn of many calls at its next one", () =>
    Effect.gen(function* () {
      yield* say("zero")
      yield* heard("done")
      yield* say("loop")
      yield* heard("Today's limit of $40 is used up")
      expect((yield* asked).length).toBeLessThan(5)
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: (request: ModelRequest) =>
            request.messages.some((message) => message._tag === "user" && message.text === "loop")
              ? calling(30)
              : saying("done", 30),
          settings: settings({ dailyUsd: 40 })
        })
      )
    )
  )

  it.scopedLive("holds the job that used it, and no other", () =>
    Effect.gen(function* () {
      const jobs = yield* Jobs
      const maker = {
        origin: new JobOrigin({
          platform: "telegram",
          chatId: "77",
          chatName: null,
          chatType: "dm",
          threadId: null,
          userId: "77",
          scopeId: null
        }),
        createdBy: null
      }
      const dear = yield* jobs.create({ name: "dear", schedule: "every 1h", prompt: "a" }, maker)
      const cheap = yield* jobs.create({ name: "cheap", schedule: "every 1h", prompt: "b" }, maker)
      yield* jobs.runNow(dear.job.id)
      yield* heard("ran a")
      // The run is recorded a moment after its words are heard.
      yield* jobs.runNow(dear.job.id).pipe(Effect.retry({ times: 200, schedule: Schedule.spaced("20 millis") }))
      yield* heard("The job has used its $30 of today (limits.per_job_usd)")
      yield* jobs.runNow(cheap.job.id)
      yield* heard("ran b")
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: (request: ModelRequest) => {
            const last = request.messages.filter((message) => message._tag === "user").at(-1)?.text ?? ""
            return saying(`ran ${last.trimEnd().at(-1) ?? ""}`, 30)
          },
          settings: settings({ perJobUsd: 30 })
        })
      )
    )
  )
})
