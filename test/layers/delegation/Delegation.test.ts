/** Helpers through the whole gateway in memory: inline, in the background, spoken to, ended, and what a restart tells of them. */
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, FiberId, Layer, Scope } from "effect"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { InternalEvents } from "../../../src/services/conversation/InternalEvents.js"
import { Delegation } from "../../../src/services/delegation/Delegation.js"
import * as Report from "../../../src/services/delegation/Report.js"
import { Database } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"
import * as Killed from "../support/killed.js"

const lastUser = (request: ModelRequest): string =>
  request.messages.filter((message) => message._tag === "user").at(-1)?.text ?? ""

const isHelper = (request: ModelRequest): boolean => request.systemPrompt.startsWith("You are a helper")

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)

const say = (text: string, chat = 1) =>
  Effect.flatMap(only, (adapter) =>
    adapter.say({ text, in: adapter.profile.dm(chat), by: adapter.profile.person(chat) })
  )

const heard = (text: string, count = 1) =>
  Effect.flatMap(only, (adapter) =>
    adapter.sent.waitFor(text, (sent) => sent.text.includes(text), { count, seconds: 10 })
  )

const rows = (sql: string) =>
  Effect.flatMap(Database, (database) => database.read("test", (client) => client.unsafe<Record<string, unknown>>(sql)))

const eventually = (sql: string, fits: (found: ReadonlyArray<Record<string, unknown>>) => boolean) =>
  rows(sql).pipe(
    Effect.zipLeft(Effect.sleep("10 millis")),
    Effect.repeat({ until: fits }),
    Effect.timeout("10 seconds")
  )

const isState = (state: string) => (found: ReadonlyArray<Record<string, unknown>>) => found[0]?.["state"] === state

/** What the agent says to a person's words; `go: ` sets helpers to work with the arguments that follow. */
const agent =
  (helper: (request: ModelRequest) => Testing.StepInput) =>
  (request: ModelRequest): Testing.StepInput => {
    if (isHelper(request)) return helper(request)
    const last = request.messages.at(-1)
    if (last?._tag === "tool") return Testing.say(`tool said: ${last.text}`)
    const text = lastUser(request)
    if (text.startsWith(Report.opening)) return Testing.say(`report: ${text.slice(text.indexOf("\n[") + 1)}`)
    if (text.startsWith("go: ")) return Testing.call("delegate_task", JSON.parse(text.slice(4)) as object)
    return Testing.say(`you said: ${text}`)
  }

/** Helpers that say nothing before they are told to. */
const gate = () => {
  const asked = Deferred.unsafeMake<void>(FiberId.none)
  const release = Deferred.unsafeMake<string>(FiberId.none)
  return {
    helper: () =>
      Testing.effect(
        Effect.zipRight(Deferred.succeed(asked, undefined), Effect.map(Deferred.await(release), Testing.say))
      ),
    waits: Deferred.await(asked),
    answer: (text: string) => Deferred.succeed(release, text)
  }
}

const go = (args: object): string => `go: ${JSON.stringify(args)}`

