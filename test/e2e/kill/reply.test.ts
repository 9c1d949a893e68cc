/**
 * `kill -9` of the built gateway between every two steps of one reply, in one part and in two: before its row, before
 * the call, after the platform took it, before it is settled (issue 5). What may have arrived comes once more, marked;
 * what cannot have arrived comes once; nothing is lost (decision 22).
 */
import { describe, expect, it } from "@effect/vitest"
import Database from "better-sqlite3"
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import process from "node:process"
import { plainEnvironment } from "../../../build/gateway.mjs"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import { scaled } from "../../scale.js"
import { crashing, page } from "../cron/crashing.js"

const program = crashing()

const config = `
display:
  busy_ack_enabled: false
  hints: false
platforms:
  telegram:
    allow_all_users: true
    streaming: false
`

/** How often each part is in the chat: as it was first sent, and as the marked copy. */
interface Heard {
  readonly plain: number
  readonly marked: number
}

interface Case {
  /** A milestone of the program; "accepted" is seen at the platform, which then never answers. */
  readonly point: string
  readonly parts: 1 | 2
  readonly asked: number
  readonly heard: ReadonlyArray<Heard>
  /** The states of the rows, in the order of making. */
  readonly rows: ReadonlyArray<string>
  /** Also in a quick run of the tests. */
  readonly quick?: boolean
}

const once = { plain: 1, marked: 0 }
const twice = { plain: 1, marked: 1 }
const copied = { plain: 0, marked: 1 }

const cases: ReadonlyArray<Case> = [
  { point: "reply.before", parts: 1, asked: 2, heard: [once], rows: ["sent"] },
  { point: "reply.written", parts: 1, asked: 1, heard: [copied], rows: ["unknown", "sent copy"] },
  { point: "send.before", parts: 1, asked: 1, heard: [copied], rows: ["unknown", "sent copy"] },
  { point: "accepted", parts: 1, asked: 1, heard: [twice], rows: ["unknown", "sent copy"], quick: true },
  { point: "send.answered", parts: 1, asked: 1, heard: [twice], rows: ["unknown", "sent copy"] },
  { point: "send.settled", parts: 1, asked: 1, heard: [once], rows: ["sent"] },
  { point: "reply.before", parts: 2, asked: 2, heard: [once, once], rows: ["sent", "sent"] },
  {
    point: "send.answered",
    parts: 2,
    asked: 1,
    heard: [twice, once],
    rows: ["unknown", "sent", "sent copy"]
  },
  {
    point: "send.settled",
    parts: 2,
    asked: 1,
    heard: [once, copied],
    rows: ["sent", "unknown", "sent copy"],
    quick: true
  }
]

const answers = { 1: "part-1", 2: `part-1 ${"some words ".repeat(400)} part-2` } as const

class Unexpected extends Schema.TaggedError<Unexpected>()("Unexpected", { detail: Schema.String }) {}

interface Running {
  readonly ended: Promise<number | string | null>
  readonly kill: (signal: "SIGKILL" | "SIGTERM") => void
  readonly output: () => string
}

const start = (home: string, environment: Record<string, string>) =>
  Effect.acquireRelease(
    Effect.sync((): Running => {
      let output = ""
      const child = spawn(process.execPath, [program], {
        env: { ...plainEnvironment(), API_SERVER_PORT: "0", PAGE: page, ...environment, HERMES_HOME: home },
        stdio: ["ignore", "pipe", "pipe"]
      })
      const hear = (chunk: Buffer): void => {
        output = (output + chunk.toString()).slice(-20_000)
      }
      child.stdout.on("data", hear)
      child.stderr.on("data", hear)
      const ended = new Promise<number | string | null>((resolve) =>
        child.once("exit", (code, signal) => resolve(signal ?? code))
      )
      return { ended, kill: (signal) => child.kill(signal), output: () => output }
    }),
    (running) => Effect.sync(() => running.kill("SIGKILL"))
  )

const until = (what: string, done: () => boolean, detail: () => string) =>
  Effect.gen(function* () {
    for (let left = 6_000; !done(); left--) {
      if (left === 0) return yield* new Unexpected({ detail: `${what} in vain: ${detail()}` })
      yield* Effect.sleep("10 millis")
    }
  })

