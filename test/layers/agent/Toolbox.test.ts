import { describe, it } from "@effect/vitest"
import {
  Deferred,
  Effect,
  Exit,
  FastCheck,
  Fiber,
  HashMap,
  Layer,
  Logger,
  LogLevel,
  Ref,
  Schema,
  TestClock
} from "effect"
import { mkdtempSync, readFileSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { expect } from "vitest"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ToolboxLayer from "../../../src/layers/agent/Toolbox.js"
import * as ToolRegistryLayer from "../../../src/layers/agent/ToolRegistry.js"
import * as DrainLayer from "../../../src/layers/operation/Drain.js"
import * as Tool from "../../../src/services/agent/Tool.js"
import { Toolbox, ToolRegistry, type ToolResult } from "../../../src/services/agent/Toolbox.js"
import { Drain } from "../../../src/services/operation/Drain.js"
import type { SettingsShape } from "../../../src/services/operation/Settings.js"
import { scaled } from "../../scale.js"
import { activity, files, redactor, Seen, settings, settingsLayer, turn } from "../support/hands.js"

const home = mkdtempSync(path.join(tmpdir(), "toolbox-home-"))

const layer = (changes?: Partial<SettingsShape>) =>
  Layer.provideMerge(
    ToolboxLayer.layer,
    Layer.mergeAll(ToolRegistryLayer.layer, DrainLayer.layer, settingsLayer(home, changes), activity, redactor, files)
  )

class Broken extends Schema.TaggedError<Broken>()("Broken", { at: Schema.String }) {}

const Parameters = Schema.Struct({ path: Schema.optional(Schema.String), n: Schema.optional(Schema.Number) })
type Args = typeof Parameters.Type

const tool = (
  name: string,
  handler: (args: Args, context: Tool.CallContext) => Effect.Effect<string, Tool.ToolFailure, Turn.CurrentTurn>,
  options: Partial<Parameters<typeof Tool.make<Args, Args, never>>[0]> = {}
) =>
  Tool.make({
    name,
    toolset: "test",
    description: name,
    parameters: Parameters,
    result: Tool.text("a word"),
    ...options,
    handler
  })

const call = (id: string, name: string, args: unknown = {}) => ({
  id,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args)
})

/** Hooks that write down what they are told. */
const recording = Effect.map(Ref.make<ReadonlyArray<string>>([]), (log) => {
  const results: Array<ToolResult> = []
  const say = (line: string) => Ref.update(log, (lines) => [...lines, line])
  return {
    log,
    say,
    results,
    hooks: {
      advance: (callId: string, state: string): Effect.Effect<void, Broken> => say(`${state} ${callId}`),
      store: (result: ToolResult): Effect.Effect<void, Broken> =>
        Effect.suspend(() => {
          results.push(result)
          return say(`stored ${result.callId}`)
        })
    }
  }
})

const add = (...tools: ReadonlyArray<Tool.Tool>) => Effect.flatMap(ToolRegistry, (registry) => registry.add(tools))

const inTurn = Turn.enter(turn("a"))

