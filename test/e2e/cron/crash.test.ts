/**
 * The crash matrix: `kill -9` of the built gateway at each point of a run, and what the next one makes of it
 * (cron-delivery.md 2.5 as changed by decisions 14, 15 and 22). Never is anything done a second time.
 */
import { describe, expect, it } from "@effect/vitest"
import Database from "better-sqlite3"
import { Effect, Schema } from "effect"
import { spawn } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import process from "node:process"
import { plainEnvironment } from "../../../build/gateway.mjs"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import { scaled } from "../../scale.js"
import { crashing, page } from "./crashing.js"

const program = crashing()
const result = "the result of the run"

interface Case {
  /** Where it dies: at a milestone of the program, or when the test sees something happen. */
  readonly point: string
  readonly seen?: "model" | "tool" | "script" | "telegram"
  readonly job: "agent" | "script" | "interval" | "once"
  readonly status: string
  readonly attempts: number
  /** Results that arrived in the chat. */
  readonly results: number
  /** Times that the model was asked, or that the script ran. */
  readonly acts: number
  readonly delivery?: string
  /** Also in a quick run of the tests. */
  readonly quick?: boolean
}

const before = { status: "ok", attempts: 1, results: 1, acts: 1 }
const again = { ...before, attempts: 2 }
const lost = { status: "unknown", attempts: 1, results: 0, acts: 0 }

const cases: ReadonlyArray<Case> = [
  ...(["agent", "script", "interval", "once"] as const).flatMap((job): ReadonlyArray<Case> => [
    { point: "claim.before", job, ...before },
    { point: "claim.inside", job, ...before },
    { point: "claim.after", job, ...again, quick: job === "once" },
    { point: "run.started", job, ...lost },
    { point: "output.before", job, ...lost, acts: 1 },
    { point: "output.saved", job, ...lost, acts: 1 },
    { point: "delivery.sending", job, ...lost, acts: 1, delivery: "unknown" },
    {
      point: "accepted, before it is settled",
      seen: "telegram",
      job,
      ...lost,
      results: 1,
      acts: 1,
      delivery: "unknown",
      quick: job === "agent"
    },
    { point: "delivery.settled", job, ...lost, results: 1, acts: 1, delivery: "sent" },
    { point: "record.inside", job, ...lost, results: 1, acts: 1, delivery: "sent" },
    { point: "record.after", job, ...before, delivery: "sent" }
  ]),
  ...(["agent", "interval", "once"] as const).flatMap((job): ReadonlyArray<Case> => [
    { point: "agent.before", job, ...lost },
    { point: "model call in flight", seen: "model", job, ...lost, acts: 1 },
    { point: "tool started", seen: "tool", job, ...lost, acts: 1 }
  ]),
  { point: "script running", seen: "script", job: "script", ...lost, acts: 1 }
]

const config = `
approvals:
  cron_mode: approve
cron:
  wrap_response: false
`
const draftsFor = (chat: number) => [
  { name: "agent", schedule: "0 0 1 1 *", prompt: "do it", deliver: `telegram:${chat}` },
  { name: "interval", schedule: "every 30d", prompt: "do it", deliver: `telegram:${chat}` },
  { name: "once", schedule: "20d", prompt: "do it", deliver: `telegram:${chat}` },
  { name: "script", schedule: "0 0 1 1 *", script: "job.sh", noAgent: true, deliver: `telegram:${chat}` }
]
const script = `echo ran >> "$HERMES_HOME/ran"\n[ -f "$HERMES_HOME/slow" ] && sleep 4\necho "${result}"\n`

class Unexpected extends Schema.TaggedError<Unexpected>()("Unexpected", { detail: Schema.String }) {}

interface Running {
  readonly ended: Promise<number | string | null>
  readonly kill: (signal: "SIGKILL" | "SIGTERM") => void
  readonly output: () => string
}

const start = (home: string, environment: Record<string, string>): Running => {
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
}

