/** Programs of the agent through the whole gateway in memory: their calls are the turn's own, and gated as those are. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as Presence from "../../../src/fibers/Presence.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ProcessTable from "../../../src/layers/node/process/ProcessTable.js"
import { Toolbox } from "../../../src/services/agent/Toolbox.js"
import { Approvals, Authorized } from "../../../src/services/approval/Approval.js"
import { Settings } from "../../../src/services/operation/Settings.js"
import { CodeRunner } from "../../../src/services/shell/CodeRunner.js"
import * as Testing from "../../../src/testing/index.js"
import { turn } from "../support/hands.js"

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "code-")))
mkdirSync(path.join(folder, "build"))
writeFileSync(path.join(folder, "notes.txt"), "one\ntwo\nthree\n")

const gateway = (allowlist: ReadonlyArray<string>) =>
  Testing.gateway({
    model: () => Testing.say("not asked"),
    settings: {
      terminal: { timeoutSeconds: 20, envPassthrough: [], workingDirectory: folder },
      approvals: { allowlist }
    },
    environment: {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      HERMES_SESSION_CHAT_ID: "stale",
      NODE_OPTIONS: "--no-addons"
    }
  })

const run = (code: string, changes: Parameters<typeof turn>[1] = {}) =>
  Effect.flatMap(Toolbox, (toolbox) =>
    Turn.enter(turn("a", changes))(
      Effect.map(
        toolbox.run([{ id: "c", name: "execute_code", arguments: JSON.stringify({ code }) }], {
          advance: () => Effect.void,
          store: () => Effect.void
        }),
        ([result]) => ({ text: result?.text ?? "", disposition: result?.disposition })
      )
    )
  )

/** The open question of a conversation, once there is one. */
const question = (key: string) =>
  Effect.flatMap(Approvals, (approvals) => Effect.map(approvals.open(key), ([row]) => row)).pipe(
    Effect.zipLeft(Effect.sleep("10 millis")),
    Effect.repeat({ until: (row) => row !== undefined }),
    Effect.timeout("15 seconds")
  )

const answer = (key: string, approve: boolean) =>
  Effect.flatMap(Approvals, (approvals) =>
    approvals.answer({ sessionKey: key, id: null, approve, reason: null, by: "ada" })
  )

const cron = { marker: CronMarker.cron({ job: "j", run: "r" }), asyncDelivery: false }

