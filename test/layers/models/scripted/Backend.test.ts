import { FileSystem } from "@effect/platform"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Stream, TestClock } from "effect"
import * as Scripted from "../../../../src/layers/models/scripted/Backend.js"
import { ModelRoute } from "../../../../src/services/agent/ModelRoute.js"
import {
  call,
  calls,
  delay,
  effect,
  fail,
  hang,
  parts,
  saySlowly,
  ScriptedModel,
  scriptedModel
} from "../../../../src/testing/ScriptedModel.js"
import { ask, assistant, callsOf, collect, finishOf, reasoningOf, textOf, toolResult, user } from "../fixture.js"

describe("a script as JSON", () => {
  const withScript = (script: unknown) =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const folder = yield* files.makeTempDirectoryScoped()
      yield* files.writeFileString(`${folder}/script.json`, JSON.stringify(script))
      return yield* Scripted.fromModelName(`${folder}/script.json`, 1_000)
    })

  it.scoped("goes a step further with each answer of the conversation, also after a restart", () =>
    Effect.gen(function* () {
      const script = {
        steps: [
          { reasoning: "hm", text: "Looking.", calls: [{ name: "weather", arguments: { city: "Bern" } }] },
          { text: ["It ", "rains."] },
          { fail: { reason: "rate_limit", status: 429, retryAfterMillis: 5_000 } }
        ]
      }
      const first = yield* collect(yield* withScript(script), ask("weather?"))
      assert.deepStrictEqual(
        [reasoningOf(first), textOf(first), callsOf(first), finishOf(first)?.reason],
        ["hm", "Looking.", [{ id: "call_1", name: "weather", arguments: '{"city":"Bern"}' }], "tool_calls"]
      )
      const rows = [
        user("weather?"),
        assistant("Looking.", [{ id: "call_1", name: "weather", arguments: "{}" }]),
        toolResult("call_1", "weather", "rain")
      ]
      assert.strictEqual(textOf(yield* collect(yield* withScript(script), ask(...rows))), "It rains.")
      const error = yield* Effect.flip(collect(yield* withScript(script), ask(...rows, assistant("It rains."), "and?")))
      assert.deepStrictEqual([error.reason, error.status, error.retryAfterMillis], ["rate_limit", 429, 5_000])
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scoped("repeats its last step, or loops", () =>
    Effect.gen(function* () {
      const rows = [user("a"), assistant("1"), user("b"), assistant("2"), user("c")]
      const steps = [{ text: "one" }, { text: "two" }]
      assert.strictEqual(textOf(yield* collect(yield* withScript({ steps }), ask(...rows))), "two")
      assert.strictEqual(textOf(yield* collect(yield* withScript({ steps, loop: true }), ask(...rows))), "one")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )

  it.scoped("one that is wrong says where", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(collect(yield* withScript({ steps: [{ tex: "a" }] }), ask("hello")))
      assert.strictEqual(error.reason, "not_configured")
      assert.include(error.detail, "tex")
    }).pipe(Effect.provide(NodeFileSystem.layer))
  )
})

describe("a scripted model in a test", () => {
  it.effect("gives its steps in order, records what it was asked, and fails when they are used up", () =>
    Effect.gen(function* () {
      const route = yield* ModelRoute
      assert.strictEqual(textOf(yield* collect(route, ask("a"))), "first")
      assert.deepStrictEqual(callsOf(yield* collect(route, ask("b"))), [
        { id: "call_1", name: "weather", arguments: "{}" }
      ])
      assert.strictEqual(textOf(yield* collect(route, ask("c"))), "you said c")
      assert.strictEqual((yield* Effect.flip(collect(route, ask("d")))).reason, "billing")
      assert.include((yield* Effect.flip(collect(route, ask("e")))).detail, "number 5")
      const asked = yield* Effect.flatMap(ScriptedModel, (model) => model.requests)
      assert.deepStrictEqual(
        asked.map((request) => request.messages.at(-1)?.text),
        ["a", "b", "c", "d", "e"]
      )
    }).pipe(
      Effect.provide(
        scriptedModel([
          "first",
          call("weather"),
          (request) => `you said ${request.messages.at(-1)?.text ?? ""}`,
          fail("billing")
        ])
      )
    )
  )

  it.effect("one function answers everything", () =>
    Effect.gen(function* () {
      const route = yield* ModelRoute
      for (const text of ["a", "b"]) assert.strictEqual(textOf(yield* collect(route, ask(text))), text)
    }).pipe(Effect.provide(scriptedModel((request) => request.messages.at(-1)?.text ?? "")))
  )

  it.effect("is late, slow and silent by the clock of the test", () =>
    Effect.gen(function* () {
      const route = yield* ModelRoute
      const said: Array<string> = []
      const listen = Stream.runForEach(route.stream(ask("a")), (part) =>
        Effect.sync(() => void said.push(part._tag === "Text" ? part.delta : part._tag))
      )
      const late = yield* Effect.fork(listen)
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(said, [])
      yield* TestClock.adjust("1 second")
      yield* Fiber.await(late)
      assert.deepStrictEqual(said.splice(0), ["late", "Finish"])

      const slow = yield* Effect.fork(listen)
      yield* TestClock.adjust("1 second")
      assert.isBelow(said.length, 3)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.await(slow)
      assert.deepStrictEqual(said.splice(0), ["a", "b", "Finish"])

      const silent = yield* Effect.fork(listen)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(said, ["so far"])
      assert.strictEqual((yield* Fiber.poll(silent))._tag, "None")
      yield* Fiber.interrupt(silent)
    }).pipe(
      Effect.provide(
        scriptedModel([
          delay("10 seconds", "late"),
          saySlowly("1 second", "a", "b"),
          hang([{ _tag: "Text", delta: "so far" }])
        ])
      )
    )
  )

  it.effect("ids, arguments and ends may be anything", () =>
    Effect.gen(function* () {
      const route = yield* ModelRoute
      const said = yield* collect(route, ask("a"))
      assert.deepStrictEqual(callsOf(said), [
        { id: "same", name: "one", arguments: "not json" },
        { id: "call_2", name: "two", arguments: '{"n":2}' }
      ])
      assert.strictEqual(finishOf(yield* collect(route, ask("b")))?.reason, "length")
      assert.strictEqual(textOf(yield* collect(route, ask("c"))), "made")
    }).pipe(
      Effect.provide(
        scriptedModel([
          calls([
            { name: "one", arguments: "not json", id: "same" },
            { name: "two", arguments: { n: 2 } }
          ]),
          parts([
            { _tag: "Text", delta: "half" },
            { _tag: "Finish", reason: "length" }
          ]),
          effect(Effect.succeed("made"))
        ])
      )
    )
  )
})