describe("helpers of a call", () => {
  it.scopedLive("run beside each other and report in order, with what they used", () =>
    Effect.gen(function* () {
      yield* say(go({ tasks: [{ goal: "one" }, { goal: "two", context: "fast" }] }))
      const { text } = yield* heard("tool said:")
      const report = JSON.parse(text.slice(text.indexOf("["))) as ReadonlyArray<Record<string, unknown>>
      expect(report).toMatchObject([
        { task: 1, status: "completed", summary: "did one", exit_reason: "answered", model_calls: 1 },
        { task: 2, status: "completed", summary: "did two\n\nContext from the agent:\nfast" }
      ])
      expect(yield* rows("SELECT status, background FROM delegations")).toEqual([
        { status: "completed", background: 0 },
        { status: "completed", background: 0 }
      ])
    }).pipe(Effect.provide(Testing.gateway({ model: agent((request) => Testing.say(`did ${lastUser(request)}`)) })))
  )

  it.scopedLive("answer with the model that their conversation has chosen", () =>
    Effect.gen(function* () {
      yield* say(go({ goal: "one" }))
      yield* heard("tool said:")
      yield* say("/model script-two")
      yield* heard("script-two")
      yield* say(go({ goal: "two" }))
      yield* heard("tool said:", 2)
      expect(yield* rows("SELECT model FROM sessions WHERE source = 'subagent' ORDER BY id")).toEqual([
        { model: "script" },
        { model: "script-two" }
      ])
    }).pipe(Effect.provide(Testing.gateway({ model: agent((request) => Testing.say(`did ${lastUser(request)}`)) })))
  )

  it.scopedLive("are refused as a whole when they are too many, too deep or asked for a shape nobody understands", () =>
    Effect.gen(function* () {
      yield* say(go({ tasks: Array.from({ length: 4 }, () => ({ goal: "x" })) }))
      yield* heard("4 tasks are too many at once: at most 3")
      yield* say(go({ goal: "x", output_schema: { pattern: "(a+)+" } }))
      yield* heard("the output schema is not understood")
      expect(yield* rows("SELECT id FROM delegations")).toEqual([])
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: agent(() => Testing.say("done")),
          settings: { delegation: { maxConcurrentChildren: 3 } }
        })
      )
    )
  )

  it.scopedLive("may have helpers of their own only as orchestrators, and only as deep as allowed", () => {
    const seen: Array<readonly [string, boolean]> = []
    const model = agent((request) => {
      const text = lastUser(request)
      seen.push([text, request.tools.some((tool) => tool.name === "delegate_task")])
      const last = request.messages.at(-1)
      if (last?._tag === "tool") return Testing.say(`asked: ${last.text}`)
      return text.startsWith("lead") && request.tools.some((tool) => tool.name === "delegate_task")
        ? Testing.call("delegate_task", { goal: text === "lead" ? "lead again" : "leaf", role: "orchestrator" })
        : Testing.say(`did ${text}`)
    })
    return Effect.gen(function* () {
      yield* say(go({ goal: "leaf of one", role: "leaf" }))
      yield* heard("did leaf of one")
      yield* say(go({ goal: "lead", role: "orchestrator" }))
      yield* heard("asked:")
      expect(Object.fromEntries(seen)).toMatchObject({
        "leaf of one": false,
        lead: true,
        "lead again": true,
        leaf: false
      })
      const depths = yield* rows("SELECT depth, count(*) AS n FROM turns GROUP BY depth ORDER BY depth")
      expect(depths).toEqual([
        { depth: 0, n: 2 },
        { depth: 1, n: 2 },
        { depth: 2, n: 1 },
        { depth: 3, n: 1 }
      ])
    }).pipe(Effect.provide(Testing.gateway({ model, settings: { delegation: { maxSpawnDepth: 3 } } })))
  })

  it.scopedLive("are asked once more for the shape that was wanted", () => {
    let asked = 0
    const model = agent((request) => {
      asked += 1
      return Testing.say(lastUser(request).startsWith("Your report does not have") ? '```json\n{"n": 3}\n```' : "three")
    })
    return Effect.gen(function* () {
      const shape = { type: "object", properties: { n: { type: "integer" } }, required: ["n"] }
      yield* say(go({ goal: "count", output_schema: shape }))
      expect((yield* heard("tool said:")).text).toContain('"schema_valid":true')
      expect(asked).toBe(2)
      yield* say(go({ goal: "count", output_schema: { ...shape, required: ["n", "m"] } }))
      expect((yield* heard('"schema_valid":false')).text).toContain("m is missing")
      expect(asked).toBe(4)
    }).pipe(Effect.provide(Testing.gateway({ model })))
  })
})

