/** Names that a model gives: after the first turns, once, behind them, and never over a person's. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, FastCheck as fc, Option, Schedule } from "effect"
import { Usage } from "../../../src/services/agent/Usage.js"
import type { Session } from "../../../src/services/session/Session.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import * as TitleText from "../../../src/services/session/TitleText.js"
import * as Testing from "../../../src/testing/index.js"

const usage = { inputTokens: 7, outputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }

const named = (answer: string): Testing.StepInput =>
  Testing.parts([
    { _tag: "Text", delta: answer },
    { _tag: "Finish", reason: "stop", usage }
  ])

/** A gateway whose model answers each message with "heard", and is asked for names as `title` says. */
const gateway = (title: Testing.StepInput, modelTitles = true) =>
  Testing.gateway({
    model: Array.from(
      { length: 12 },
      (): Testing.StepInput => (request) =>
        request.systemPrompt === TitleText.instructions ? title : `heard ${request.messages.at(-1)?.text ?? ""}`
    ),
    settings: { sessions: { modelTitles } }
  })

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)
const say = (text: string, answer = `heard ${text}`) =>
  Effect.flatMap(only, (adapter) =>
    Effect.zipRight(
      adapter.say(text),
      adapter.sent.waitFor(answer, (sent) => sent.text.includes(answer), { seconds: 20 })
    )
  )

const session = Effect.flatMap(SessionStore, (sessions) =>
  Effect.flatMap(sessions.list({ owner: null, limit: 1 }), ([newest]) => Effect.fromNullable(newest))
)
const until = (holds: (session: Session) => boolean) =>
  session.pipe(
    Effect.filterOrFail(holds),
    Effect.retry(Schedule.spaced("10 millis")),
    Effect.timeoutFail({ duration: "20 seconds", onTimeout: () => "never" })
  )

/** Requests for a name so far. What a turn sets off is asked for before the next one's answer is heard twice. */
const wanted = Effect.flatMap(Testing.ScriptedModel, ({ requests }) =>
  Effect.map(requests, (all) => all.filter(({ systemPrompt }) => systemPrompt === TitleText.instructions))
)
const untilWanted = (count: number) =>
  wanted.pipe(
    Effect.filterOrFail((all) => all.length >= count),
    Effect.retry(Schedule.spaced("10 millis")),
    Effect.timeoutFail({ duration: "20 seconds", onTimeout: () => "never" })
  )

describe("a name by the model", () => {
  it.scopedLive("comes after the first turn that says something, once, and is paid for by its conversation", () =>
    Effect.gen(function* () {
      yield* say("hello")
      expect(yield* session).toMatchObject({ title: "hello", titleSource: "derived" })
      yield* say("plan the garden with me")
      const { id } = yield* until(({ title }) => title === "Planning the garden")
      expect(yield* session).toMatchObject({ titleSource: "llm" })
      yield* say("and the roses")
      yield* say("and the fence")
      expect((yield* wanted).map(({ messages }) => messages.map(({ text }) => text))).toEqual([
        ["PERSON: hello\nAGENT: heard hello\nPERSON: plan the garden with me\nAGENT: heard plan the garden with me"]
      ])
      expect(yield* Effect.flatMap(Usage, ({ ofSession }) => ofSession(id))).toMatchObject({
        calls: 5,
        inputTokens: 7
      })
    }).pipe(Effect.provide(gateway(named('{"title": "Planning the garden"}'))))
  )

  it.scopedLive("holds nobody up, and does not replace what a person says meanwhile", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const slow: Testing.StepInput = {
        _tag: "Effect",
        effect: Effect.as(Deferred.await(gate), named('{"title": "The model\'s"}'))
      }
      yield* Effect.gen(function* () {
        yield* say("plan the garden")
        yield* untilWanted(1)
        yield* say("still there?")
        yield* say("/title Mine", "Mine")
        yield* Deferred.succeed(gate, undefined)
        const { ofSession } = yield* Usage
        const { id } = yield* session
        yield* ofSession(id).pipe(
          Effect.filterOrFail((line) => line?.inputTokens === 7),
          Effect.retry(Schedule.spaced("10 millis"))
        )
        yield* say("one more")
        expect(yield* session).toMatchObject({ title: "Mine", titleSource: "user" })
      }).pipe(Effect.provide(gateway(slow)))
    })
  )

  it.scopedLive("is given up on after three turns, and the first words stay", () =>
    Effect.gen(function* () {
      for (const [index, text] of ["the garden", "the roses", "the fence"].entries()) {
        yield* say(text)
        yield* untilWanted(index + 1)
      }
      yield* say("the gate")
      yield* say("the path")
      expect(yield* wanted).toHaveLength(3)
      expect(yield* session).toMatchObject({ title: "the garden", titleSource: "derived" })
    }).pipe(Effect.provide(gateway(Testing.fail("model_not_found"))))
  )

  it.scopedLive("is not asked for where the owner wants none", () =>
    Effect.gen(function* () {
      for (const text of ["the garden", "the roses", "the fence"]) yield* say(text)
      expect(yield* wanted).toEqual([])
    }).pipe(Effect.provide(gateway(named('{"title": "Never"}'), false)))
  )
})

describe("what a model answers", () => {
  it("is a name when it is JSON with some words, whatever stands around it", () => {
    expect(TitleText.answered('```json\n{"title": "“Rosen im Garten.”"}\n```')).toBe("Rosen im Garten")
    for (const none of [
      "Roses",
      '{"title": ""}',
      '{"title": "..."}',
      '{"name": "x"}',
      `{"title": "${"a ".repeat(20)}"}`
    ])
      expect([none, TitleText.answered(none)]).toEqual([none, null])
  })

  it("is within the bounds of a name or none, for any answer", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string().map((title) => JSON.stringify({ title }))
        ),
        (answer) => {
          const title = Option.fromNullable(TitleText.answered(answer))
          return Option.isNone(title) || (title.value === TitleText.clean(title.value) && title.value !== "")
        }
      )
    )
  })

  it("is not asked for about a greeting", () => {
    expect(["hi", "Good morning!", "hallo, test", "ok danke"].filter(TitleText.isSubstantive)).toEqual([])
    expect(["plan the garden", "今日の天気", "hi, it is raining"].filter(TitleText.isSubstantive)).toHaveLength(3)
  })
})
