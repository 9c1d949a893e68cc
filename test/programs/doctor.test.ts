/** `hermes doctor` on broken homes: each is a copy of a good one with one fault, which is named with its remedy. */
import Sqlite from "better-sqlite3"
import { Schema } from "effect"
import { spawn } from "node:child_process"
import * as fs from "node:fs"
import * as http from "node:http"
import * as net from "node:net"
import path from "node:path"
import process from "node:process"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import * as Checkup from "../../src/layers/node/Checkup.js"
import * as HomeCheckup from "../../src/layers/node/HomeCheckup.js"
import * as StuckJob from "../../src/services/schedule/StuckJob.js"
import { scaled } from "../scale.js"
import { homes, run } from "./support/hermes.js"

const home = homes()
const plain = { API_SERVER_PORT: "0" }

let root = ""
const server = http.createServer((_request, response) =>
  response
    .writeHead(401, { "content-type": "application/json" })
    .end('{"ok":false,"error_code":401,"description":"Unauthorized","error":{"message":"wrong key"}}')
)
const portOf = (listening: net.Server): number => {
  const address = listening.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  root = `http://127.0.0.1:${portOf(server)}`
  const good = home("good")
  await run(["chat", "-q", "hello", "--home", good])
  await run(["cron", "create", "every 1d at 09:00", "look", "--name", "look", "--home", good])
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const Report = Schema.Struct({
  checks: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      ok: Schema.Boolean,
      detail: Schema.String,
      remedy: Schema.NullOr(Schema.String)
    })
  ),
  fixed: Schema.Array(Schema.String),
  ok: Schema.Boolean
})

const doctor = async (
  directory: string,
  env: { readonly [name: string]: string } = {},
  ...more: ReadonlyArray<string>
) => {
  const ran = await run(["doctor", "--json", ...more, "--home", directory], { env: { ...plain, ...env } })
  return { code: ran.code, report: Schema.decodeUnknownSync(Schema.parseJson(Report))(ran.stdout) }
}

const sql = (directory: string, statement: string): void => {
  const db = new Sqlite(path.join(directory, "state.db"))
  db.pragma("foreign_keys = OFF")
  db.exec(statement)
  db.close()
}

const overwrite = (file: string, at: number, length: number): void => {
  const descriptor = fs.openSync(file, "r+")
  fs.writeSync(descriptor, Buffer.alloc(length, 0x5a), 0, length, at)
  fs.closeSync(descriptor)
}

/** Commits that stay in the log, one byte of which then flips. */
const damageLog = (directory: string): void => {
  const file = path.join(directory, "state.db")
  const db = new Sqlite(file)
  db.pragma("wal_autocheckpoint = 0")
  for (let index = 0; index < 3; index++) db.exec(`UPDATE jobs SET updated_at = updated_at + 1`)
  const log = fs.readFileSync(`${file}-wal`)
  const whole = fs.readFileSync(file)
  db.close()
  fs.writeFileSync(file, whole)
  const frame = 32 + 24 + 100
  log[frame] = (log[frame] ?? 0) ^ 0xff
  fs.writeFileSync(`${file}-wal`, log)
}

interface Broken {
  readonly what: string
  readonly breaks: (directory: string) => unknown
  readonly env?: () => { readonly [name: string]: string }
  /** The finding's name, what it says, and what it says to do. */
  readonly finds: readonly [name: string, detail: RegExp, remedy: RegExp]
}

const config = (text: string) => (directory: string) =>
  fs.writeFileSync(path.join(directory, "config.yaml"), text, { mode: 0o600 })
const dotEnv = (text: string) => (directory: string) => fs.appendFileSync(path.join(directory, ".env"), text)
const nothing = () => undefined