describe("one answer's calls", () => {
  it.effect("get exactly one result each, in call order, stored before anybody sees it", () =>
    inTurn(
      Effect.gen(function* () {
        const first = yield* Deferred.make<void>()
        const { hooks, log, say } = yield* recording
        yield* add(
          tool("slow", () => Effect.as(Deferred.await(first), "slow"), { parallelism: () => ({ _tag: "Safe" }) }),
          tool(
            "quick",
            () => Effect.as(Effect.zipRight(say("quick ran"), Deferred.succeed(first, undefined)), "quick"),
            {
              parallelism: () => ({ _tag: "Safe" })
            }
          )
        )
        const { run } = yield* Toolbox
        const results = yield* run([call("1", "slow"), call("2", "quick")], hooks)
        expect(results.map(({ callId, text }) => [callId, text])).toEqual([
          ["1", "slow"],
          ["2", "quick"]
        ])
        expect(yield* Ref.get(log)).toEqual(["started 1", "started 2", "quick ran", "stored 1", "stored 2"])
        const seen = yield* Seen
        expect((yield* Ref.get(seen)).map((event) => event._tag)).toEqual([
          "tool.started",
          "tool.started",
          "tool.settled",
          "tool.settled"
        ])
      })
    ).pipe(Effect.provide(layer()))
  )

  it.effect("with an unknown tool, bad arguments, a failure and a defect: each its own result, the others run", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks } = yield* recording
        yield* add(
          tool("good_one", (args) => Effect.succeed(`n=${args.n}`)),
          tool("fails", () => new Tool.ToolFailure({ text: "no such file; try another" })),
          tool("breaks", () => Effect.dieMessage("boom"))
        )
        const { run } = yield* Toolbox
        const results = yield* run(
          [
            call("1", "nothing_such"),
            call("2", "good_one", { n: "x", odd: 1 }),
            call("3", "fails"),
            call("4", "breaks"),
            call("5", "GoodOne", { n: 5 }),
            call("6", "good_one", ""),
            call("7", ""),
            call("8", "good_one", "{")
          ],
          hooks
        )
        expect(results.map((result) => [result.callId, result.tool, result.disposition])).toEqual([
          ["1", "nothing_such", "error"],
          ["2", "good_one", "error"],
          ["3", "fails", "error"],
          ["4", "breaks", "error"],
          ["5", "good_one", "ok"],
          ["6", "good_one", "ok"],
          ["7", "", "error"],
          ["8", "good_one", "error"]
        ])
        const text = (index: number) => results[index]?.text ?? ""
        expect(text(0)).toContain("breaks, fails, good_one")
        expect(text(1)).toMatch(/- n: .*number/)
        expect(text(1)).toMatch(/- odd: /)
        expect(text(1)).toContain('"properties"')
        expect(text(2)).toBe("no such file; try another")
        expect(text(3)).toContain("boom")
        expect(text(4)).toBe("n=5")
        expect(text(5)).toBe("n=undefined")
      })
    ).pipe(Effect.provide(layer()), Logger.withMinimumLogLevel(LogLevel.None))
  )

  it.effect("that are identical run once and have the same result; none of them is left to be run again", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks, log, say } = yield* recording
        yield* add(tool("once", () => Effect.as(say("ran"), "done")))
        const { run } = yield* Toolbox
        const results = yield* run(
          [call("1", "once", { n: 1 }), call("2", "once", { n: 2 }), call("3", "once", { n: 1 })],
          hooks
        )
        expect(results.map(({ callId, text }) => [callId, text])).toEqual([
          ["1", "done"],
          ["2", "done"],
          ["3", "done"]
        ])
        const lines = yield* Ref.get(log)
        expect(lines.filter((line) => line === "ran")).toHaveLength(2)
        expect(lines.indexOf("started 3")).toBeLessThan(lines.indexOf("ran"))
      })
    ).pipe(Effect.provide(layer()))
  )

  it.effect("overlap where they may, at most eight at once, and a writer excludes what touches its path", () =>
    inTurn(
      Effect.gen(function* () {
        const running = new Set<string>()
        const clashes: Array<string> = []
        let most = 0
        const { hooks } = yield* recording
        const body = (kind: string) => (args: Args) =>
          Effect.gen(function* () {
            const me = `${kind} ${args.path ?? ""}`
            for (const other of running)
              if ((kind === "w" || other.startsWith("w")) && other.slice(2) === args.path)
                clashes.push(`${other}/${me}`)
            running.add(`${me} ${args.n ?? ""}`.trim())
            most = Math.max(most, running.size)
            yield* Effect.yieldNow()
            yield* Effect.yieldNow()
            running.delete(`${me} ${args.n ?? ""}`.trim())
            return me
          })
        yield* add(
          tool("r", body("r"), { parallelism: (args) => ({ _tag: "Reads", path: args.path ?? "" }) }),
          tool("w", body("w"), { parallelism: (args) => ({ _tag: "Writes", path: args.path ?? "" }) })
        )
        const { run } = yield* Toolbox
        const calls = [
          ...Array.from({ length: 20 }, (_, index) => call(`r${index}`, "r", { path: "a", n: index })),
          call("w1", "w", { path: "a" }),
          call("w2", "w", { path: "b" }),
          call("r", "r", { path: "a" })
        ]
        const results = yield* run(calls, hooks)
        expect(results.map((result) => result.callId)).toEqual(calls.map(({ id }) => id))
        expect(clashes).toEqual([])
        expect(most).toBe(8)
      })
    ).pipe(Effect.provide(layer()))
  )

  it.effect("run inside the turn that asks, whose key is compared with the one given", () =>
    Effect.gen(function* () {
      const { hooks } = yield* recording
      yield* add(tool("who", () => Effect.map(Turn.current, (now) => String(now.id))))
      const { run } = yield* Toolbox
      const warnings: Array<unknown> = []
      const logger = Logger.make(({ annotations, message }) => {
        warnings.push([message, Object.fromEntries(HashMap.toEntries(annotations))])
      })
      const ask = (chat: string, expectedKey: string) =>
        Turn.enter(turn(chat))(run([call("1", "who")], { ...hooks, expectedKey })).pipe(
          Effect.provide(Logger.replace(Logger.defaultLogger, logger))
        )
      const texts = yield* Effect.forEach(["a", "b", "c"], (chat) => ask(chat, `key:${chat}`), {
        concurrency: "unbounded"
      })
      expect(texts.map(([result]) => result?.text)).toEqual(["turn_a", "turn_b", "turn_c"])
      expect(warnings).toEqual([])
      yield* ask("a", "key:b")
      expect(warnings).toEqual([
        [["bound session key differs from the key given"], { where: "tool submit", bound: "key:a", expected: "key:b" }]
      ])
    }).pipe(Effect.provide(layer()))
  )
})

