import * as Approval from "../../../../src/services/approval/Approval.js"
import { assert, describe, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import * as Offline from "../../../../src/layers/models/offline/Backend.js"
import type { ModelRequest } from "../../../../src/services/agent/ModelRoute.js"
import * as Steered from "../../../../src/services/conversation/Steered.js"
import * as Notice from "../../../../src/services/delivery/Notice.js"
import type { Message } from "../../../../src/services/session/Transcript.js"
import { source } from "../../../contract/sources.js"
import { assistant, callsOf, collect, finishOf, textOf, toolResult, user } from "../fixture.js"

const everyTool = ["terminal", "delegate_task", "send_message", "cronjob", "session_search", "memory", "search_files"]

const request = (tools: ReadonlyArray<string>, ...messages: ReadonlyArray<Message | string>): ModelRequest => ({
  systemPrompt: "",
  messages: messages.map((message) => (typeof message === "string" ? user(message) : message)),
  tools: tools.map((name) => ({
    name,
    description: "",
    parameters: { type: "object", properties: { query: {} } }
  })),
  sessionKey: "agent:main:web:dm:1"
})

const backend = Offline.make({
  model: "offline",
  timezone: "Europe/Zurich",
  command: { program: "hermes", options: "--home /srv/other" },
  contextWindow: 32_000
})

const said = (tools: ReadonlyArray<string>, ...messages: ReadonlyArray<Message | string>) =>
  Effect.map(collect(backend, request(tools, ...messages)), textOf)

const called = (text: string, tools: ReadonlyArray<string> = everyTool) =>
  Effect.map(collect(backend, request(tools, text)), (parts) => ({
    calls: callsOf(parts).map((call) => [call.name, JSON.parse(call.arguments)]),
    reason: finishOf(parts)?.reason,
    text: textOf(parts)
  }))

describe("the offline assistant", () => {
  it.effect("greets, says what it is, what it can do here and how to get a real model", () =>
    Effect.gen(function* () {
      const text = yield* said(["terminal", "delegate_task"], "hello")
      assert.include(text, "offline assistant")
      assert.include(text, "not a language model")
      assert.include(text, "run: <command>")
      assert.include(text, "`hermes setup --home /srv/other`")
      assert.include(text, "`npx hermes setup --home /srv/other` in the folder")
      assert.notInclude(text, "remind me")
      assert.include(yield* said([], "help"), "No tool is offered")
    })
  )

  it.effect("makes the calls that a model would make", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(Date.parse("2026-03-28T10:30:00Z"))
      const expected: ReadonlyArray<readonly [string, string, object]> = [
        ["run: date -u", "terminal", { command: "date -u" }],
        ["delegate: run: date", "delegate_task", { goal: "run: date" }],
        ["send telegram: hi", "send_message", { action: "send", target: "telegram", message: "hi" }],
        ["send: hi", "send_message", { action: "send", message: "hi" }],
        ["send list", "send_message", { action: "list" }],
        ["search: invoice", "session_search", { query: "invoice" }],
        ["remember: bins", "memory", { action: "add", target: "memory", content: "bins" }],
        ["list reminders", "cronjob", { action: "list" }],
        ["cancel reminder 12", "cronjob", { action: "list" }],
        [
          "remind me in 10 minutes to stretch",
          "cronjob",
          { action: "create", schedule: "2026-03-28T10:40:00Z", prompt: "say: Reminder: stretch", name: "stretch" }
        ],
        [
          "every weekday at 9 run: df -h",
          "cronjob",
          { action: "create", schedule: "0 9 * * 1-5", prompt: "run: df -h", name: "run: df -h" }
        ]
      ]
      for (const [text, tool, args] of expected) {
        const { calls, reason } = yield* called(text)
        assert.deepStrictEqual(calls, [[tool, args]], text)
        assert.strictEqual(reason, "tool_calls")
      }
    })
  )

  it.effect("searches files when conversations cannot be searched", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual((yield* called("search: invoice", ["search_files"])).calls, [
        ["search_files", { query: "invoice" }]
      ])
    })
  )

  it.effect("a tool that is not offered is not called, and it says so", () =>
    Effect.gen(function* () {
      for (const text of [
        "run: date",
        "delegate: x",
        "send telegram: hi",
        "search: x",
        "remember: x",
        "list reminders",
        "remind me in 10 minutes to stretch"
      ]) {
        const answer = yield* called(text, [])
        assert.deepStrictEqual([answer.calls, answer.reason], [[], "stop"])
        assert.include(answer.text, "nothing was done", text)
      }
      assert.include((yield* called("remind me in 10 minutes to stretch", [])).text, "stretch")
    })
  )

  it.effect("a reminder without a time is asked for", () =>
    Effect.gen(function* () {
      assert.include((yield* called("remind me to call mum")).text, "not when")
      assert.include((yield* called("remind me in 10 minutes")).text, "not what")
    })
  )

  it.effect("cancels the reminder that is meant, and asks when it may be another", () =>
    Effect.gen(function* () {
      const job = (id: string, name: string) => ({
        id,
        name,
        words: "once, on 2026-03-28 at 10:40",
        timezone: "UTC",
        next: ["2026-03-28 10:40"],
        state: "scheduled",
        deliver: "origin"
      })
      const listed = JSON.stringify({
        success: true,
        action: "list",
        jobs: [job("aaaaaaaaaaaa", "stretch"), job("bbbbbbbbbbbb", "call mum"), job("cccccccccccc", "call dad")]
      })
      const after = (asked: string) =>
        Effect.map(
          collect(
            backend,
            request(
              everyTool,
              asked,
              assistant("", [{ id: "c", name: "cronjob", arguments: "{}" }]),
              toolResult("c", "cronjob", listed)
            )
          ),
          (parts) => ({
            calls: callsOf(parts).map((call) => [call.name, JSON.parse(call.arguments)]),
            text: textOf(parts)
          })
        )
      const removed = (id: string) => [["cronjob", { action: "remove", job_id: id }]]
      assert.deepStrictEqual((yield* after("cancel reminder aaaaaaaaaaaa")).calls, removed("aaaaaaaaaaaa"))
      assert.deepStrictEqual((yield* after("cancel reminder number 2")).calls, removed("bbbbbbbbbbbb"))
      assert.deepStrictEqual((yield* after("stop reminding me to stretch")).calls, removed("aaaaaaaaaaaa"))
      assert.deepStrictEqual((yield* after("cancel my reminder to call mum")).calls, removed("bbbbbbbbbbbb"))
      const several = yield* after("cancel reminder call")
      assert.deepStrictEqual(several.calls, [])
      assert.include(several.text, "fits several")
      const none = yield* after("cancel reminder nap")
      assert.deepStrictEqual(none.calls, [])
      assert.include(none.text, 'no reminder "nap"')
      // What a list that was asked for says.
      assert.include((yield* after("list reminders")).text, "2. call mum — once, on 2026-03-28 at 10:40 (UTC)")
    })
  )

  it.effect("puts the results of tools into words", () =>
    Effect.gen(function* () {
      const asked = (tool: string, text: string, disposition = "ok") =>
        said(
          everyTool,
          "run: it",
          assistant("", [{ id: "c", name: tool, arguments: "{}" }]),
          toolResult("c", tool, text, disposition)
        )
      assert.strictEqual(yield* asked("terminal", "Sat Mar 28\n"), "```\nSat Mar 28\n```")
      assert.strictEqual(
        yield* asked("terminal", "no such file\n[exit code 2]"),
        "```\nno such file\n```\nExit code 2."
      )
      assert.include(yield* asked("terminal", "a ``` b"), "````")
      assert.strictEqual(
        yield* asked("terminal", `The owner said no. It was not run. ${Approval.advice}`, "refused"),
        "The owner said no. It was not run."
      )
      assert.strictEqual(yield* asked("search_files", "[no line matches in 1 file]"), "Nothing was found.")
      assert.include(yield* asked("session_search", "Nothing was found."), "`memories/MEMORY.md`")
      assert.include(yield* asked("terminal", "denied by the owner", "error"), "That did not work: denied by the owner")
      assert.include(
        yield* asked("delegate_task", JSON.stringify([{ task: 1, status: "completed", summary: "42" }])),
        "The helper reports:\n42"
      )
      assert.strictEqual(yield* asked("terminal", "[no output]"), "There was no output.")
      const meanwhile = Notice.steered([
        { source: source(), text: "quick" },
        { source: source(), text: "please" }
      ])
      assert.strictEqual(
        yield* asked("terminal", Steered.after("[no output]", meanwhile)),
        "There was no output.\n\nYou wrote meanwhile: “quick”, “please”. I had begun already, so say it again if there is something to do."
      )
      assert.strictEqual(yield* asked("terminal", '{"error":"only text"}'), '```\n{"error":"only text"}\n```')
      assert.strictEqual(
        yield* asked(
          "send_message",
          JSON.stringify({ success: true, platform: "telegram", chat_id: "-1", thread_id: "7", message_id: "9" })
        ),
        "Sent to telegram (chat -1, topic 7)."
      )
      assert.strictEqual(
        yield* asked("send_message", JSON.stringify({ success: false, code: "x", error: "no such chat" }), "error"),
        "That did not work: no such chat"
      )
      assert.include(
        yield* asked(
          "send_message",
          JSON.stringify({
            success: true,
            platforms: [
              { platform: "telegram", home: true, chats: [{ target: "telegram:-1", name: "Team", type: "group" }] }
            ]
          })
        ),
        "`telegram:-1` Team"
      )
      assert.isBelow((yield* asked("terminal", "x".repeat(50_000_000))).length, 10_000)
    })
  )

  it.effect("decides from the rows alone: a new message after results is a new question", () =>
    Effect.gen(function* () {
      const rows = [
        user("run: date"),
        assistant("", [{ id: "offline_1", name: "terminal", arguments: "{}" }]),
        toolResult("offline_1", "terminal", "today")
      ]
      assert.include(yield* said(everyTool, ...rows), "today")
      const next = yield* collect(backend, request(everyTool, ...rows, assistant("today"), user("run: pwd")))
      assert.deepStrictEqual(callsOf(next), [
        { id: "offline_2", name: "terminal", arguments: JSON.stringify({ command: "pwd" }) }
      ])
      assert.include(yield* said([], ...rows, user("You have used all the steps of this turn.")), "today")
    })
  )

  it.effect("never pretends to know", () =>
    Effect.gen(function* () {
      const text = yield* said(everyTool, "what is the capital of France?")
      assert.include(text, "I cannot answer that")
      assert.include(text, "offline assistant")
    })
  )
})
