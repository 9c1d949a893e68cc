/** SIGTERM while a model hangs: the gateway ends in time, says that work was cut, and the next start answers it. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import BetterSqlite from "better-sqlite3"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import path from "node:path"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as Command from "../support/Command.js"
import * as Gateway from "../support/Gateway.js"
import * as Loopback from "../support/Loopback.js"

/** At the latest after the signal (gateway.md 3.9). */
const exitMillis = 35_000

const rows = (file: string, sql: string): ReadonlyArray<unknown> => {
  const database = new BetterSqlite(file, { readonly: true })
  try {
    return database.prepare(sql).all()
  } finally {
    database.close()
  }
}

describe("SIGTERM while a model hangs", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "ends within 35 s with exit code 1; what was taken is answered once by the next start, under itself; what comes late is refused in words",
    () =>
      Effect.gen(function* () {
        let stuck = true
        const { home, model, person, telegram } = yield* Loopback.make((request) =>
          stuck ? ModelServer.hangs : ModelServer.says(`heard ${request.text}`)
        )
        const file = path.join(home.directory, "state.db")
        const early = person(1)
        const late = person(2)
        const first = yield* Gateway.start(home)
        const messageId = yield* early.says("are you there?")
        yield* model.received(1).pipe(Effect.timeout("90 seconds"))

        const signalled = performance.now()
        yield* first.signal("SIGTERM")
        const refused = yield* first
          .ask("GET", "/health")
          .pipe(
            Effect.zipLeft(Effect.sleep("10 millis")),
            Effect.repeat({ until: (answer) => answer.text.includes('"draining"') }),
            Effect.zipRight(
              first.ask("POST", "/v1/chat/completions", { messages: [{ role: "user", content: "me too" }] })
            )
          )
        expect(refused.status).toBe(503)
        expect(refused.json).toMatchObject({ error: { code: expect.any(String), message: expect.any(String) } })
        yield* late.says("and me?")
        const status = yield* Command.run({ home, args: ["status", "--json"] })
        expect(JSON.parse(status.stdout)).toMatchObject({ gateway: { running: true }, work: { turns: 1 } })
        const ended = yield* first.ended()
        const millis = performance.now() - signalled
        expect(ended.code).toBe(1)
        expect(millis).toBeLessThan(exitMillis)
        expect(ended.stderr).not.toMatch(Command.stackTrace)

        expect(rows(file, "SELECT state FROM turns")).toEqual([{ state: "running" }])
        const [event] = rows(file, "SELECT state FROM inbound_events ORDER BY sequence")
        expect(event).toEqual({ state: "running" })

        stuck = false
        const second = yield* Gateway.start(home)
        yield* early.hears(/^heard are you there\?$/)
        yield* late.hears(/^I'm shutting down, so I did not take this message\. Please send it again later\.$/)
        const replies = (yield* telegram.calls.all).filter((call) => call.text === "heard are you there?")
        expect(replies.map((call) => call.replyTo)).toEqual([messageId])
        expect(yield* early.heard).toEqual(["heard are you there?"])
        const stopped = yield* Gateway.stop(second)
        expect(stopped.code).toBe(0)
        expect(rows(file, "SELECT count(*) AS open FROM turns WHERE state <> 'ended'")).toEqual([{ open: 0 }])
      }),
    600_000
  )
})

describe("SIGTERM while somebody is asked for a yes", () => {
  beforeAll(Command.built, Command.buildMillis)

  /** So long would a turn be waited for that has something to finish. */
  const drainMillis = 20_000

  it.scopedLive(
    "ends with exit code 0 and waits for no answer: the yes counts after the next start, and the command runs once",
    () =>
      Effect.gen(function* () {
        const config = "approvals:\n  mode: manual\nplatforms:\n  telegram:\n    allow_all_users: true\n"
        let owner = ""
        const { home, person } = yield* Loopback.make(
          (request) => {
            const done = /"role":"tool"/.test(JSON.stringify(request.body))
            const command = `rm -rf ${owner}/nothing && echo one >> ${owner}/done`
            return done
              ? ModelServer.says("it is done")
              : ModelServer.callsTools([{ name: "terminal", arguments: { command } }])
          },
          { config }
        )
        owner = home.owner
        const file = path.join(home.directory, "state.db")
        const first = yield* Gateway.start(home)
        yield* person(1).says("tidy up")
        yield* person(1).hears(/rm -rf/)
        const signalled = performance.now()
        yield* first.signal("SIGTERM")
        expect((yield* first.ended()).code).toBe(0)
        expect(performance.now() - signalled).toBeLessThan(drainMillis)
        expect(rows(file, "SELECT state FROM approvals")).toEqual([{ state: "open" }])
        expect(existsSync(path.join(home.owner, "done"))).toBe(false)

        const second = yield* Gateway.start(home)
        yield* person(1).says("/approve")
        yield* person(1).hears(/it is done/)
        expect(readFileSync(path.join(home.owner, "done"), "utf8")).toBe("one\n")
        expect((yield* Gateway.stop(second)).code).toBe(0)
      }),
    300_000
  )
})

describe("SIGUSR1", () => {
  beforeAll(Command.built, Command.buildMillis)

  /** What Node says when it opens, or would if the port were free. */
  const opens = /Debugger listening|Starting inspector/

  it.scopedLive(
    "does not open the gateway for a debugger, as it does any other Node",
    () =>
      Effect.gen(function* () {
        const { home } = yield* Loopback.make(() => ModelServer.says("not asked"))
        const gateway = yield* Gateway.start(home)
        yield* gateway.signal("SIGUSR1")
        expect((yield* gateway.ask("GET", "/health")).status).toBe(200)
        const said = yield* Effect.async<string>((resume) => {
          const other = spawn(process.execPath, ["-e", "console.log(1); setTimeout(() => {}, 20_000)"])
          let text = ""
          other.stdout.once("data", () => other.kill("SIGUSR1"))
          other.stderr.on("data", (part: Buffer) => {
            text += part.toString()
            if (opens.test(text)) resume(Effect.succeed(text))
          })
          other.once("close", () => resume(Effect.succeed(text)))
          return Effect.sync(() => other.kill("SIGKILL"))
        }).pipe(Effect.timeout("20 seconds"))
        expect(said).toMatch(opens)
        yield* gateway.signal("SIGTERM")
        expect((yield* gateway.ended()).stderr).not.toMatch(opens)
      }),
    180_000
  )
})