describe("what is recorded", () => {
  it.effect("before a tool acts: without the record it does not, and the run fails", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks, results, say, log } = yield* recording
        yield* add(tool("acts", () => Effect.as(say("acted"), "")))
        const { run } = yield* Toolbox
        const exit = yield* Effect.exit(
          run([call("1", "acts"), call("2", "acts", { n: 2 })], {
            ...hooks,
            advance: () => new Broken({ at: "advance" })
          })
        )
        expect(exit).toEqual(Exit.fail(new Broken({ at: "advance" })))
        expect(results).toEqual([])
        expect(yield* Ref.get(log)).toEqual([])
      })
    ).pipe(Effect.provide(layer()))
  )

  it.effect("after it: when a result cannot be stored nothing more acts", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks, say, log } = yield* recording
        yield* add(tool("acts", (args) => Effect.as(say(`acted ${args.n}`), "")))
        const { run } = yield* Toolbox
        const exit = yield* Effect.exit(
          run([call("1", "acts", { n: 1 }), call("2", "acts", { n: 2 })], {
            ...hooks,
            store: () => new Broken({ at: "store" })
          })
        )
        expect(exit).toEqual(Exit.fail(new Broken({ at: "store" })))
        expect(yield* Ref.get(log)).toEqual(["started 1", "acted 1"])
      })
    ).pipe(Effect.provide(layer()))
  )

  it.effect("a gated tool says itself when it waits and when it starts", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks, log, say } = yield* recording
        yield* add(
          tool(
            "gated",
            (_, context) => Effect.as(Effect.all([context.waiting, say("asked"), context.started, say("acted")]), ""),
            { gated: true }
          )
        )
        const { run } = yield* Toolbox
        yield* run([call("1", "gated")], hooks)
        expect(yield* Ref.get(log)).toEqual(["waiting 1", "asked", "started 1", "acted", "stored 1"])
      })
    ).pipe(Effect.provide(layer()))
  )
})

