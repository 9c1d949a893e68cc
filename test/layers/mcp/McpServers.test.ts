/** MCP servers through the whole gateway in memory: the public ones as they are, and one that does everything wrong. */
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Logger, LogLevel, TestClock } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, realpathSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as Conversation from "../../../src/layers/mcp/Conversation.js"
import { mcpServer, type WrittenServer } from "../../../src/layers/node/OutsideSettings.js"
import * as ProcessTable from "../../../src/layers/node/process/ProcessTable.js"
import { Toolbox } from "../../../src/services/agent/Toolbox.js"
import { Approvals } from "../../../src/services/approval/Approval.js"
import { McpServers } from "../../../src/services/mcp/McpServers.js"
import * as Testing from "../../../src/testing/index.js"
import { ambient, turn } from "../support/hands.js"

const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "mcp-")))
writeFileSync(path.join(folder, "notes.txt"), "from a file")
const publicServer = (name: string, ...args: ReadonlyArray<string>): WrittenServer => ({
  command: process.execPath,
  args: [
    fileURLToPath(new URL(`../../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url)),
    ...args
  ]
})
const badServer = (...args: ReadonlyArray<string>): WrittenServer => ({
  command: process.execPath,
  args: [fileURLToPath(new URL("badServer.mjs", import.meta.url)), ...args]
})

const gateway = (servers: { readonly [name: string]: WrittenServer }) =>
  Testing.gateway({
    model: () => Testing.say("not asked"),
    settings: {
      mcpServers: Object.entries(servers).map(([name, server]) =>
        mcpServer(name, server, { PERSONAL_TOKEN: "a-token-of-the-owner" })
      )
    },
    environment: {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      ANTHROPIC_API_KEY: "sk-ant-not-for-servers",
      TELEGRAM_BOT_TOKEN: "1234567:not-for-servers",
      SOMETHING_ELSE: "not declared",
      HERMES_SESSION_CHAT_ID: "stale"
    }
  })

const call = (name: string, args: object = {}, changes: Parameters<typeof turn>[1] = {}) =>
  Effect.flatMap(Toolbox, (toolbox) =>
    Turn.enter(turn("a", changes))(
      Effect.map(
        toolbox.run([{ id: "c", name, arguments: JSON.stringify(args) }], {
          advance: () => Effect.void,
          store: () => Effect.void
        }),
        ([result]) => ({ text: result?.text ?? "", disposition: result?.disposition })
      )
    )
  )

const offered = Effect.flatMap(Toolbox, (toolbox) =>
  Turn.enter(turn("a"))(Effect.map(toolbox.offered, (tools) => tools.map(({ name }) => name)))
)

const answer = (approve: boolean) =>
  Effect.flatMap(Approvals, (approvals) =>
    Effect.zipRight(
      approvals
        .open("key:a")
        .pipe(
          Effect.zipLeft(Effect.sleep("10 millis")),
          Effect.repeat({ until: (rows) => rows.length > 0 }),
          Effect.timeout("15 seconds")
        ),
      approvals.answer({ sessionKey: "key:a", id: null, approve, reason: null, by: "ada" })
    )
  )

const cron = { marker: CronMarker.cron({ job: "j", run: "r" }), asyncDelivery: false }

describe("the public MCP servers, as they are", () => {
  it.scopedLive(
    "list, answer, change only after a yes, and see of our environment what is declared",
    () =>
      Effect.gen(function* () {
        const names = yield* offered
        expect(names).toEqual(expect.arrayContaining(["mcp__every__echo", "mcp__files__read_text_file", "terminal"]))
        expect(yield* call("mcp__every__echo", { message: "hello" })).toMatchObject({ text: "Echo: hello" })
        expect((yield* call("mcp__every__get-sum", { a: 2, b: 40 })).text).toContain("42")
        expect((yield* call("mcp__every__get-sum", { a: "x" })).disposition).toBe("error")
        expect((yield* call("mcp__files__read_text_file", { path: path.join(folder, "notes.txt") })).text).toContain(
          "from a file"
        )
        expect((yield* call("mcp__every__get-tiny-image")).text).toContain("image/png")
        expect(
          (yield* call("mcp__every__trigger-long-running-operation", { duration: 0.1, steps: 2 })).disposition
        ).toBe("ok")

        const { text } = yield* call("mcp__every__get-env")
        const seen: Record<string, string> = JSON.parse(text)
        expect(Object.keys(seen).toSorted()).toEqual(["HERMES_COMMAND_TOKEN", "HOME", "MY_TOKEN", "PATH", "PLAIN"])
        expect(seen["MY_TOKEN"]).toBe("[redacted]")
        expect(seen["PLAIN"]).toBe("declared")
        // The control: what was filtered is there, and a command of the same gateway is told.
        expect((yield* call("terminal", { command: "echo $SOMETHING_ELSE" })).text).toBe("not declared")

        const remember = { entities: [{ name: "Ada", entityType: "person", observations: ["likes proofs"] }] }
        const asking = yield* Turn.forkWorker(call("mcp__memory__create_entities", remember))
        yield* answer(true)
        expect((yield* Turn.result(asking)).disposition).toBe("ok")
        expect((yield* call("mcp__memory__read_graph")).text).toContain("likes proofs")
      }).pipe(
        Effect.provide(
          gateway({
            every: { ...publicServer("everything"), env: { PLAIN: "declared", MY_TOKEN: "${PERSONAL_TOKEN}" } },
            files: publicServer("filesystem", folder),
            memory: { ...publicServer("memory"), env: { MEMORY_FILE_PATH: path.join(folder, "memory.jsonl") } }
          })
        )
      ),
    60_000
  )

  it.scopedLive(
    "answer over streamable HTTP too, before and after their restart",
    () =>
      Effect.gen(function* () {
        const port = yield* Effect.async<string>((resume) => {
          const probe = createServer().listen(0, "127.0.0.1", () => {
            const address = probe.address()
            probe.close(() => resume(Effect.succeed(String(typeof address === "object" ? address?.port : 0))))
          })
        })
        const start = Effect.acquireRelease(
          Effect.async<ReturnType<typeof spawn>>((resume) => {
            const { args = [], command = "" } = publicServer("everything", "streamableHttp")
            const child = spawn(command, args.map(String), { env: { PATH: process.env["PATH"], PORT: port } })
            child.stderr.on("data", (text: Buffer) => {
              if (text.toString().includes("listening")) resume(Effect.succeed(child))
            })
          }),
          (child) => Effect.sync(() => child.kill("SIGKILL"))
        )
        const first = yield* start
        yield* Effect.gen(function* () {
          expect(yield* call("mcp__far__echo", { message: "hello" })).toMatchObject({ text: "Echo: hello" })
          first.kill("SIGKILL")
          yield* Effect.sleep("200 millis")
          expect((yield* call("mcp__far__echo", { message: "hello" })).disposition).toBe("error")
          yield* start
          expect(yield* call("mcp__far__echo", { message: "again" })).toMatchObject({ text: "Echo: again" })
        }).pipe(Effect.provide(gateway({ far: { url: `http://127.0.0.1:${port}/mcp` } })))
      }),
    60_000
  )
})

