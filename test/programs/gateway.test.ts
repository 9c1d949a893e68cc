/** The built gateway, and the command beside it: through its API while it runs, refused where only one may be. */
import { Schema } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import * as net from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { plainEnvironment } from "../../build/gateway.mjs"
import { command, homes, json, type Ran, run } from "./support/hermes.js"
import * as Shapes from "./support/shapes.js"
import { asked, offered } from "./support/state.js"

const home = homes()

interface Started {
  readonly child: ChildProcess
  readonly url: string
  readonly ended: Promise<Ran>
}

const running = new Set<ChildProcess>()
afterAll(() => {
  for (const child of running) child.kill("SIGKILL")
})

/** Starts a gateway and waits for the line that says where it is. */
const start = (
  directory: string,
  env: { readonly [name: string]: string } = {},
  args: ReadonlyArray<string> = ["gateway", "run", "--port", "0"]
): Promise<Started> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [command, ...args, "--home", directory], {
      env: { ...plainEnvironment(), ...env },
      cwd: tmpdir()
    })
    running.add(child)
    let [stdout, stderr] = ["", ""]
    const ended = new Promise<Ran>((done) =>
      child.once("close", (code, signal) => {
        running.delete(child)
        done({ code: code ?? signal, stdout, stderr })
      })
    )
    child.stdout.on("data", (data: Buffer) => {
      stdout += data.toString()
      const url = /is ready: (http:\/\/\S+)\n/.exec(stdout)?.[1]
      if (url !== undefined) resolve({ child, url, ended })
    })
    child.stderr.on("data", (data: Buffer) => (stderr += data.toString()))
    void ended.then((ran) => reject(new Error(JSON.stringify(ran))))
  })

const keyOf = (directory: string): string =>
  /^API_SERVER_KEY=(.+)$/m.exec(readFileSync(path.join(directory, ".env"), "utf8"))?.[1] ?? "none"

describe("a gateway", () => {
  test("says where it is in one line, with the key only to a terminal, and what to set on a new home", async () => {
    const directory = home("new")
    const { child, ended, url } = await start(directory)
    const detail = await fetch(`${url}/health`)
    expect(detail.status).toBe(200)
    child.kill("SIGTERM")
    const { code, stdout, stderr } = await ended
    expect(code).toBe(0)
    expect(stdout.trim().split("\n")).toHaveLength(1)
    expect(stdout + stderr).not.toContain(keyOf(directory))
    expect(stderr).toMatch(/API_SERVER_KEY in .*\.env/)
    expect(stderr).toContain(`hermes setup --home ${directory}\n`)
    const again = await start(directory)
    again.child.kill("SIGINT")
    expect((await again.ended).stderr).toMatch(/^The page asks for the key: .*\n$/)
  })

  test("restarts on request: ends with 75, or begins again by itself where it is told to; the pause outlives it", async () => {
    const directory = home("restart")
    const once = await start(directory)
    expect((await run(["--home", directory, "pause", "too hot"])).code).toBe(0)
    const ask = () =>
      fetch(`${once.url}/api/restart`, {
        method: "POST",
        headers: { authorization: `Bearer ${keyOf(directory)}` }
      })
    const config = path.join(directory, "config.yaml")
    const written = readFileSync(config, "utf8")
    writeFileSync(config, "notices: [\n")
    const refused = await ask()
    expect([refused.status, await refused.json()]).toEqual([
      409,
      {
        error: expect.objectContaining({
          message: expect.stringMatching(/would not come up again\. .*config\.yaml:\d/)
        })
      }
    ])
    writeFileSync(config, written)
    const asked = await ask()
    expect(await asked.json()).toMatchObject({ running: { turns: 0 } })
    expect((await once.ended).code).toBe(75)
    const kept = await start(directory, {}, ["gateway", "run", "--port", "0", "--keep"])
    const back = await run(["--home", directory, "gateway", "restart"])
    expect([back.code, back.stdout]).toEqual([0, expect.stringMatching(/^The gateway is back at http/)])
    expect(kept.child.exitCode).toBeNull()
    expect((await run(["--home", directory, "status"])).stdout).toContain("It is paused")
    const inside = { env: { HERMES_SESSION_ID: "x" } }
    for (const words of [["gateway", "restart"], ["gateway", "stop"], ["unpause"], ["gateway", "uninstall"]]) {
      const refused = await run(["--home", directory, ...words], inside)
      expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("is for the owner")])
    }
    // One that could not start again is not ended for it.
    writeFileSync(config, "a: : b\n")
    for (const words of [
      ["gateway", "restart"],
      ["key", "rotate", "--restart"]
    ]) {
      const refused = await run(["--home", directory, ...words])
      expect([refused.code, refused.stderr]).toEqual([78, expect.stringMatching(/config\.yaml:1:.*goes on\n$/)])
    }
    writeFileSync(config, written)
    expect((await run(["--home", directory, "unpause"])).stdout).toContain("It goes on")
    expect((await run(["--home", directory, "gateway", "stop"])).code).toBe(0)
    // What the life before has logged with ended with it: nothing is told twice, or where it is not to be.
    expect(await kept.ended).toMatchObject({ code: 0, stderr: expect.not.stringContaining(" info ") })
  })

  test("warns of a model without its key, and says in its log what it is, what it did and who was refused", async () => {
    const directory = home("told")
    const env = {
      HERMES_MODEL_PROVIDER: "anthropic",
      TELEGRAM_BOT_TOKEN: "1:secret",
      TELEGRAM_API_ROOT: "http://127.0.0.1:9"
    }
    const { child, ended, url } = await start(directory, env)
    await run(["chat", "-q", "a private word", "--home", directory])
    await fetch(`${url}/api/status`, { headers: { authorization: "Bearer guessed" } })
    child.kill("SIGTERM")
    const { stderr } = await ended
    expect(stderr).toContain("ANTHROPIC_API_KEY")
    expect(stderr).toContain("pairing approve telegram")
    const log = readFileSync(path.join(directory, "logs/hermes.log"), "utf8")
    expect(log).toMatch(
      /the gateway starts.*"address":"http[\s\S]*a turn begins[\s\S]*a turn ended.*"millis":\d+[\s\S]*a wrong key was refused[\s\S]*the gateway has ended/
    )
    expect(log).not.toMatch(/a private word|guessed/)
  })

  test("takes its options before and after `run`, and runs without it", async () => {
    const ports = await Promise.all(
      [
        ["gateway", "--port", "0"],
        ["gateway", "--port", "0", "run"]
      ].map(async (args, index) => {
        const started = await start(home(`options-${index}`), {}, args)
        started.child.kill("SIGTERM")
        expect((await started.ended).code).toBe(0)
        return new URL(started.url).port
      })
    )
    expect(ports).not.toContain("8642")
  })

  describe("does not start, with 78 and a reason, when", () => {
    const refused = async (args: ReadonlyArray<string>, env: { readonly [name: string]: string } = {}) => {
      const { code, stdout, stderr } = await run(["gateway", "run", ...args], { env })
      expect([code, stdout]).toEqual([78, ""])
      return stderr
    }

    test("the port is taken", async () => {
      const server = net.createServer()
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      expect(await refused(["--home", home("port"), "--port", String(port)])).toContain(`port ${port}`)
      server.close()
    })

    test("it would listen beyond this machine without names", async () => {
      expect(await refused(["--home", home("host"), "--port", "0", "--host", "0.0.0.0"])).toContain("allowed_hosts")
    })

    test("the home is no directory, or its database is a newer program's", async () => {
      writeFileSync(home("file"), "")
      expect(await refused(["--home", home("file"), "--port", "0"])).toContain("--home")
      const directory = home("newer")
      mkdirSync(directory, { mode: 0o700 })
      await asked(directory, "apr_one")
      const { default: Sqlite } = await import("better-sqlite3")
      const database = new Sqlite(path.join(directory, "state.db"))
      database.exec("INSERT INTO migrations (migration_id, name) VALUES (9999, 'future')")
      database.close()
      expect(await refused(["--home", directory, "--port", "0"])).toContain("update hermes-effect")
    })
  })
})