const broken: ReadonlyArray<Broken> = [
  { what: "no YAML", breaks: config("model: [unclosed\n"), finds: ["config", /config\.yaml:\d+:\d+/, /correct it/] },
  {
    what: "an unknown key",
    breaks: config("modle:\n  name: x\n"),
    finds: ["config", /modle.*no such setting/, /correct it/]
  },
  {
    what: "a wrong type",
    breaks: config("agent:\n  max_turns: many\n"),
    finds: ["config", /agent\.max_turns/, /correct it/]
  },
  {
    what: "a zone that is none",
    breaks: nothing,
    env: () => ({ HERMES_TIMEZONE: "Mars/Olympus" }),
    finds: ["config", /HERMES_TIMEZONE/, /correct it/]
  },
  {
    what: "others may read it",
    breaks: (directory) => fs.chmodSync(path.join(directory, ".env"), 0o644),
    finds: ["permissions", /\.env/, /chmod/]
  },
  {
    what: "a secret in config.yaml",
    breaks: config("model:\n  name: x\nnotes:\n  api_key: sk-abcdefghijklmnopqrstuvwx\n"),
    finds: ["secrets", /line 4/, /\.env/]
  },
  {
    what: "secrets within braces in config.yaml",
    breaks: config(
      "limits:\n  daily_tokens: 5000\nfallback_providers: [{api_key: plain, model: x}]\nx: {h: 'Bearer abcdefghijkl'}\n"
    ),
    finds: ["secrets", /line 3, 4/, /\.env/]
  },
  {
    what: "a line that is none in .env",
    breaks: dotEnv("OPENAI KEY sk\n"),
    finds: [".env", /line \d+ is no NAME=value/, /correct it/]
  },
  {
    what: "a short key",
    breaks: (directory) => fs.writeFileSync(path.join(directory, ".env"), "API_SERVER_KEY=secret\n", { mode: 0o600 }),
    finds: ["api key", /guessed/, /key rotate/]
  },
  {
    what: "no key for the provider",
    breaks: config("model:\n  provider: anthropic\n"),
    finds: ["model", /not set up|credentials/, /ANTHROPIC_API_KEY/]
  },
  {
    what: "a wrong key",
    breaks: nothing,
    env: () => ({ HERMES_MODEL_PROVIDER: "openai-compatible", HERMES_MODEL_BASE_URL: root, HERMES_MODEL_API_KEY: "k" }),
    finds: ["model", /did not accept/, /HERMES_MODEL_API_KEY/]
  },
  {
    what: "nobody at the model's address",
    breaks: nothing,
    env: () => ({ HERMES_MODEL_PROVIDER: "openai-compatible", HERMES_MODEL_BASE_URL: "http://127.0.0.1:1/v1" }),
    finds: ["model", /could not be reached/, /^Check the network and the model's base URL\.$/]
  },
  {
    what: "a wrong bot token",
    breaks: nothing,
    env: () => ({ TELEGRAM_BOT_TOKEN: "123456:AAAA", TELEGRAM_API_ROOT: root }),
    finds: ["telegram", /401/, /TELEGRAM_BOT_TOKEN/]
  },
  {
    what: "the port is taken",
    breaks: nothing,
    env: () => ({ API_SERVER_PORT: String(portOf(server)) }),
    finds: ["port", /taken/, /API_SERVER_PORT/]
  },
  {
    what: "a host without names",
    breaks: config("platforms:\n  api_server:\n    host: 0.0.0.0\n"),
    finds: ["host", /0\.0\.0\.0/, /allowed_hosts/]
  },
  {
    what: "no working directory",
    breaks: config("terminal:\n  cwd: /nowhere/at/all\n"),
    finds: ["working directory", /not there/, /terminal\.cwd/]
  },
  {
    what: "written in the future",
    breaks: (directory) =>
      fs.utimesSync(path.join(directory, "state.db"), new Date(), new Date(Date.now() + 86_400_000)),
    finds: ["clock", /future/, /NTP/]
  },
  {
    what: "no database",
    breaks: (directory) => fs.writeFileSync(path.join(directory, "state.db"), "no database at all"),
    finds: ["database pages", /not a database/, /doctor --fix/]
  },
  {
    what: "a corrupt page",
    breaks: (directory) => overwrite(path.join(directory, "state.db"), 4096 * 4, 4096 * 2),
    finds: ["database pages", /./, /doctor --fix/]
  },
  { what: "a damaged log", breaks: damageLog, finds: ["database log", /damaged in frame/, /doctor --fix/] },
  {
    what: "an index that is not there",
    breaks: (directory) => sql(directory, "DROP INDEX jobs_name"),
    finds: ["database schema", /jobs_name/, /doctor --fix/]
  },
  {
    what: "rows that belong to nothing",
    breaks: (directory) => sql(directory, "DELETE FROM sessions"),
    finds: ["database references", /refer to what is not|belong to no/, /doctor --fix/]
  },
  {
    what: "a damaged search index",
    breaks: (directory) => fs.writeFileSync(path.join(directory, "search.db"), "nothing of an index"),
    finds: ["database index", /./, /made? it anew|makes it anew/]
  },
  {
    what: "a newer program's database",
    breaks: (directory) => sql(directory, "INSERT INTO migrations (migration_id, name) VALUES (9999, 'later')"),
    finds: ["database", /newer program/, /update/]
  },
  {
    what: "overdue jobs",
    breaks: (directory) => sql(directory, "UPDATE due SET next_at = 1000"),
    finds: ["jobs", /overdue: look/, /gateway install/]
  },
  {
    what: "a job that cannot be read",
    breaks: (directory) => sql(directory, "UPDATE jobs SET last_run_at = 9e15, failure_streak = 1e300"),
    finds: ["database rows", /job [0-9a-f]{12} cannot be read: .*(lastRunAt|failureStreak)/, /doctor --fix/]
  },
  {
    what: "a job that is due at no time",
    breaks: (directory) => sql(directory, "UPDATE due SET next_at = 9e15"),
    finds: ["database rows", /job [0-9a-f]{12} is due/, /doctor --fix/]
  },
  {
    what: "a job that its configuration blocks",
    breaks: (directory) => sql(directory, "UPDATE jobs SET last_status = 'blocked_config', last_error = 'no target'"),
    finds: ["jobs", /look is kept from running.*no target/, /cron run/]
  },
  {
    what: "a job that fails and fails",
    breaks: (directory) => sql(directory, "UPDATE jobs SET failure_streak = 7, last_error = 'no words'"),
    finds: ["jobs", /failed 7 times/, /cron runs/]
  }
]

describe("doctor", () => {
  test("finds nothing in a good home, and ends with 0", async () => {
    const { code, report } = await doctor(home("good"))
    expect([code, report.checks.filter((check) => !check.ok)]).toEqual([0, []])
  })

  const slow = 600_000
  test(
    `names the fault of each of ${broken.length} broken homes, and its remedy`,
    async () => {
      // In an ordinary run some of them; they are of a kind, and each starts the command.
      const every = Math.ceil(broken.length / scaled(broken.length, 8))
      const left = broken.filter((_, index) => index % every === 0)
      const wrong: Array<string> = []
      const worker = async (): Promise<void> => {
        for (let one = left.shift(); one !== undefined; one = left.shift()) {
          const directory = home(one.what.replaceAll(/\W/g, "-"))
          fs.cpSync(home("good"), directory, { recursive: true })
          one.breaks(directory)
          const { code, report } = await doctor(directory, one.env?.())
          const [name, detail, remedy] = one.finds
          const said = report.checks.filter((check) => !check.ok)
          const found = said.some(
            (check) => check.name === name && detail.test(check.detail) && remedy.test(check.remedy ?? "")
          )
          if (!found || code !== 1) wrong.push(`${one.what}: ${code} ${JSON.stringify(said)}`)
        }
      }
      await Promise.all([worker(), worker()])
      expect(wrong).toEqual([])
    },
    slow
  )

  test("mends with --fix what is safe to mend, all at once", async () => {
    const directory = home("mended")
    fs.cpSync(home("good"), directory, { recursive: true })
    fs.chmodSync(path.join(directory, ".env"), 0o644)
    sql(directory, "DROP INDEX jobs_name; DELETE FROM sessions; UPDATE jobs SET last_run_at = 9e15")
    fs.writeFileSync(path.join(directory, "search.db"), "nothing of an index")
    expect((await doctor(directory)).code).toBe(1)
    const { code, report } = await doctor(directory, {}, "--fix")
    expect([code, report.checks.filter((check) => !check.ok)]).toEqual([0, []])
    expect(report.fixed.length).toBeGreaterThanOrEqual(5)
  })

  test("a lock of a dead process is none; one of a live process that does not answer is told", async () => {
    const directory = home("held")
    fs.cpSync(home("good"), directory, { recursive: true })
    const holder = spawn(
      process.execPath,
      [
        "-e",
        `const db = new (require("better-sqlite3"))(process.argv[1]); db.pragma("journal_mode = MEMORY"); db.exec("BEGIN EXCLUSIVE"); console.log("held"); setInterval(() => {}, 1000)`,
        path.join(directory, "gateway.lock")
      ],
      { stdio: ["ignore", "pipe", "inherit"] }
    )
    await new Promise((resolve) => holder.stdout.once("data", resolve))
    const { report } = await doctor(directory)
    expect(report.checks.find((check) => check.name === "lock")).toMatchObject({ ok: false })
    const gone = new Promise((resolve) => holder.once("close", resolve))
    holder.kill("SIGKILL")
    await gone
    expect((await doctor(directory)).code).toBe(0)
  })

  test("what no test can make here is judged by its figures", () => {
    expect(Checkup.roomOf(50_000_000)).toMatchObject({ ok: false, name: "disk" })
    expect(Checkup.roomOf(5e9).ok).toBe(true)
    expect(Checkup.writableOf("/home/me", "EROFS")).toMatchObject({
      ok: false,
      name: "home",
      detail: expect.stringContaining("read-only file system"),
      remedy: expect.not.stringContaining("--fix")
    })
    expect(Checkup.writableOf("/home/me", "EACCES").remedy).toContain("permissions")
    expect(Checkup.writableOf("/home/me", null).ok).toBe(true)
    expect(HomeCheckup.node("18.20.1").remedy).toContain("20.19")
    expect([HomeCheckup.node("20.19.0").ok, HomeCheckup.node("24.1.0").ok]).toEqual([true, true])
    expect(HomeCheckup.placeOf("/home/me/.hermes-effect", 0x6969).detail).toContain("NFS")
    expect(HomeCheckup.placeOf("/home/me/Dropbox/hermes", 0xef53).detail).toContain("Dropbox")
    expect(HomeCheckup.placeOf("/home/me/synchrony", 0xef53).ok).toBe(true)
    const due = { name: "late", state: "scheduled", lastStatus: null, reason: null, streak: 0, nextAt: 0, lastAt: null }
    expect(StuckJob.problems([due], 3_600_000, true)[0]?.remedy).toContain("gateway restart")
    expect(StuckJob.problems([due], 60_000, true)).toEqual([])
    const early = { ...due, nextAt: 600_000, lastAt: 500_000 }
    expect(StuckJob.problems([early], 60_000, true)[0]?.detail).toContain("while the clock was ahead: late")
    expect(StuckJob.problems([early], 400_000, true)).toEqual([])
  })
})