describe("a server that goes wrong", () => {
  it.scopedLive(
    "dies and comes back, hangs and is not waited for, says nonsense and is told apart",
    () =>
      Effect.gen(function* () {
        expect((yield* offered).filter((name) => name.startsWith("mcp__bad__")).length).toBe(5)
        const before = (yield* call("mcp__bad__pid")).text
        expect(before).toMatch(/^pid \d+$/)
        const died = yield* call("mcp__bad__die")
        expect(died).toMatchObject({ disposition: "error", text: expect.stringContaining("ended with exit code 3") })
        const after = (yield* call("mcp__bad__pid")).text
        expect(after).toMatch(/^pid \d+$/)
        expect(after).not.toBe(before)
        expect((yield* call("mcp__bad__hang")).text).toContain("did not answer within 1 s")
        expect((yield* call("mcp__bad__odd")).text).toContain("answered what is not understood")
        expect((yield* call("mcp__bad__pid")).text).toBe(after)
        expect((yield* offered).some((name) => name.startsWith("mcp__mute") || name.startsWith("mcp__flood"))).toBe(
          false
        )
        const { reload } = yield* McpServers
        const lines = (yield* reload).join("\n")
        expect(lines).toContain("bad: offers 5 tools")
        expect(lines).toContain("mute: was not reached within 1 s")
        expect(lines).toMatch(/flood: (wrote a line|was not reached)/)
        expect(lines).toContain("gone: could not be started")
        expect(lines).toContain("astray: could not be started: the folder /nonexistent/place is not there")
        expect(lines).toContain("nowhere: could not be started: the folder /etc/passwd is no folder")
        expect(lines).toMatch(/torn: could not be started: .* has a NUL in it/)
        expect(lines).not.toContain("open sesame")
        expect(lines).toMatch(/endless: could not be started: its arguments .* too long/)
        expect(lines).toContain("unset: is not started, because NO_SUCH_NAME is not set")
      }).pipe(
        Effect.provide(
          gateway({
            bad: { ...badServer(), timeout: 1 },
            mute: { ...badServer("mute"), connect_timeout: 1 },
            flood: { ...badServer("flood"), connect_timeout: 2 },
            gone: { command: "no-such-command-anywhere" },
            astray: { ...badServer(), cwd: "/nonexistent/place" },
            nowhere: { ...badServer(), cwd: "/etc/passwd" },
            torn: { ...badServer(), env: { KEY: "\u0000open sesame" } },
            endless: { ...badServer(), args: ["x".repeat(200_000)] },
            unset: { ...badServer(), env: { KEY: "${NO_SUCH_NAME}" } }
          })
        )
      ),
    60_000
  )

  it.scopedLive(
    "may change something: a job's run is denied in the words of cron; without the marker its person is asked",
    () =>
      Effect.gen(function* () {
        const denied = yield* call("mcp__bad__change", {}, cron)
        const command = yield* call("terminal", { command: "rm -rf build" }, cron)
        expect(denied.disposition).toBe("refused")
        const words = (text: string) => text.replace(/\(.*?\)|"[^"]*"|`[^`]*`/g, "").slice(0, 40)
        expect(words(denied.text)).toBe(words(command.text))
        expect((yield* call("mcp__bad__pid", {}, cron)).disposition).toBe("ok")
        const asking = yield* Turn.forkWorker(call("mcp__bad__change", { what: "all" }))
        const row = yield* answer(false)
        expect(row.subject).toContain('"what": "all"')
        expect((yield* Turn.result(asking)).disposition).toBe("refused")
        expect((yield* call("mcp__trusted__change", {}, cron)).disposition).toBe("ok")
      }).pipe(Effect.provide(gateway({ bad: badServer(), trusted: { ...badServer(), trusted_tools: ["change"] } }))),
    60_000
  )

  it.scopedLive("is used without its odd tools, each of which is told once", () => {
    const logged: Array<string> = []
    const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
      if (logLevel === LogLevel.Warning) logged.push(Array.isArray(message) ? message.join(" ") : String(message))
    })
    return Effect.gen(function* () {
      yield* offered
      expect((yield* offered).filter((name) => name.startsWith("mcp__bad__"))).toEqual([
        "mcp__bad__a_b",
        "mcp__bad__good",
        "mcp__bad__hinted",
        "mcp__bad__null"
      ])
      const left = (tool: string, why: string) => `the MCP server "bad" offers a tool ${tool}, left out: ${why}`
      const over = Array.from({ length: 20 }, (_, index) => `"t${128 + index}"`).join(", ")
      expect(logged.toSorted()).toEqual(
        [
          left('"numbered"', "description: expected a text"),
          left(`"${"n".repeat(79)}…"`, "name: expected a text of 1 to 200 characters"),
          left('""', "name: expected a text of 1 to 200 characters"),
          left("without a name", "name: is missing"),
          left("without a name", "expected a tool with name, description and inputSchema"),
          left('"no-schema"', "inputSchema: is missing"),
          ...["listed", "positional", "needing"].map((name) =>
            left(`"${name}"`, 'inputSchema: expected a JSON Schema of type "object"')
          ),
          left('"wide"', "its inputSchema has 32055 characters, more than 32000"),
          `the MCP server "many" offers more than 128 tools; left out are ${over} and 52 more`,
          'the MCP server "many" lists its tools on more pages than are read (at most 20, or 128 tools)',
          'the tool "a_b" of the MCP server "bad" is left out: as mcp__bad__a_b a model could not tell it from the tool "a b" of the MCP server "bad"'
        ].toSorted()
      )
      expect((yield* offered).filter((name) => name.startsWith("mcp__many__")).length).toBe(128)
      expect(yield* call("mcp__odd__pieces")).toEqual({
        disposition: "ok",
        text: "seen\n[a piece of type video that is not understood]\n[a piece of no type that is not understood]\n[a piece of type text that is not understood]"
      })
      expect(yield* call("mcp__odd__empty")).toEqual({ disposition: "ok", text: '{"answer":42}' })
    }).pipe(
      Effect.provide(
        gateway({ bad: badServer("strange"), many: badServer("many"), odd: badServer("answers") }).pipe(
          Layer.provideMerge(Logger.add(logger))
        )
      )
    )
  })

  it.scopedLive("is cut within no character when it says too much", () =>
    Effect.gen(function* () {
      const tools = yield* (yield* McpServers).tools
      expect(tools.map(({ description }) => [description.length, description.isWellFormed()])).toEqual([[1_999, true]])
      const { text } = yield* call("mcp__bad__long")
      expect(text).toContain("😀\n[… cut off here]")
      expect(text.isWellFormed()).toBe(true)
    }).pipe(Effect.provide(gateway({ bad: badServer("long") })))
  )

  it.live("is gone with the gateway", () =>
    Effect.gen(function* () {
      const { text } = yield* Effect.scoped(Effect.provide(call("mcp__bad__pid"), gateway({ bad: badServer() })))
      const pid = Number(text.replace("pid ", ""))
      expect(pid).toBeGreaterThan(1)
      expect((yield* ProcessTable.list).some((entry) => entry.pid === pid)).toBe(false)
    })
  )

  it.scoped("is asked for a sign of life each three minutes, and given up without one", () =>
    Effect.gen(function* () {
      let pings = 0
      const client = HttpClient.make((request) => {
        const body = request.body._tag === "Uint8Array" ? new TextDecoder().decode(request.body.body) : "{}"
        const { id, method } = JSON.parse(body)
        if (method === "ping" && ++pings === 2) return Effect.never
        const result = { protocolVersion: "2025-06-18", capabilities: {} }
        // A sign of life as well: this server does not know the question.
        const said = method === "ping" ? { error: { code: -32_601, message: "no such method" } } : { result }
        const answer =
          id === undefined
            ? new Response(null, { status: 202 })
            : new Response(JSON.stringify({ jsonrpc: "2.0", id, ...said }))
        return Effect.succeed(HttpClientResponse.fromWeb(request, answer))
      })
      const place = { home: folder, directory: folder, token: "t" }
      const conversation = yield* Conversation.open(
        mcpServer("far", { url: "http://far.example/mcp" }, {}),
        place
      ).pipe(Effect.provideService(HttpClient.HttpClient, client), Effect.provide(ambient()))
      const over = yield* Effect.fork(conversation.over)
      const pass = (seconds: number) =>
        Effect.zipRight(
          TestClock.adjust(`${seconds} seconds`),
          Effect.promise(() => new Promise(setImmediate))
        )
      yield* pass(179)
      expect(pings).toBe(0)
      yield* pass(1)
      expect(pings).toBe(1)
      yield* pass(180)
      expect(pings).toBe(2)
      yield* pass(29)
      expect(over.unsafePoll()).toBe(null)
      yield* pass(1)
      expect(yield* Fiber.join(over)).toBe("did not answer within 30 s")
    })
  )
})