describe("a program of the agent", () => {
  it.scopedLive("calls the turn's tools, many at a time, and only what it prints comes back", () =>
    Effect.gen(function* () {
      const result = yield* run(`
        interface Line { readonly text: string }
        const text: string = await tools.read_file({ path: "notes.txt" })
        const both = await Promise.all([1, 2].map((n) => tools.terminal({ command: "echo $HERMES_SESSION_CHAT_ID " + n })))
        const line: Line = { text: both.join("|") }
        print(text.includes("three"), line.text)
        console.log(process.env.HERMES_SESSION_CHAT_ID, process.env.NODE_OPTIONS)
      `)
      expect(result).toEqual({ text: "true a 1|a 2\na undefined", disposition: "ok" })
      const { home } = yield* Settings
      expect(readdirSync(path.join(home, "cache", "code"))).toEqual([])
    }).pipe(Effect.provide(gateway(["execute_code"])))
  )

  it.scopedLive("says in which line it broke, and what a call refused", () =>
    Effect.gen(function* () {
      const thrown = yield* run("const a: number = 1\nprint(a)\nthrow new Error('no more')")
      expect(thrown).toMatchObject({ disposition: "error" })
      expect(thrown.text).toMatch(/^1\n\[Error: no more \(line 3/)
      const unread = yield* run("const a = 1\nconst b = ((\n")
      expect(unread.text).toMatch(/cannot be read at line [23]/)
      expect((yield* run("print(1)\nfunction f() {\n  await f()\n}")).text).toMatch(/program\.mjs:3[^]*SyntaxError/)
      expect((yield* run("tools.fly()")).text).toContain("there is no tool fly for programs")
      expect((yield* run("await tools.read_file({ path: 'missing' })")).text).toMatch(/ToolError: .*\(line 1|ToolError/)
      expect((yield* run("await new Promise(() => {})")).text).toContain("waits for something that never comes")
      const many = yield* run(
        "let n = 0\nfor (;;) try { await tools.read_file({ path: 'notes.txt', limit: 1 }); n++ } catch (error) { print(n, error.message); break }"
      )
      expect(many.text).toBe("50 a program makes 50 calls at most")
      expect((yield* run("await tools.send_message({ message: 'x' })")).text).toContain(
        "no tool send_message for programs"
      )
      expect((yield* run("await tools.execute_code({ code: '1' })")).text).toContain(
        "no tool execute_code for programs"
      )
    }).pipe(Effect.provide(gateway(["execute_code"])))
  )

  it.scopedLive("reaches no files, processes or signals but through its calls, and never the owner's secrets", () =>
    Effect.gen(function* () {
      const { home } = yield* Settings
      writeFileSync(path.join(home, "plain.txt"), "mine")
      const tried = yield* run(`
        import fs from "node:fs"
        import { spawnSync } from "node:child_process"
        import { Worker } from "node:worker_threads"
        const attempt = (what) => { try { return what() ?? "done" } catch (error) { return error.code ?? error.message } }
        print(attempt(() => fs.readFileSync(${JSON.stringify(path.join(folder, "notes.txt"))}, "utf8")))
        print(attempt(() => fs.writeFileSync(${JSON.stringify(path.join(folder, "made.txt"))}, "x")))
        print(attempt(() => spawnSync("true").error?.code ?? "ran"))
        print(attempt(() => new Worker("1", { eval: true })))
        print(attempt(() => process.kill(process.ppid, 0)))
        fs.writeFileSync("own.txt", "own"); print(fs.readFileSync("own.txt", "utf8"))
      `)
      expect(tried.text).toBe(
        "ERR_ACCESS_DENIED\nERR_ACCESS_DENIED\nERR_ACCESS_DENIED\nERR_ACCESS_DENIED\nsignals are not for programs\nown"
      )
      expect(
        (yield* run(`print(await tools.read_file({ path: ${JSON.stringify(path.join(home, ".env"))} }))`)).text
      ).toContain("holds the agent's own secrets")
    }).pipe(Effect.provide(gateway(["execute_code"])))
  )

  it.scopedLive("is asked about in its conversation, and each dangerous call of it again, under its own number", () =>
    Effect.gen(function* () {
      const running = yield* Turn.forkWorker(run("print(await tools.terminal({ command: 'rm -rf build' }))"))
      const first = yield* question("key:a")
      expect(first).toMatchObject({ tool: "execute_code", callId: "c", turnId: "turn_a" })
      yield* answer("key:a", true)
      const second = yield* question("key:a")
      expect(second).toMatchObject({ tool: "terminal", callId: "c#1", turnId: "turn_a", subject: "rm -rf build" })
      yield* answer("key:a", false)
      const result = yield* Turn.result(running)
      expect(result.text).toMatch(/ToolError: The owner said no/)
      expect(readdirSync(folder)).toContain("build")
    }).pipe(Effect.provide(gateway([])))
  )

  it.scopedLive(
    "of a job's run is denied what cron is denied, also inside; without the marker its person is asked",
    () =>
      Effect.gen(function* () {
        const code = "print(await tools.terminal({ command: 'rm -rf build' }))"
        const inside = yield* run(code, cron)
        expect(inside.disposition).toBe("error")
        expect(inside.text).toContain(
          "Nobody is there to approve this, so it was not run (approvals.cron_mode is deny)"
        )
        expect((yield* run("print(process.env.HERMES_CRON_SESSION)", cron)).text).toBe("1")
        const asked = yield* Effect.timeoutOption(run(code), "3 seconds")
        expect(asked._tag).toBe("None")
        expect(readdirSync(folder)).toContain("build")
      }).pipe(Effect.provide(gateway(["execute_code"])))
  )

  it.scopedLive("itself is denied to a job's run that nobody allowed it to", () =>
    Effect.gen(function* () {
      expect(yield* run("print(1)", cron)).toMatchObject({ disposition: "refused" })
      // At a terminal its person is asked for the calls, not for the program.
      const local = turn("a").identity.with("platform", { _tag: "Cleared" })
      expect(yield* run("print(1)", { identity: local, presence: Presence.human("key:a") })).toEqual({
        text: "1",
        disposition: "ok"
      })
    }).pipe(Effect.provide(gateway([])))
  )

  it.scopedLive("that never ends is gone with its turn, or with its time", () =>
    Effect.gen(function* () {
      const token = "HERMES_SESSION_CHAT_ID=endless"
      const count = Effect.map(
        ProcessTable.list,
        (entries) => entries.filter((entry) => ProcessTable.carries(entry.pid, token)).length
      )
      const identity = turn("endless").identity
      const running = yield* Turn.forkWorker(run("for (;;) {}", { identity }))
      yield* count.pipe(Effect.zipLeft(Effect.sleep("20 millis")), Effect.repeat({ until: (living) => living > 0 }))
      const from = performance.now()
      yield* Turn.interrupt(running)
      expect(performance.now() - from).toBeLessThan(3_000)
      expect(yield* count).toBe(0)
      const runner = yield* CodeRunner
      const late = yield* Turn.enter(turn("a"))(
        runner
          .run({
            source: "console.log('begun'); for (;;) {}",
            tools: [],
            deadline: Effect.sleep("2 seconds"),
            serve: () => Effect.succeed({ ok: true, text: "" })
          })
          .pipe(Effect.provideService(Authorized, { question: { tool: "t", callId: "c", subject: "", reasons: [] } }))
      )
      expect(late).toMatchObject({ timedOut: true, calls: 0 })
    }).pipe(Effect.provide(gateway(["execute_code"])))
  )
})