const until = (what: string, done: () => boolean, detail: () => string) =>
  Effect.gen(function* () {
    for (let left = 3_000; !done(); left--) {
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

/** Makes one job due as if its time had come a second ago. */
const makeDue = (home: string, job: string): void => {
  const database = new Database(path.join(home, "state.db"))
  const at = Date.now() - 1_000
  database.exec(`
    UPDATE due SET next_at = ${at} WHERE job = (SELECT number FROM jobs WHERE name = '${job}');
    UPDATE schedule_rules SET rule = json_set(rule, '$.at', ${at}) WHERE json_extract(rule, '$.kind') = 'once';
    UPDATE schedule_rules SET rule = json_set(rule, '$.anchor', ${at}) WHERE json_extract(rule, '$.kind') = 'interval'`)
  database.close()
}

describe("a gateway that dies", () => {
  it.scopedLive(
    "does each run once, whenever it dies",
    () =>
      Effect.gen(function* () {
        const root = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(path.join(tmpdir(), "hermes-crash-"))),
          (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
        )
        let asked = 0
        let reply: (home: string) => ModelServer.ModelServerReply = () => ModelServer.says(result)
        let home = ""
        const model = yield* ModelServer.make(() => {
          asked += 1
          return reply(home)
        })
        let arrived: ReadonlyArray<string> = []
        const telegram = yield* TelegramServer.make({
          observe: (call) => {
            if (call.method === "sendMessage") arrived = [...arrived, call.text ?? ""]
          }
        })
        const environment = {
          HERMES_MODEL_PROVIDER: "openai-compatible",
          HERMES_MODEL_TITLES: "false",
          HERMES_MODEL_BASE_URL: model.baseUrl,
          HERMES_MODEL: "test",
          TELEGRAM_BOT_TOKEN: telegram.token,
          TELEGRAM_API_ROOT: telegram.apiRoot,
          XDG_STATE_HOME: path.join(root, "state")
        }

        const template = path.join(root, "template")
        mkdirSync(path.join(template, "scripts"), { recursive: true, mode: 0o700 })
        writeFileSync(path.join(template, "config.yaml"), config, { mode: 0o600 })
        writeFileSync(path.join(template, "scripts", "job.sh"), script)
        const setup = start(template, {
          ...environment,
          SETUP: JSON.stringify(draftsFor(telegram.dm(telegram.user(1)).id))
        })
        expect(yield* Effect.promise(() => setup.ended), setup.output()).toBe(0)

        // `CRASH_CASES=script` with TEST_SCALE=1: only those whose point or job says so.
        const wanted = new RegExp(process.env["CRASH_CASES"] ?? "")
        const chosen = (
          scaled(cases.length) === cases.length ? cases : cases.filter(({ quick }) => quick === true)
        ).filter((one) => wanted.test(`${one.point} of ${one.job}`))
        for (const [index, one] of chosen.entries()) {
          const name = `${one.point} of ${one.job}`
          home = path.join(root, `home-${index}`)
          cpSync(template, home, { recursive: true })
          makeDue(home, one.job)
          asked = 0
          arrived = []
          const touched = path.join(home, "touched")
          reply = (at) =>
            one.seen === "model"
              ? ModelServer.hangs
              : one.seen === "tool"
                ? ModelServer.callsTools([{ name: "terminal", arguments: { command: `touch ${at}/touched; sleep 4` } }])
                : ModelServer.says(result)
          if (one.seen === "script") writeFileSync(path.join(home, "slow"), "")
          if (one.seen === "telegram")
            yield* telegram.fault("sendMessage", TelegramServer.Faults.hang, { accepted: true })

          const first = start(home, { ...environment, CRASH_AT: one.seen === undefined ? one.point : "" })
          if (one.seen !== undefined) {
            const seen = {
              model: () => asked > 0,
              tool: () => existsSync(touched),
              script: () => existsSync(path.join(home, "ran")),
              telegram: () => arrived.length > 0
            }[one.seen]
            yield* until(`waited for ${name}`, seen, first.output)
            first.kill("SIGKILL")
          }
          expect(yield* Effect.promise(() => first.ended), `${name}: ${first.output()}`).toBe("SIGKILL")

          reply = () => ModelServer.says(result)
          rmSync(path.join(home, "slow"), { force: true })
          const second = start(home, environment)
          yield* until(
            `waited for the end of ${name}`,
            () =>
              second.output().includes("is ready") &&
              query(home, "SELECT 1 FROM occurrences WHERE finished_at IS NOT NULL").length > 0 &&
              query(home, "SELECT 1 FROM occurrences WHERE finished_at IS NULL").length === 0 &&
              query(home, "SELECT 1 FROM deliveries WHERE state IN ('pending', 'sending')").length === 0 &&
              // Whoever owns a run of which nobody knows is told.
              (one.status === "ok" ||
                query(home, "SELECT 1 FROM deliveries WHERE cause_id LIKE '%:notice' AND state = 'sent'").length > 0),
            second.output
          )
          second.kill("SIGTERM")
          expect(yield* Effect.promise(() => second.ended), name).toBe(0)

          const runs = query(home, "SELECT state, attempts, count FROM occurrences")
          expect(runs, name).toEqual([{ state: one.status, attempts: one.attempts, count: 1 }])
          const acts =
            one.job === "script"
              ? existsSync(path.join(home, "ran"))
                ? readFileSync(path.join(home, "ran"), "utf8").trim().split("\n").length
                : 0
              : asked
          expect(acts, `${name}: acts`).toBe(one.acts)
          expect(arrived.filter((text) => text.includes(result)).length, `${name}: results`).toBe(one.results)
          expect(arrived.filter((text) => text.includes("not known")).length, `${name}: notices`).toBe(
            one.status === "unknown" ? 1 : 0
          )
          if (one.delivery !== undefined)
            expect(query(home, "SELECT state FROM deliveries WHERE cause_id NOT LIKE '%:notice'"), name).toEqual([
              { state: one.delivery }
            ])
          const [job] = query(home, `SELECT state, last_status, completed FROM jobs WHERE name = '${one.job}'`)
          expect(job, name).toEqual({
            state: one.job === "once" ? "completed" : "scheduled",
            last_status: one.status,
            completed: 1
          })
          const open = query(home, "SELECT id FROM turns WHERE ended_at IS NULL")
          expect(open, name).toEqual([])
          rmSync(home, { recursive: true, force: true })
        }
        yield* Effect.logInfo(`${chosen.length} of ${cases.length} points`)
      }),
    3_600_000
  )
})