describe("an interruption", () => {
  const hanging = (options = {}) =>
    tool("hangs", (_, context) => Effect.zipRight(context.started, Effect.never), { gated: true, ...options })

  it.effect("gives every open call a cancelled result, stored, and goes on", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks, results } = yield* recording
        yield* add(
          tool("quick", () => Effect.succeed("quick")),
          hanging()
        )
        const { run } = yield* Toolbox
        const fiber = yield* Effect.fork(
          run([call("1", "quick"), call("2", "hangs"), call("3", "quick", { n: 3 })], hooks)
        )
        yield* Effect.yieldNow()
        while (results.length < 1) yield* Effect.yieldNow()
        for (let index = 0; index < 50; index++) yield* Effect.yieldNow()
        const exit = yield* Fiber.interrupt(fiber)
        expect(Exit.isInterrupted(exit)).toBe(true)
        expect(results.map(({ callId, disposition }) => [callId, disposition])).toEqual([
          ["1", "ok"],
          ["2", "cancelled"],
          ["3", "cancelled"]
        ])
        expect(results[1]?.text).toContain("while this call ran")
        expect(results[2]?.text).toContain("nothing was done")
      })
    ).pipe(Effect.provide(layer()))
  )

  it.effect("of a gateway that shuts down leaves calls that did not act to be made after the restart", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks, results } = yield* recording
        yield* add(
          hanging({ parallelism: () => ({ _tag: "Safe" }) }),
          tool("asks", (_, context) => Effect.zipRight(context.waiting, Effect.never), {
            gated: true,
            parallelism: () => ({ _tag: "Safe" })
          })
        )
        const { run } = yield* Toolbox
        const fiber = yield* Effect.fork(
          run([call("1", "asks"), call("2", "hangs"), call("3", "asks", { n: 1 })], hooks)
        )
        for (let index = 0; index < 100; index++) yield* Effect.yieldNow()
        const drain = yield* Drain
        yield* drain.begin({ restart: false })
        yield* Fiber.interrupt(fiber)
        expect(results.map(({ callId, disposition }) => [callId, disposition])).toEqual([["2", "cancelled"]])
      })
    ).pipe(Effect.provide(layer()))
  )

  it.effect("leaves a tool behind that does not end within three seconds", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks, results } = yield* recording
        yield* add(tool("stuck", () => Effect.uninterruptible(Effect.sleep("1 hour")).pipe(Effect.as("")), {}))
        const { run } = yield* Toolbox
        const fiber = yield* Effect.fork(run([call("1", "stuck")], hooks))
        yield* TestClock.adjust(1)
        const ended = yield* Effect.fork(Fiber.interrupt(fiber))
        yield* TestClock.adjust(2_900)
        expect(results).toEqual([])
        yield* TestClock.adjust(200)
        yield* Fiber.join(ended)
        expect(results.map(({ disposition }) => disposition)).toEqual(["cancelled"])
        yield* TestClock.adjust("1 hour")
      })
    ).pipe(Effect.provide(layer()))
  )
})

describe("the deadline", () => {
  it.effect("cuts a call at 420 s, the others of the answer go on", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks } = yield* recording
        yield* add(
          tool("long", () => Effect.as(Effect.sleep("1 hour"), "")),
          tool("quick", () => Effect.succeed("quick"))
        )
        const { run } = yield* Toolbox
        const fiber = yield* Effect.fork(run([call("1", "long"), call("2", "quick")], hooks))
        yield* TestClock.adjust(419_000)
        expect(yield* Fiber.poll(fiber)).toMatchObject({ _tag: "None" })
        yield* TestClock.adjust(1_000)
        const results = yield* Fiber.join(fiber)
        expect(results.map(({ disposition }) => disposition)).toEqual(["cancelled", "ok"])
      })
    ).pipe(Effect.provide(layer()))
  )

  it.effect("does not count the time a person takes", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks } = yield* recording
        yield* add(
          tool(
            "asks",
            (_, context) =>
              Effect.all([context.waiting, Effect.sleep(300_000), context.started, Effect.sleep(400_000)]).pipe(
                Effect.as("done")
              ),
            { gated: true }
          )
        )
        const { run } = yield* Toolbox
        const fiber = yield* Effect.fork(run([call("1", "asks")], hooks))
        yield* TestClock.adjust(700_000)
        expect((yield* Fiber.join(fiber)).map(({ text }) => text)).toEqual(["done"])
      })
    ).pipe(Effect.provide(layer()))
  )

  it.effect("is not that of a tool that bounds itself", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks } = yield* recording
        yield* add(tool("own", () => Effect.as(Effect.sleep("1 hour"), "done"), { deadline: "own" }))
        const { run } = yield* Toolbox
        const fiber = yield* Effect.fork(run([call("1", "own")], hooks))
        yield* TestClock.adjust("1 hour")
        expect((yield* Fiber.join(fiber)).map(({ text }) => text)).toEqual(["done"])
      })
    ).pipe(Effect.provide(layer()))
  )
})