describe("beside a running gateway", () => {
  let gateway: Started | undefined
  const directory = () => home("owned")
  const hermes = (...args: ReadonlyArray<string>) => run([...args, "--home", directory()])
  beforeAll(async () => {
    gateway = await start(home("owned"))
  })
  afterEach(() => expect(gateway?.child.exitCode).toBeNull())

  test("status tells of it, a second one is refused", async () => {
    const status = json(await hermes("status", "--json"), Shapes.Status)
    expect(status.gateway).toMatchObject({ running: true, url: gateway?.url, pid: gateway?.child.pid })
    expect(status.platforms.map((platform) => platform.name)).toContain("web")
    expect((await hermes("gateway", "status")).code).toBe(0)
    const second = await hermes("gateway", "run", "--port", "0")
    expect([second.code, second.stdout]).toEqual([78, ""])
    expect(second.stderr).toContain("another gateway")
  })

  test("chat goes through it: its turn is the gateway's, in the directory of the command", async () => {
    const asking = run(["chat", "-q", "run: pwd", "--json", "--home", directory()], { cwd: "/usr" })
    const word = json(await asking, Shapes.Answered)
    expect(word.text).toContain("/usr")
    const { default: Sqlite } = await import("better-sqlite3")
    const database = new Sqlite(path.join(directory(), "state.db"), { readonly: true })
    expect(database.prepare("SELECT owner FROM turns WHERE id = ?").get(word.turnId)).toEqual({ owner: null })
    database.close()
    expect((await hermes("chat", "-z", "hello")).stdout).toContain("offline assistant")
  })

  test("questions are asked in the terminal and answered there", async () => {
    const place = home("place")
    mkdirSync(place)
    const input = "run: sh -c 'touch yes; echo made'\nyes\nrun: sh -c 'touch no; echo made'\n\n"
    const { code, stdout } = await run(["chat", "--home", directory()], { input, cwd: place })
    expect(code).toBe(0)
    expect(stdout).toContain(`in the gateway at ${gateway?.url}`)
    expect(stdout.match(/Allow it, once\? \[y\/N\] [yn]/g)).toHaveLength(2)
    expect([existsSync(path.join(place, "yes")), existsSync(path.join(place, "no"))]).toEqual([true, false])
  })

  test("a marker goes along: the turn that the API enters is cron's (decision 6)", async () => {
    const env = { HERMES_CRON_SESSION: "1", HERMES_CRON_JOB_ID: "job_7" }
    const answered = await run(["chat", "-z", "run: sh -c 'touch here; echo done'", "--home", directory()], { env })
    expect(answered.stdout).toContain("cron_mode")
    // The control: without it the question is one that nobody was there for.
    const plain = await hermes("chat", "-z", "run: sh -c 'touch here; echo done'")
    expect(plain.stdout).toContain("single_query_mode")
  })

  test("the desk is the gateway's", async () => {
    const [session] = json(await hermes("sessions", "list", "--json"), Schema.Array(Shapes.Session))
    expect((await hermes("sessions", "rename", session?.id ?? "", "Renamed")).code).toBe(0)
    expect((await hermes("sessions", "show", "Renamed")).stdout).toContain("Renamed")
    expect((await hermes("sessions", "delete", "Renamed")).code).toBe(0)
    expect((await hermes("sessions", "show", "Renamed")).code).toBe(1)

    const code = await offered(directory(), "99")
    expect((await hermes("pairing", "approve", "telegram", "WRONGONE")).stderr).toContain("no open request")
    expect((await hermes("pairing", "approve", "telegram", code)).code).toBe(0)
    expect((await hermes("pairing", "list", "--json")).stdout).toContain('"99"')

    await asked(directory(), "apr_one")
    expect(json(await hermes("approvals", "list", "--open", "--json"), Schema.Array(Shapes.Approval))).toHaveLength(1)
    expect((await hermes("approvals", "deny", "apr_one", "--reason", "no")).code).toBe(0)
    expect((await hermes("approvals", "deny", "apr_one")).code).toBe(1)

    const web = json(await hermes("sessions", "list", "--json"), Schema.Array(Shapes.Session))[0]?.id ?? ""
    const elsewhere = await hermes("send", "--to", `web:${web}`, "hello", "--json")
    expect(elsewhere.code).toBe(1)
    const unknown = await hermes("send", "--to", "pigeon:1", "hello")
    expect([unknown.code, unknown.stdout]).toEqual([1, ""])
    expect(unknown.stderr).toContain("pigeon")
    expect((await hermes("deliveries", "show", "dlv_none")).code).toBe(1)
    // What nobody knows is said in one line, whatever was asked for.
    const long = `dlv_${"x".repeat(900)}`
    for (const words of [["explain"], ["deliveries", "show"], ["deliveries", "retry"]]) {
      const { code, stderr } = await hermes(...words, long)
      expect([code, stderr.includes(`"${long.slice(0, 79)}…"`), stderr.length < 400], stderr).toEqual([1, true, true])
    }
  })

  test("with another key than the home's is told so", async () => {
    const stranger = await run(["sessions", "list", "--home", directory()], { env: { API_SERVER_KEY: "wrong" } })
    expect([stranger.code, stranger.stdout]).toEqual([1, ""])
    expect(stranger.stderr).toContain("API key")
  })
})