const query = (home: string, sql: string): ReadonlyArray<Record<string, unknown>> => {
  const database = new Database(path.join(home, "state.db"), { readonly: true })
  try {
    return database.prepare<[], Record<string, unknown>>(sql).all()
  } finally {
    database.close()
  }
}

const play = (one: Case) =>
  Effect.gen(function* () {
    const name = `${one.point}, ${one.parts} part${one.parts === 1 ? "" : "s"}`
    const root = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(path.join(tmpdir(), "hermes-reply-"))),
      (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
    )
    let asked = 0
    const model = yield* ModelServer.make(() => {
      asked += 1
      return ModelServer.says(answers[one.parts])
    })
    let arrived: ReadonlyArray<string> = []
    const telegram = yield* TelegramServer.make({
      observe: (call) => {
        if (call.method === "sendMessage" && call.messageId !== null) arrived = [...arrived, call.text ?? ""]
      }
    })
    const home = path.join(root, "home")
    mkdirSync(home, { mode: 0o700 })
    writeFileSync(path.join(home, "config.yaml"), config, { mode: 0o600 })
    const environment = {
      HERMES_MODEL_PROVIDER: "openai-compatible",
      HERMES_MODEL_TITLES: "false",
      HERMES_MODEL_BASE_URL: model.baseUrl,
      HERMES_MODEL: "test",
      TELEGRAM_BOT_TOKEN: telegram.token,
      TELEGRAM_API_ROOT: telegram.apiRoot,
      XDG_STATE_HOME: path.join(root, "state")
    }
    if (one.point === "accepted") yield* telegram.fault("sendMessage", TelegramServer.Faults.hang, { accepted: true })
    const person = telegram.user(1)
    yield* telegram.say({ chat: telegram.dm(person), from: person, text: "please" })

    const first = yield* start(home, { ...environment, CRASH_AT: one.point })
    if (one.point === "accepted") {
      yield* until(`waited for ${name}`, () => arrived.length > 0, first.output)
      first.kill("SIGKILL")
    }
    expect(yield* Effect.promise(() => first.ended), `${name}: ${first.output()}`).toBe("SIGKILL")

    const second = yield* start(home, environment)
    yield* until(
      `waited for the end of ${name}`,
      () =>
        second.output().includes("is ready") &&
        existsSync(path.join(home, "state.db")) &&
        query(home, "SELECT 1 FROM turns WHERE ended_at IS NOT NULL").length > 0 &&
        query(home, "SELECT 1 FROM deliveries WHERE state IN ('pending', 'sending')").length === 0,
      second.output
    )
    second.kill("SIGTERM")
    expect(yield* Effect.promise(() => second.ended), name).toBe(0)

    expect(asked, `${name}: model calls`).toBe(one.asked)
    const heard = one.heard.map((_, index): Heard => {
      const texts = arrived.filter((text) => text.includes(`part-${index + 1}`))
      const marked = texts.filter((text) => text.startsWith("(Recovered")).length
      return { plain: texts.length - marked, marked }
    })
    expect(heard, `${name}: what arrived`).toEqual(one.heard)
    const rows = query(home, "SELECT state, resend_of FROM deliveries ORDER BY id")
    expect(
      rows.map(({ resend_of: copy, state }) => `${state}${copy === null ? "" : " copy"}`),
      `${name}: rows`
    ).toEqual(one.rows)
    expect(query(home, "SELECT id FROM turns WHERE ended_at IS NULL"), name).toEqual([])
    expect(query(home, "SELECT state FROM inbound_events"), name).toEqual([{ state: "answered" }])
  }).pipe(Effect.scoped)

describe("a gateway that dies over a reply", () => {
  it.scopedLive(
    "loses and silently doubles nothing, whichever step it dies at",
    () =>
      Effect.gen(function* () {
        // `CRASH_CASES=send` with TEST_SCALE=1: only those whose point says so.
        const wanted = new RegExp(process.env["CRASH_CASES"] ?? "")
        const chosen = (
          scaled(cases.length) === cases.length ? cases : cases.filter(({ quick }) => quick === true)
        ).filter(({ point }) => wanted.test(point))
        expect(chosen.length).toBeGreaterThan(0)
        for (const one of chosen) yield* play(one)
      }),
    1_800_000
  )
})