describe("a long result", () => {
  it.effect("of 50 MB is kept in a file for the owner alone, and shown by its ends", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks, results } = yield* recording
        yield* add(tool("huge", () => Effect.succeed(`begin${"x".repeat(50_000_000)}end`)))
        const { run } = yield* Toolbox
        yield* run([call("1/../x", "huge")], hooks)
        const text = results[0]?.text ?? ""
        expect(text.length).toBeLessThan(12_000)
        expect(text.startsWith("begin")).toBe(true)
        expect(text.endsWith("end")).toBe(true)
        const file = /whole text is in (\S+);/.exec(text)?.[1] ?? ""
        expect(path.dirname(file)).toBe(path.join(home, "cache", "tool-results"))
        expect(statSync(file).mode & 0o777).toBe(0o600)
        expect(statSync(path.dirname(file)).mode & 0o777).toBe(0o700)
        expect(readFileSync(file, "utf8").length).toBe(50_000_008)
      })
    ).pipe(Effect.provide(layer()))
  )

  it.effect("shares one bound with the others of its answer", () =>
    inTurn(
      Effect.gen(function* () {
        const { hooks, results } = yield* recording
        yield* add(tool("big", (args) => Effect.succeed(`${args.n}`.repeat(90_000))))
        const { run } = yield* Toolbox
        yield* run(
          Array.from({ length: 6 }, (_, index) => call(`${index}`, "big", { n: index })),
          hooks
        )
        expect(results.map(({ text }) => text.length > 50_000)).toEqual([true, true, false, false, false, false])
        expect(results.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(240_000)
      })
    ).pipe(Effect.provide(layer()))
  )
})