test("`gateway stop` ends it and waits until it is gone", async () => {
  const directory = home("stopped")
  const { child, ended } = await start(directory)
  const stopped = await run(["gateway", "stop", "--home", directory])
  expect(stopped).toMatchObject({ code: 0, stderr: "" })
  expect(stopped.stdout).toContain(String(child.pid))
  expect((await ended).code).toBe(0)
  expect((await run(["gateway", "status", "--home", directory])).code).toBe(1)
})

test("after a kill -9 its address is nobody's, and the command works on the database", async () => {
  const directory = home("killed")
  const { child, ended } = await start(directory)
  child.kill("SIGKILL")
  await ended
  expect(json(await run(["status", "--json", "--home", directory]), Shapes.Status).gateway.running).toBe(false)
  expect((await run(["chat", "-q", "hello", "--home", directory])).stdout).toContain("offline assistant")
})

test("a gateway that starts leaves the turn of a chat beside it alone", async () => {
  const directory = home("beside")
  let second: Started | undefined
  const { code, stdout } = await run(["chat", "--home", directory], {
    steps: [
      { says: "a job's output", then: (child) => child.stdin?.write("run: sh -c 'sleep 8; echo finished'\ny\n") },
      {
        says: "[y/N] y",
        then: (child) =>
          void start(directory).then((started) => {
            second = started
            child.stdin?.end()
          })
      }
    ]
  })
  expect([code, stdout.match(/finished\n```/g)?.length]).toEqual([0, 1])
  const { default: Sqlite } = await import("better-sqlite3")
  const database = new Sqlite(path.join(directory, "state.db"), { readonly: true })
  expect(database.prepare("SELECT outcome, strikes FROM turns").all()).toEqual([{ outcome: "answered", strikes: 0 }])
  database.close()
  second?.child.kill("SIGTERM")
  await second?.ended
})