describe("a helper in the background", () => {
  it.scopedLive("lets its conversation go on, and its report comes into it once and nowhere else", () => {
    const held = gate()
    return Effect.gen(function* () {
      yield* say(go({ goal: "slow", background: true }))
      yield* heard("tool said:")
      yield* held.waits
      yield* say("still there?")
      yield* heard("you said: still there?")
      yield* say("hello from another chat", 2)
      yield* heard("you said: hello from another chat")
      yield* say("/agents")
      expect((yield* heard("at work:")).text).toMatch(/1 helper at work:\n- slow — \d+ s, .*in the background \(/)
      yield* say("/agents", 2)
      yield* heard("No helpers are at work here.")
      yield* held.answer("forty-two")
      const { adapterOne, report } = yield* Effect.all({ adapterOne: only, report: heard("report:") })
      expect(report.address.chatId).toBe(adapterOne.profile.dm(1).chatId)
      expect(report.text).toContain("forty-two")
      expect(report.facts.identity.userName).toEqual({ _tag: "Value", value: "Bob" })
      expect(report.facts.origin._tag).toBe("Live")
      yield* eventually("SELECT state FROM inbound_events WHERE event LIKE '%Internal event%'", isState("answered"))
      expect(yield* rows("SELECT state, kind FROM internal_events")).toEqual([
        { state: "accepted", kind: "delegation" }
      ])
      // Told once more, by whatever mistake: the receipt is there.
      const events = yield* InternalEvents
      const [row] = yield* rows("SELECT cause_id FROM internal_events")
      const database = yield* Database
      yield* database.write("test", events.tell({ kind: "delegation", id: String(row?.["cause_id"]) }, "again"))
      yield* events.announce
      yield* say("after")
      yield* heard("you said: after")
      const sent = (yield* adapterOne.sent.all).filter((one) => one.text.includes("report:"))
      expect(sent.length).toBe(1)
    }).pipe(Effect.provide(Testing.gateway({ model: agent(held.helper) })))
  })

  it.scopedLive("reports after what runs: its words are no command, no answer and no interruption", () => {
    const held = gate()
    const busy = gate()
    const model = (request: ModelRequest): Testing.StepInput =>
      !isHelper(request) && lastUser(request) === "wait" ? busy.helper() : agent(held.helper)(request)
    return Effect.gen(function* () {
      yield* say(go({ goal: "slow", background: true }))
      yield* heard("tool said:")
      yield* say("wait")
      yield* busy.waits
      yield* held.answer("/stop")
      yield* eventually("SELECT state FROM internal_events", isState("accepted"))
      yield* busy.answer("waited")
      yield* heard("waited")
      expect((yield* heard("report:")).text).toContain("/stop")
      const texts = (yield* (yield* only).sent.all).map((sent) => sent.text)
      expect(texts.findIndex((text) => text === "waited")).toBeLessThan(
        texts.findIndex((text) => text.includes("report:"))
      )
      expect(yield* rows("SELECT DISTINCT outcome FROM turns WHERE outcome IS NOT NULL")).toEqual([
        { outcome: "answered" }
      ])
    }).pipe(Effect.provide(Testing.gateway({ model })))
  })

  it.scopedLive("waits with its report while its conversation is put aside, and says so", () => {
    const held = gate()
    return Effect.gen(function* () {
      yield* say("the other matter")
      yield* heard("you said: the other matter")
      yield* say("/new")
      yield* heard("A new conversation")
      yield* say(go({ goal: "slow", background: true }))
      yield* heard("tool said:")
      yield* say("/title Slow work")
      yield* heard("Slow work")
      yield* held.waits
      yield* say("/resume the other matter")
      yield* heard('Back in "the other matter"')
      yield* held.answer("forty-two")
      yield* heard("/resume Slow work brings its report")
      yield* eventually("SELECT state FROM internal_events", isState("aside"))
      expect((yield* (yield* only).sent.all).filter((one) => one.text.includes("forty-two"))).toEqual([])
      yield* say("/resume Slow work")
      expect((yield* heard("report:")).text).toContain("forty-two")
      expect(
        yield* rows(
          `SELECT DISTINCT s.title FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
            WHERE m.role = 'assistant' AND m.text LIKE 'report:%'`
        )
      ).toEqual([{ title: "Slow work" }])
      yield* eventually("SELECT state FROM internal_events", isState("accepted"))
    }).pipe(Effect.provide(Testing.gateway({ model: agent(held.helper) })))
  })

  it.scopedLive("is ended by /stop and by the end of its conversation, and nobody hears of it again", () =>
    Effect.gen(function* () {
      yield* say(go({ tasks: [{ goal: "a" }, { goal: "b" }], background: true }))
      yield* heard("tool said:")
      yield* say(go({ goal: "other", background: true }), 2)
      yield* heard("other")
      yield* say("an ordinary message")
      yield* heard("you said: an ordinary message")
      expect((yield* (yield* Delegation).running).length).toBe(3)
      yield* say("/stop")
      yield* heard("Stopped.")
      yield* say("/new", 2)
      yield* heard("A new conversation")
      yield* eventually("SELECT count(*) AS n FROM delegations WHERE status IS NULL", ([row]) => row?.["n"] === 0)
      expect(yield* rows("SELECT DISTINCT status FROM delegations")).toEqual([{ status: "interrupted" }])
      expect(yield* rows("SELECT DISTINCT state FROM internal_events")).toEqual([{ state: "refused" }])
      expect(yield* (yield* Delegation).running).toEqual([])
    }).pipe(Effect.provide(Testing.gateway({ model: agent(() => Testing.hang()) })))
  )

  it.scopedLive("is listed, spoken to and stopped by its own agent and by nobody else's", () => {
    let read = ""
    const model = agent((request) => {
      const last = request.messages.at(-1)
      if (last?._tag === "tool") read = last.text
      return last?._tag === "tool"
        ? Testing.hang()
        : Testing.effect(Effect.map(Deferred.await(released), () => Testing.call("read_file", { path: "/nothing" })))
    })
    const released = Deferred.unsafeMake<void>(FiberId.none)
    return Effect.gen(function* () {
      yield* say(go({ goal: "long", background: true }))
      yield* heard("tool said:")
      const [helper] = yield* (yield* Delegation).running
      const id = helper?.delegationId ?? ""
      yield* say(go({ action: "stop", subagent_id: id }), 2)
      yield* heard("is at work here")
      yield* say(go({ action: "steer", subagent_id: id, message: `look at B instead: ${"😀".repeat(4_500)}` }))
      yield* heard("It reads that after its next tool call")
      yield* Deferred.succeed(released, undefined)
      yield* Effect.repeat(
        Effect.zipRight(
          Effect.sleep("10 millis"),
          Effect.sync(() => read)
        ),
        {
          until: (text) => text.includes("look at B instead")
        }
      ).pipe(Effect.timeout("5 seconds"))
      expect(read).toContain("😀")
      expect(read).not.toContain("\\ud83d")
      yield* say(go({ action: "list" }))
      yield* heard('"goal":"long"')
      yield* say(`/agents stop ${id}`)
      yield* heard("Stopped: long")
      yield* eventually("SELECT status AS state FROM delegations", isState("interrupted"))
    }).pipe(Effect.provide(Testing.gateway({ model })))
  })

  it.scopedLive("is refused at the limit, and runs inline where nothing could come later", () =>
    Effect.gen(function* () {
      yield* say(go({ goal: "a", background: true }))
      yield* heard("tool said:")
      yield* say(go({ goal: "b", background: true }))
      yield* heard("1 calls are at work in the background already")
      yield* say(go({ goal: "c", background: true }), 2)
      yield* heard('"goal":"c"')
    }).pipe(
      Effect.provide(
        Testing.gateway({ model: agent(() => Testing.hang()), settings: { delegation: { maxAsyncChildren: 1 } } })
      )
    )
  )
})

describe("a restart", () => {
  type Gateway = Layer.Layer.Success<ReturnType<typeof Testing.gateway>>

  /** Two lives over one database. */
  const lives = <A, B, E>(
    model: (request: ModelRequest) => Testing.StepInput,
    first: Effect.Effect<A, E, Gateway>,
    second: Effect.Effect<B, E, Gateway>,
    /** Left as it is instead of ended in order. */
    killed = false
  ) =>
    Effect.gen(function* () {
      const database = yield* Layer.build(Testing.SqliteInMemory)
      const shared = Layer.succeedContext(database)
      const one = yield* Killed.killed
      const gateway = yield* Layer.buildWithScope(Testing.gateway({ model, database: shared }), one)
      yield* Effect.provide(first, gateway)
      if (!killed) yield* Scope.close(one, Exit.void)
      const again = yield* Layer.build(Testing.gateway({ model, database: shared, unclean: killed }))
      return yield* Effect.provide(second, again)
    })

  it.scopedLive("tells the right conversation what became of a helper that it ended, once", () =>
    lives(
      agent(() => Testing.hang()),
      Effect.gen(function* () {
        yield* say(go({ goal: "slow", background: true }))
        yield* heard("tool said:")
        yield* say("hello", 2)
        yield* heard("you said: hello")
      }),
      Effect.gen(function* () {
        const report = yield* heard("report:")
        const adapter = yield* only
        expect(report.address.chatId).toBe(adapter.profile.dm(1).chatId)
        expect(report.text).toContain('"status":"interrupted"')
        expect(report.text).toContain('"exit_reason":"shutdown"')
        yield* say("on")
        yield* heard("you said: on")
        expect((yield* adapter.sent.all).filter((sent) => sent.text.includes("report:")).length).toBe(1)
      })
    )
  )

  it.scopedLive(
    "tells it that a helper of a dead gateway is unknown, and what one had said before the death, once",
    () => {
      const held = gate()
      const model = agent((request) => (lastUser(request) === "quick" ? held.helper() : Testing.hang()))
      return lives(
        model,
        Effect.gen(function* () {
          // Told, but not handed over: its conversation's gateway dies in between.
          const events = yield* InternalEvents
          yield* say(go({ goal: "slow", background: true }))
          yield* heard("tool said:")
          yield* say(go({ goal: "quick", background: true }), 2)
          yield* held.waits
          const database = yield* Database
          const [row] = yield* rows("SELECT group_id FROM delegations WHERE goal = 'quick'")
          const cause = { kind: "delegation" as const, id: String(row?.["group_id"]) }
          yield* database.write("test", events.tell(cause, `${Report.opening}\n[quick is done]`))
        }),
        Effect.gen(function* () {
          const adapter = yield* only
          const slow = yield* heard('"status":"unknown"')
          expect(slow.address.chatId).toBe(adapter.profile.dm(1).chatId)
          const quick = yield* heard("quick is done")
          expect(quick.address.chatId).toBe(adapter.profile.dm(2).chatId)
          yield* say("on")
          yield* heard("you said: on")
          expect((yield* adapter.sent.all).filter((sent) => sent.text.includes("report:")).length).toBe(2)
          expect(yield* rows("SELECT DISTINCT state FROM internal_events")).toEqual([{ state: "accepted" }])
        }),
        true
      )
    }
  )
})