describe("the tools offered", () => {
  const names = (chat: Turn.Turn) =>
    Effect.gen(function* () {
      const { offered } = yield* Toolbox
      return (yield* Turn.enter(chat)(offered)).map((definition) => definition.name)
    })

  const all = ["terminal", "file", "web", "messaging", "delegation", "clarify"]
  const fill = Effect.suspend(() =>
    add(...all.toReversed().map((toolset) => tool(toolset, () => Effect.succeed(""), { toolset })))
  )
  const depth = (n: number) => turn("a", { depth: n, parent: n === 0 ? null : Turn.TurnId.make("p") })
  const delegation = (changes: Partial<SettingsShape["delegation"]>) => ({
    delegation: { ...settings(home).delegation, ...changes }
  })

  it.effect("are all of them for a person, in the order of their names", () =>
    Effect.gen(function* () {
      yield* fill
      expect(yield* names(depth(0))).toEqual(["clarify", "delegation", "file", "messaging", "terminal", "web"])
      expect(yield* names(depth(1))).toEqual(["file", "terminal", "web"])
      const cron = turn("a", { marker: CronMarker.cron({ job: "j", run: "r" }) })
      expect(yield* names(cron)).toEqual(["delegation", "file", "terminal", "web"])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("leave out what is switched off, whoever asks", () =>
    Effect.gen(function* () {
      yield* fill
      expect(yield* names(depth(0))).toEqual(["clarify", "delegation", "file", "messaging", "web"])
      expect(yield* names(depth(1))).toEqual(["file"])
    }).pipe(
      Effect.provide(
        layer({ disabledToolsets: ["terminal"], ...delegation({ defaultToolsets: ["terminal", "file"] }) })
      )
    )
  )

  it.effect("give a delegate what the owner names, and delegation only while there is depth left", () =>
    Effect.gen(function* () {
      yield* fill
      expect(yield* names(depth(1))).toEqual(["delegation", "messaging"])
      expect(yield* names(depth(3))).toEqual(["messaging"])
      const cronChild = turn("a", {
        depth: 1,
        parent: Turn.TurnId.make("p"),
        marker: CronMarker.cron({ job: "j", run: "r" })
      })
      expect(yield* names(cronChild)).toEqual(["delegation"])
    }).pipe(Effect.provide(layer(delegation({ defaultToolsets: ["messaging", "delegation"], maxSpawnDepth: 3 }))))
  )

  it.effect("are the only ones that can be called", () =>
    Effect.gen(function* () {
      yield* fill
      const { hooks } = yield* recording
      const { run } = yield* Toolbox
      const [result] = yield* Turn.enter(depth(1))(run([call("1", "messaging")], hooks))
      expect(result).toMatchObject({ disposition: "error", text: expect.stringContaining("file, terminal, web") })
    }).pipe(Effect.provide(layer()))
  )

  it.effect("have names of their own", () =>
    Effect.gen(function* () {
      yield* fill
      expect(Exit.isFailure(yield* Effect.exit(add(tool("web", () => Effect.succeed("")))))).toBe(true)
    }).pipe(Effect.provide(layer()))
  )
})

describe("whatever happens", () => {
  const kind = FastCheck.constantFrom("ok", "later", "fail", "die", "bad", "unknown", "hang", "stuck", "huge")
  const plan = FastCheck.record({
    kinds: FastCheck.array(kind, { minLength: 1, maxLength: 12 }),
    safe: FastCheck.array(FastCheck.boolean(), { minLength: 12, maxLength: 12 }),
    same: FastCheck.array(FastCheck.nat(3), { minLength: 12, maxLength: 12 }),
    interruptAt: FastCheck.option(FastCheck.integer({ min: 0, max: 500_000 }))
  })

  it.effect("every call has exactly one result, in call order", () =>
    Effect.gen(function* () {
      const runs = scaled(500, 40)
      let interrupted = 0
      for (const { interruptAt, kinds, safe, same } of FastCheck.sample(plan, { numRuns: runs, seed: 7 })) {
        yield* inTurn(
          Effect.gen(function* () {
            const { hooks, results } = yield* recording
            const body = (args: Args): Effect.Effect<string, Tool.ToolFailure> => {
              switch (kinds[args.n ?? 0]) {
                case "later":
                  return Effect.as(Effect.sleep(1_000 * (args.n ?? 0)), "later")
                case "fail":
                  return new Tool.ToolFailure({ text: "failed" })
                case "die":
                  return Effect.dieMessage("died")
                case "hang":
                  return Effect.never
                case "stuck":
                  return Effect.as(Effect.uninterruptible(Effect.sleep(2_000_000)), "stuck")
                case "huge":
                  return Effect.succeed("h".repeat(120_000))
                default:
                  return Effect.succeed("ok")
              }
            }
            yield* add(
              tool("any", body, {
                parallelism: (args) => (safe[args.n ?? 0] === true ? { _tag: "Safe" } : { _tag: "Never" })
              })
            )
            const { run } = yield* Toolbox
            const calls = kinds.map((of, index) =>
              call(
                `c${index}`,
                of === "unknown" ? "nope" : "any",
                of === "bad" ? "{]" : { n: index, ...(same[index] === 0 ? { n: 0 } : {}) }
              )
            )
            const fiber = yield* Effect.fork(run(calls, hooks))
            yield* TestClock.adjust(interruptAt ?? 0)
            if (interruptAt !== null) {
              const ending = yield* Effect.fork(Fiber.interrupt(fiber))
              yield* TestClock.adjust(5_000)
              yield* Fiber.join(ending)
              interrupted += 1
            } else {
              // Call by call: what begins after a wait counts from where the clock was set to.
              yield* Effect.repeatN(TestClock.adjust(1_000_000), kinds.length)
            }
            yield* Fiber.await(fiber)
            expect(results.map(({ callId }) => callId)).toEqual(calls.map(({ id }) => id))
            yield* TestClock.adjust(2_000_000)
          })
        ).pipe(Effect.provide(layer()), Logger.withMinimumLogLevel(LogLevel.None))
      }
      expect(interrupted).toBeGreaterThan(0)
    })
  )
})
