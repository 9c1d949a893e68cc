/** What holds for every tool that a gateway has. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { mkdtempSync, realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ToolsetName from "../../../src/services/agent/ToolsetName.js"
import { Toolbox, ToolRegistry } from "../../../src/services/agent/Toolbox.js"
import { SessionId } from "../../../src/services/session/Session.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { Database } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"
import { turn } from "../support/hands.js"

const skill = "---\nname: greet\ndescription: How to greet\n---\nSay hello.\n"

/** Calls that go well, one after the other in one conversation. */
const calls: ReadonlyArray<readonly [name: string, args: object]> = [
  ["write_file", { path: "a.txt", content: "one\ntwo\n" }],
  ["read_file", { path: "a.txt" }],
  ["patch", { path: "a.txt", old_string: "two", new_string: "three" }],
  ["search_files", { pattern: "three" }],
  ["terminal", { command: "echo hello" }],
  ["terminal", { command: "sleep 5", background: true }],
  ["process", { action: "list" }],
  ["execute_code", { code: "print(1)" }],
  ["todo", { items: [{ id: "a", content: "begin", status: "in_progress" }] }],
  ["memory", { target: "memory", action: "add", content: "likes proofs" }],
  ["session_search", {}],
  ["skill_manage", { action: "create", name: "greet", content: skill }],
  ["skills_list", {}],
  ["skill_view", { name: "greet" }],
  ["cronjob", { action: "create", name: "tea", schedule: "every 1d at 09:00", prompt: "Say tea", skills: "greet" }],
  ["cronjob", { action: "list" }],
  ["cronjob", { action: "show", job_id: "tea" }],
  ["cronjob", { action: "pause", job_id: "tea", reason: "away" }],
  ["cronjob", { action: "runs", job_id: "tea" }],
  ["cronjob", { action: "remove", job_id: "tea" }],
  ["send_message", { action: "list" }],
  ["delegate_task", { action: "list" }],
  ["delegate_task", { goal: "Say hello" }],
  ["delegate_task", { goal: "Say hello", background: true }]
]

/** They ask a person or the network, so their own tests call them. */
const elsewhere = ["clarify", "web_extract", "web_search"]

describe("every tool", () => {
  it.scopedLive("is in a toolset that settings and jobs may name, and no other is named there", () =>
    Effect.gen(function* () {
      const all = yield* Effect.flatMap(ToolRegistry, (registry) => registry.all)
      const toolsets = new Set(all.map(({ toolset }) => toolset))
      expect(all.length).toBeGreaterThan(15)
      expect([...toolsets].filter((toolset) => !ToolsetName.own.includes(toolset))).toEqual([])
      expect(ToolsetName.own.filter((toolset) => !toolsets.has(toolset))).toEqual([])
    }).pipe(Effect.provide(Testing.gateway({ model: () => Testing.say("hello") })))
  )

  it.scopedLive("answers what the Schema of its result says", () => {
    const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "every-tool-")))
    return Effect.gen(function* () {
      const all = yield* Effect.flatMap(ToolRegistry, (registry) => registry.all)
      const called = new Set([...calls.map(([name]) => name), ...elsewhere])
      expect(all.map(({ name }) => name).filter((name) => !called.has(name))).toEqual([])
      const toolbox = yield* Toolbox
      const sessions = yield* SessionStore
      const session = { id: SessionId.make("session_a"), key: null, source: "telegram", origin: null }
      yield* Effect.flatMap(Database, ({ write }) =>
        write("test", sessions.create({ ...session, parentId: null, hidden: false, model: null }))
      )
      for (const [index, [name, args]] of calls.entries()) {
        const [result] = yield* Turn.enter(turn("a"))(
          toolbox.run([{ id: `call-${index}`, name, arguments: JSON.stringify(args) }], {
            advance: () => Effect.void,
            store: () => Effect.void
          })
        )
        expect({ name, args, ...result }).toMatchObject({ name, args, disposition: "ok" })
        const tool = yield* Effect.fromNullable(all.find((one) => one.name === name))
        const decode = Schema.decodeUnknownEither(tool.result, { onExcessProperty: "error" })
        expect(decode(result?.text)).toMatchObject({ _tag: "Right" })
      }
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: () => Testing.say("hello"),
          settings: {
            terminal: { timeoutSeconds: 20, envPassthrough: [], workingDirectory: folder },
            approvals: { allowlist: ["execute_code"] }
          },
          environment: { PATH: process.env["PATH"] ?? "" }
        })
      )
    )
  })
})
