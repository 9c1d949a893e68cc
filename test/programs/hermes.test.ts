/** The built command on homes where no gateway runs: each command once right and once wrong. */
import Sqlite from "better-sqlite3"
import { Effect, Schema } from "effect"
import { appendFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import * as http from "node:http"
import path from "node:path"
import { describe, expect, test } from "vitest"
import { version } from "../../src/services/operation/Version.js"
import * as Login from "../layers/models/oauth/fixture.js"
import { homes, json, run } from "./support/hermes.js"
import * as Shapes from "./support/shapes.js"
import { asked, offered, openTurns, within } from "./support/state.js"
import { scaled } from "../scale.js"
import { Database } from "../../src/services/state/Database.js"

const home = homes()

/** Makes a home with these lines of configuration. */
const withConfig = (name: string, yaml: string): string => {
  const directory = home(name)
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(directory, "config.yaml"), yaml, { mode: 0o600 })
  return directory
}

const rows = <A>(directory: string, sql: string): Promise<ReadonlyArray<A>> =>
  within(
    directory,
    Effect.flatMap(Database, (database) => database.read("test", (client) => client.unsafe<A & object>(sql)))
  )

describe("the command", () => {
  test("says its version and its commands, in plain words without a terminal", async () => {
    expect(await run(["--version"])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" })
    const help = await run([])
    expect(help).toMatchObject({ code: 0, stderr: "" })
    for (const name of ["gateway", "chat", "send", "sessions", "deliveries", "approvals", "pairing", "model", "status"])
      expect(help.stdout).toContain(`\n  ${name} `)
    expect(help.stdout).not.toContain("\u001b")
    expect(help.stdout).not.toMatch(/user-defined|optional|--wizard/)
    expect((await run(["gateway", "--help"])).stdout).toContain("\n  stop ")
    const one = await run(["sessions", "list", "-h"])
    expect(one.stdout).toMatch(
      /^The conversations.*\n\nUsage: hermes sessions list \[-n, --limit N\] \[--archived\]\n[\s\S]*default 50/
    )
    expect((await run(["model", "--help"])).stdout).not.toContain("scripted")
    expect((await run(["--completions", "bash"])).stdout).toContain("deliveries")
  })

  test.each([
    [["bogus"], "hermes bogus"],
    [["--nope"], "--nope"],
    [["chat", "-q"], "-q needs"],
    [["sessions", "show"], "hermes sessions show --help"],
    [["gateway", "bogus"], "hermes gateway bogus"],
    [["statsu"], "did you mean `hermes status`?"],
    [["cron", "lst"], "did you mean `hermes cron list`?"],
    [["status", "--jsn"], "there is no option --jsn here (did you mean --json?)"],
    [["status", "-x"], "there is no option -x here; "],
    [["cron", "create", "--delivr", "web", "30m", "tea"], "no option --delivr here (did you mean --deliver?)"],
    [["gateway", "--port"], "--port needs a value"],
    [["gateway", "run", "--port", "abc"], '--port: "abc" is no number'],
    [["gateway", "run", "--port", "99999"], "--port is a number from 0 to 65535"],
    [["usage", "--by"], "--by needs a value"],
    [["usage", "--by", "week"], 'hermes: --by is one of day, session, job, model, not "week"'],
    [["usage", "--days", "-1"], "--days is a number from 1 to 3650"],
    [["--completions", "tcsh"], "--completions is one of bash, zsh, fish"],
    [["sessions", "list", "--limit", "0"], "--limit"],
    [["sessions", "show"], "SESSION"],
    [["status", "more"], "more"],
    [["send", "hello"], "--to"],
    [["send", "--to", "web"], "say what"],
    [["send", "web", "hi", "there"], "hermes send --to web 'hi there'"],
    [["send", "--to", "web", "hi", "there"], "in quotes: 'hi there'"],
    [["send", "--to", " ", "hello"], "say where to"],
    [["explain", ""], "ID is empty"],
    [["approvals", "judge", " "], "COMMAND is empty"],
    [["deliveries", "retry", " "], "ID is empty"],
    [["sessions", "show", ""], "SESSION is empty"],
    [["cron", "show", ""], "JOB is empty"],
    [["chat", "--json"], "-q"],
    [["chat", "-q", "a", "-z", "b"], "-z"],
    [["logs", "-f", "--json"], "--follow"],
    [["status", "--home"], "--home"]
  ])("used wrongly ends with 2 and one clean line: %j", async (args, says) => {
    const { code, stdout, stderr } = await run(args, { env: { HOME: home("nobody") } })
    expect([code, stdout]).toEqual([2, ""])
    expect(stderr).toContain(says)
    expect(stderr).not.toContain("_tag")
    expect(stderr.trim().split("\n")).toHaveLength(1)
    expect(existsSync(home("nobody/.hermes-effect"))).toBe(false)
  })

  test("a program is told what is wrong as a document, and a group alone lists", async () => {
    const wrong = await run(["sessions", "list", "--bogus", "--json"])
    expect([wrong.code, wrong.stdout]).toEqual([2, ""])
    expect(JSON.parse(wrong.stderr)).toMatchObject({ error: { code: "usage" } })
    const directory = home("groups")
    for (const group of ["sessions", "deliveries", "approvals", "cron"])
      expect(JSON.parse((await run([group, "--json", "--home", directory])).stdout)).toEqual([])
    expect((await run(["pairing", "--home", directory])).stdout).toContain("Waiting to be let in")
    expect((await run(["key", "--home", directory])).stdout).toMatch(/Usage: hermes key …\n\nCommands:\n {2}rotate /)
    expect((await run(["config", "--home", directory])).stdout).toContain("model.provider")
    expect((await run(["sessions", "-n", "0", "--home", directory])).code).toBe(2)
  })
})

describe("status", () => {
  test("without a home says so and makes none", async () => {
    const directory = home("none")
    expect(json(await run(["status", "--json", "--home", directory]), Shapes.Status).gateway.running).toBe(false)
    expect((await run(["status", "--home", directory])).stdout).toContain(`There is no home at ${directory} yet`)
    expect(await run(["gateway", "status", "--home", directory])).toMatchObject({ code: 1 })
    expect(await run(["gateway", "stop"], { env: { HERMES_HOME: directory } })).toMatchObject({ code: 0 })
    expect(existsSync(directory)).toBe(false)
  })

  test("tells who is logged in with what, and no token", async () => {
    const server = { deviceUrl: "https://portal.example/device", tokenUrl: "https://portal.example/token" }
    const login = Login.loginOf(server, { baseUrl: "https://portal.example/v1" })
    const portal = {
      base_url: login.baseUrl,
      client_id: login.clientId,
      device_url: login.deviceUrl,
      token_url: login.tokenUrl
    }
    const directory = withConfig("logins", JSON.stringify({ oauth: { portal } }))
    const issued = { access: "an-access-token-that-nobody-sees", refresh: "a-refresh-token-that-nobody-sees" }
    const later = Date.UTC(2099, 0, 1)
    Login.write(
      directory,
      { login, issued, expiresAt: later },
      { login, issued, expiresAt: 1_000, id: "crd_2", label: "work" }
    )
    const shown = await run(["status", "--json", "--home", directory])
    expect(JSON.parse(shown.stdout)).toMatchObject({
      logins: [
        {
          login: "portal",
          label: "default",
          provider: "openai-compatible",
          state: "ok",
          usable: true,
          expiresAt: "2099-01-01T00:00:00.000Z"
        },
        { login: "portal", label: "work", state: "expired", usable: true }
      ],
      loginTrouble: null
    })
    const text = await run(["status", "--home", directory])
    expect(text.stdout).toMatch(/portal +default +good +(?:2098|2099)-.*openai-compatible\nportal +work +renewed when/)
    expect(`${shown.stdout}${text.stdout}`).not.toContain("nobody-sees")

    // With nothing to renew it, what is over is over.
    const file = path.join(directory, "auth.json")
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(JSON.stringify(issued.refresh), "null"))
    const ended = JSON.parse((await run(["status", "--json", "--home", directory])).stdout)
    expect(ended.logins[1]).toMatchObject({ label: "work", state: "ended", usable: false })
    writeFileSync(file, "{")
    const damaged = JSON.parse((await run(["status", "--json", "--home", directory])).stdout)
    expect(damaged).toMatchObject({ logins: [] })
    expect(damaged.loginTrouble).toContain("auth.json")
  })

  test("without a gateway tells the jobs and the pause that wait for one", async () => {
    const directory = home("resting")
    await run(["cron", "create", "weekdays at 9am", "plan", "--home", directory])
    await run(["pause", "--home", directory])
    const status = await run(["status", "--home", directory])
    expect(status).toMatchObject({ code: 0, stderr: "" })
    expect(status.stdout).toMatch(/No gateway runs.*\n1 job to come, next at \d.*\nIt is paused/)
    const { jobs, paused } = json(await run(["status", "--json", "--home", directory]), Shapes.Status)
    expect([jobs.scheduled, jobs.next === null, paused]).toEqual([1, false, true])
  })
})

describe("chat without a gateway", () => {
  test("-q on a fresh home is answered by the offline assistant, and nothing is left open", async () => {
    const directory = home("chat")
    const answered = await run(["chat", "-q", "hello", "--home", directory])
    expect(answered).toMatchObject({ code: 0, stderr: "" })
    expect(answered.stdout).toContain("offline assistant")
    expect(statSync(directory).mode & 0o777).toBe(0o700)
    expect(await openTurns(directory)).toBe(0)
    expect(await rows(directory, "SELECT name FROM leases")).toEqual([])

    const word = json(
      await run(["--json", "chat", "-q", "run: pwd", "--home", directory], { cwd: "/usr" }),
      Shapes.Answered
    )
    expect(word).toMatchObject({ outcome: "answered" })
    expect(word.text).toContain("/usr")

    const [newest, ...others] = json(
      await run(["sessions", "list", "--json", "--home", directory]),
      Schema.Array(Shapes.Session)
    )
    expect(others).toHaveLength(1)
    expect(newest).toMatchObject({ id: word.sessionId, source: "cli", messages: 4 })
  })

  test("-z says only the final text, also when tools ran; nobody is there to approve", async () => {
    const directory = home("oneshot")
    expect(await run(["chat", "-z", "run: echo there", "--home", directory])).toEqual({
      code: 0,
      stdout: "```\nthere\n```\n",
      stderr: ""
    })
    const refused = await run(["chat", "-z", "run: sh -c 'touch here; echo done'", "--home", directory], {
      cwd: home(".")
    })
    expect(refused.stdout).toContain("single_query_mode")
    expect(existsSync(home("here"))).toBe(false)
  })

  test("a marker in its environment is kept: its turn is cron's and refused what cron is refused", async () => {
    const directory = home("marked")
    const env = { HERMES_CRON_SESSION: "1", HERMES_CRON_JOB_ID: "job_7", HERMES_SESSION_PLATFORM: "" }
    const answered = await run(["chat", "-z", "run: sh -c 'touch here; echo done'", "--home", directory], { env })
    expect(answered.stdout).toContain("cron_mode")
    const [turn] = await rows<{ marker: string }>(directory, "SELECT marker FROM turns")
    expect(JSON.parse(turn?.marker ?? "")).toMatchObject({ _tag: "Cron", job: "job_7" })
  })

  test("what is piped in is answered line by line, its questions too", async () => {
    const directory = home("piped")
    const place = home("place")
    mkdirSync(place)
    const input =
      "run: sh -c 'touch yes; echo made'\ny\nrun: sh -c 'touch no; echo made'\nn\n/bogus\n/help\n/sessions\n/exit\nnever said\n"
    const { code, stdout } = await run(["chat", "--home", directory], { input, cwd: place })
    expect(code).toBe(0)
    expect(stdout).toContain("a job's output stays local")
    expect(stdout).toContain("→ terminal sh -c 'touch yes; echo made'")
    expect(stdout.match(/Allow it, once\? \[y\/N\] [yn]/g)).toHaveLength(2)
    expect(stdout).toContain("I don't know /bogus")
    expect(stdout.match(/^\/(?:sessions|new|resume|exit)\b/gm)?.sort()).toEqual([
      "/exit",
      "/new",
      "/resume",
      "/sessions"
    ])
    expect([existsSync(path.join(place, "yes")), existsSync(path.join(place, "no"))]).toEqual([true, false])
    expect(await rows(directory, "SELECT text FROM messages WHERE text = 'never said'")).toEqual([])
    // One that nothing is said in leaves nothing behind.
    expect((await run(["chat", "--home", directory], { input: "/exit\n" })).code).toBe(0)
    expect(await rows(directory, "SELECT id FROM sessions")).toHaveLength(1)
  })

  test("a line that is no answer leaves the question at no, and is said after it", async () => {
    const directory = home("goes on")
    const { code, stdout } = await run(["chat", "--home", directory], {
      input: "run: sh -c 'touch /tmp/never; date'\nremember: milk\n"
    })
    expect(code).toBe(0)
    expect(stdout).toContain("[y/N] n")
    expect(await rows(directory, "SELECT text FROM messages WHERE role = 'user' ORDER BY id")).toEqual([
      { text: "run: sh -c 'touch /tmp/never; date'" },
      { text: "remember: milk" }
    ])
  })

  test("an open question at the end of the input is a no", async () => {
    const directory = home("unanswered")
    const { code, stdout } = await run(["chat", "--home", directory], {
      input: "run: sh -c 'touch /tmp/never; date'\n"
    })
    expect(code).toBe(0)
    expect(stdout).toContain("[y/N] n")
  })

  test("Ctrl-C ends the turn and everything that it started, and the conversation goes on", async () => {
    const directory = home("interrupted")
    const { code, stdout } = await run(["chat", "--home", directory], {
      steps: [
        { says: "a job's output", then: (child) => child.stdin?.write("run: sh -c 'sleep 60; echo late'\ny\n") },
        { says: "[y/N] y", then: (child) => setTimeout(() => child.kill("SIGINT"), 1_000) },
        { says: "(interrupted)", then: (child) => child.stdin?.end("run: echo after\n") }
      ]
    })
    expect(code).toBe(0)
    expect(stdout).toContain("after\n```")
    expect(stdout).not.toContain("late\n```")
    expect(await openTurns(directory)).toBe(0)
  })
})

describe("looking things up", () => {
  test("sessions are shown, renamed and deleted by id, its beginning or title", async () => {
    const directory = home("sessions")
    const { sessionId } = json(await run(["chat", "-q", "hello", "--json", "--home", directory]), Shapes.Answered)
    const shown = await run(["sessions", "show", sessionId.slice(0, 12), "--home", directory])
    expect(shown.stdout).toContain("hello")
    expect(await run(["sessions", "rename", sessionId, "Tea", "--home", directory])).toMatchObject({ code: 0 })
    for (const change of ["archive", "unarchive", "archive"])
      expect(await run(["sessions", change, "Tea", "--home", directory])).toMatchObject({ code: 0, stderr: "" })
    expect(await run(["sessions", "delete", "Tea", "--json", "--home", directory])).toMatchObject({ code: 0 })
    const gone = await run(["sessions", "show", "Tea", "--home", directory])
    expect(gone).toMatchObject({ code: 1, stdout: "" })
    expect(gone.stderr).toContain("no session")
  })

  test("a file that is not there, or is none of ours, is told in one line", async () => {
    const directory = home("files")
    const broken = path.join(directory, "broken.yaml")
    for (const group of ["sessions", "cron"])
      expect(await run([group, "import", "/nowhere/at-all", "--home", directory])).toEqual({
        code: 1,
        stdout: "",
        stderr: "hermes: there is no /nowhere/at-all\n"
      })
    mkdirSync(directory, { recursive: true })
    writeFileSync(broken, "$ hermes cron export\nversion: 1\n")
    const { stderr } = await run(["cron", "import", broken, "--home", directory])
    expect(stderr).toMatch(/^hermes: .*broken\.yaml: .* at line 1, column 1\n$/)
  })

  test("a message out waits for a gateway as a row, split and resolved like any other", async () => {
    const directory = home("send")
    const env = { TELEGRAM_BOT_TOKEN: "1:secret", TELEGRAM_HOME_CHANNEL: "42" }
    const send = (...args: ReadonlyArray<string>) => run(["send", ...args, "--home", directory], { env })
    const { delivery } = json(await send("--to", "telegram:7", "hello", "--json"), Shapes.Send)
    expect(delivery).toMatchObject({ platform: "telegram", chatId: "7", state: "pending", via: "explicit" })
    expect(delivery.reason).toContain("no gateway")
    const fromStdin = await run(["send", "--to", "telegram", "-", "--json", "--home", directory], {
      env,
      input: "from stdin\n"
    })
    expect(json(fromStdin, Shapes.Send).delivery).toMatchObject({ chatId: "42", via: "home" })

    const listed = await run(["deliveries", "list", "--state", "pending", "--json", "--home", directory])
    expect(json(listed, Schema.Array(Shapes.Delivery)).map((row) => row.chatId)).toEqual(["42", "7"])
    const shown = await run(["deliveries", "show", delivery.id, "--home", directory])
    expect(shown.stdout).toContain("hello")
    expect(await run(["deliveries", "show", "dlv_none", "--home", directory])).toMatchObject({ code: 1, stdout: "" })

    expect(await send("--list")).toMatchObject({ stdout: expect.stringContaining("telegram:42"), stderr: "" })
    const database = new Sqlite(path.join(directory, "state.db"))
    const meet = database.prepare(
      "INSERT INTO channels (platform, chat_id, thread_id, name, type, last_seen_at) VALUES ('telegram', ?, '', NULL, 'dm', ?)"
    )
    database.transaction(() => Array.from({ length: 600 }, (_, n) => meet.run(String(1_000 + n), n)))()
    database.close()
    expect((await send("--list")).stdout).toContain("At most the newest 500 chats are shown")
    const many = json(await send("--list", "--json"), Schema.Array(Schema.Unknown))
    expect(many.length).toBeLessThan(510)
    const unknown = await send("--to", "pigeon:7", "hello")
    expect(unknown).toMatchObject({ code: 1, stdout: "" })
    expect(unknown.stderr).toContain("pigeon")
    expect(await send("--to", "telegram", " ")).toMatchObject({ code: 1 })
  })

  test("questions are listed and answered once", async () => {
    const directory = home("approvals")
    await asked(directory, "apr_one")
    await asked(directory, "apr_two")
    const list = () => run(["approvals", "list", "--json", "--home", directory])
    expect(json(await list(), Schema.Array(Shapes.Approval)).map((row) => row.state)).toEqual(["open", "open"])
    expect(await run(["approvals", "approve", "apr_one", "--home", directory])).toMatchObject({ code: 0 })
    expect(await run(["approvals", "deny", "apr_two", "--reason", "not now", "--home", directory])).toMatchObject({
      code: 0
    })
    const answered = json(await list(), Schema.Array(Shapes.Approval))
    expect(answered.map(({ id, state, answer, by }) => ({ id, state, answer, by }))).toEqual([
      { id: "apr_two", state: "denied", answer: "not now", by: "owner" },
      { id: "apr_one", state: "approved", answer: "once", by: "owner" }
    ])
    const again = await run(["approvals", "approve", "apr_two", "--home", directory])
    expect(again).toMatchObject({ code: 1, stdout: "" })
    expect(await run(["approvals", "approve", "apr_three", "--home", directory])).toMatchObject({ code: 1 })
  })

  test.each([
    ["ls -la", 0, "allow"],
    ["rm -r build", 10, "ask"],
    ["hermes approvals approve apr_1", 11, "never"]
  ])("a command is judged without being run: %s", async (line, code, verdict) => {
    const judged = await run(["approvals", "judge", line, "--json", "--home", home("judge")])
    expect(judged).toMatchObject({ code, stderr: "" })
    expect(json({ ...judged, code: 0 }, Shapes.Verdict).verdict).toBe(verdict)
  })

  test("a stranger is let in by the code that he was shown, and shut out again", async () => {
    const directory = home("pairing")
    const code = await offered(directory, "99")
    const pairing = (...args: ReadonlyArray<string>) => run(["pairing", ...args, "--home", directory])
    expect((await pairing("list")).stdout).toContain("Mallory[31m (99)")
    const wrong = await pairing("approve", "telegram", "WRONGONE")
    expect(wrong).toMatchObject({ code: 1, stdout: "" })
    expect(wrong.stderr).toContain("4 more wrong ones")
    // Where nobody waits there is nothing to guess.
    expect((await pairing("approve", "pigeon", "WRONGONE")).stderr).toContain("nobody waits")
    expect(await pairing("approve", "telegram", code.toLowerCase())).toMatchObject({ code: 0, stderr: "" })
    // They are told by the next gateway.
    const told = (await run(["deliveries", "list", "--json", "--home", directory])).stdout
    expect(JSON.parse(told)).toMatchObject([{ platform: "telegram", chatId: "99", state: "pending" }])
    expect((await pairing("list", "--json")).stdout).toContain('"approvedAt"')
    expect(await pairing("revoke", "telegram", "99")).toMatchObject({ code: 0 })
    expect(await pairing("revoke", "telegram", "99")).toMatchObject({ code: 1 })
  })
})

describe("jobs from a file", () => {
  test("that is nested without end are refused in words", async () => {
    const directory = withConfig("nested", "")
    const file = path.join(directory, "nested.yaml")
    writeFileSync(file, `${"- ".repeat(20_000)}x\n`)
    const { code, stderr } = await run(["cron", "import", file, "--home", directory])
    expect(code).toBe(1)
    expect(stderr).toContain("nested.yaml: it is nested too deeply to be read")
  })
})

describe("settings", () => {
  test("are shown without the secrets that somebody wrote among them", async () => {
    const directory = withConfig(
      "config",
      [
        "model: {provider: openai-compatible, name: one, base_url: 'https://ada:hush-hush@models.example/v1'}",
        "mcp_servers: {far: {url: 'https://mcp.example', headers: {X-Team: hush-hush}}, near: {command: x, env: {A: hush-hush}}}"
      ].join("\n")
    )
    for (const words of [
      ["model"],
      ["model", "--json"],
      ["config", "show"],
      ["config", "get", "mcp_servers", "--json"]
    ]) {
      const { code, stdout } = await run([...words, "--home", directory])
      expect(code).toBe(0)
      expect(stdout).toContain("[redacted]")
      expect(stdout).not.toContain("hush-hush")
    }
  })

  test("are shown, read, changed with the file's comments kept, and checked", async () => {
    const directory = withConfig("config", "# mine\nmodel:\n  name: one # first\n")
    const config = (...args: ReadonlyArray<string>) => run(["config", ...args, "--home", directory])
    expect(await config("get", "model.name")).toEqual({ code: 0, stdout: "one\n", stderr: "" })
    expect(await config("set", "model.name", "two")).toMatchObject({ code: 0, stderr: "" })
    expect(readFileSync(path.join(directory, "config.yaml"), "utf8")).toBe("# mine\nmodel:\n  name: two # first\n")
    expect((await config("path")).stdout).toBe(`${path.join(directory, "config.yaml")}\n`)
    expect((await config("show", "--json")).stdout).toContain('"from": "file"')
    expect(await config("check")).toMatchObject({ code: 0 })
    const refused = await config("set", "agent.max_turns", "many")
    expect(refused).toMatchObject({ code: 1, stdout: "" })
    expect(refused.stderr).toContain("agent.max_turns")
    const unknown = await config("get", "model.nam")
    expect(unknown).toMatchObject({ code: 1, stdout: "" })
    expect(unknown.stderr).toContain("model.name")
  })

  test("that are not used are told by `config check`, and a file that is no YAML by its line", async () => {
    const mistaken = withConfig("mistaken", "modl:\n  name: one\nagent:\n  max_turns: -3\n")
    const checked = await run(["config", "check", "--home", mistaken])
    expect(checked.code).toBe(1)
    expect(checked.stdout).toMatch(/^modl: .*it is left out\nagent\.max_turns: /)
    const broken = withConfig("broken", "model:\n  name: [one\n")
    for (const args of [["config", "check"], ["model"], ["gateway", "run", "--port", "0"]]) {
      const { code, stdout, stderr } = await run([...args, "--home", broken])
      expect([code, stdout]).toEqual([78, ""])
      expect(stderr).toMatch(/config\.yaml:\d+:\d+: /)
    }
  })

  test("the model is shown and set, provider and all", async () => {
    const directory = home("model")
    expect((await run(["model", "--home", directory])).stdout).toContain("offline/")
    // A name alone would be the built-in assistant's, which has none.
    const whose = await run(["model", "gpt-5", "--home", directory])
    expect(whose).toMatchObject({ code: 2, stdout: "" })
    expect(whose.stderr).toContain('say whose "gpt-5" is')
    const keyless = await run(["model", "openai/gpt-5", "--home", directory])
    expect(keyless.stdout).toMatch(/^openai\/gpt-5\nSet OPENAI_API_KEY in the home's \.env/)
    expect(await run(["model", "--provider", "openai-compatible", "qwen3", "--home", directory])).toMatchObject({
      code: 0
    })
    const shown = await run(["model", "--json", "--home", directory])
    expect(JSON.parse(shown.stdout)).toMatchObject({ provider: "openai-compatible", model: "qwen3", fallbacks: [] })
    expect(await run(["model", "--provider", "nobody", "x", "--home", directory])).toMatchObject({ code: 2 })
    const [local, none] = [["--base-url", "http://127.0.0.1:9/v1"], { model: "claude-sonnet-4-5", baseUrl: null }]
    expect((await run(["model", ...local, "--home", directory])).code).toBe(0)
    // Neither the address of one provider nor its model goes with the key of another.
    await run(["model", "--provider", "anthropic", "--home", directory])
    const moved = await run(["model", "--json", "--home", directory])
    expect(JSON.parse(moved.stdout)).toMatchObject({ provider: "anthropic", ...none })
  })

  test("doctor ends with 1 when it finds something and says what to do", async () => {
    const directory = home("doctor")
    const none = await run(["doctor", "--home", directory])
    expect(none.code).toBe(1)
    expect(none.stdout).toContain("there is no home")
    await run(["chat", "-q", "hello", "--home", directory])
    const env = { API_SERVER_PORT: "0" }
    expect(await run(["doctor", "--home", directory], { env })).toMatchObject({ code: 0, stderr: "" })
    writeFileSync(path.join(directory, "state.db"), "no database at all")
    const damaged = await run(["doctor", "--json", "--home", directory], { env })
    expect(damaged.code).toBe(1)
    expect(JSON.parse(damaged.stdout)).toMatchObject({ ok: false })
    expect(damaged.stdout).toContain("hermes doctor --fix")
  })

  test("doctor asks the model and Telegram, and says what each of them answers", async () => {
    const directory = home("asked")
    const server = http.createServer((request, response) => {
      const { url = "" } = request
      if (url.startsWith("/page/")) return response.setHeader("content-type", "text/html").end("<title>Sign in</title>")
      if (url.startsWith("/bot1:known/"))
        return response.end('{"ok":true,"result":{"id":1,"is_bot":true,"first_name":"B","username":"my_bot"}}')
      return response.writeHead(401).end('{"ok":false,"error_code":401,"description":"Unauthorized"}')
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const address = server.address()
    const root = `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`
    await run(["model", "--provider", "openai-compatible", "--base-url", `${root}/page/v1`, "m", "--home", directory])
    const doctor = async (env: { readonly [name: string]: string }) => {
      const ran = await run(["doctor", "--home", directory], {
        env: { API_SERVER_PORT: "0", TELEGRAM_API_ROOT: root, ...env }
      })
      return `${ran.code}\n${ran.stdout}`
    }
    const page = await doctor({ TELEGRAM_BOT_TOKEN: "garbage" })
    expect(page).toMatch(/^1\n/)
    expect(page).toMatch(
      /PROBLEM model: openai-compatible\/m: .*not set up\.\n +→ .*an HTML page: Sign in.*MODEL_BASE_URL/
    )
    expect(page).toMatch(/PROBLEM telegram: .*shape.*\n.*BotFather/)
    const refused = await doctor({ TELEGRAM_BOT_TOKEN: "1:revoked", HERMES_MODEL_BASE_URL: root })
    expect(refused).toMatch(/PROBLEM model: .*did not accept the credentials.*\n.*HERMES_MODEL_API_KEY/)
    expect(refused).toMatch(/PROBLEM telegram: .*401.*\n.*TELEGRAM_BOT_TOKEN/)
    const good = await doctor({ TELEGRAM_BOT_TOKEN: "1:known", HERMES_MODEL_PROVIDER: "offline" })
    expect(good).toMatch(/^0\n[\s\S]*ok {6}telegram: the token is @my_bot's/)
    server.close()
    server.closeAllConnections()
  })

  test("the log is shown from its end, foreign control characters left out", async () => {
    const directory = home("logs")
    mkdirSync(path.join(directory, "logs"), { recursive: true, mode: 0o700 })
    const line = (message: string) => JSON.stringify({ time: "2026-01-02T03:04:05.000Z", level: "INFO", message, n: 1 })
    writeFileSync(
      path.join(directory, "logs/hermes.log"),
      `${line("first")}\n${line("second")}\n${line("third\u001b]0;x")}\nnot json\n`
    )
    const shown = await run(["logs", "-n", "3", "--home", directory])
    expect(shown.stdout).toMatch(/^\S+ \S+ info second n=1\n\S+ \S+ info third\]0;x n=1\nnot json\n$/)
    expect(JSON.parse((await run(["logs", "--json", "--home", directory])).stdout)).toHaveLength(4)
    expect((await run(["logs", "--home", home("nolog")])).stdout).toContain("Nothing was logged")
    const followed = await run(["logs", "-f", "-n", "1", "--home", directory], {
      steps: [
        {
          says: "not json",
          then: () =>
            setTimeout(() => appendFileSync(path.join(directory, "logs/hermes.log"), line("new") + "\n"), 1_000)
        },
        { says: "new", then: (child) => child.kill("SIGINT") }
      ]
    })
    expect(followed.code).toBe(0)
    expect(followed.stdout).toMatch(/^not json\n\S+ \S+ info new n=1\n$/)
  })
})

describe("inside a turn (decision 29)", () => {
  const spellings = [
    { HERMES_SESSION_KEY: "agent:main:telegram:dm:7" },
    { HERMES_SESSION_PLATFORM: "" },
    { HERMES_SESSION_ID: "ses_1" },
    { HERMES_CRON_SESSION: "1" },
    { HERMES_CRON_SESSION: "" }
  ] as const

  test("what only the owner may do is refused and says why, however the environment spells it", async () => {
    const directory = home("inside")
    await asked(directory, "apr_one")
    const code = await offered(directory, "99")
    const some = [
      ["approvals", "approve", "apr_one"],
      ["pairing", "approve", "telegram", code],
      ["config", "set", "approvals.mode", "off"]
    ]
    const all = [
      ...some,
      ["approvals", "deny", "apr_one"],
      ["pairing", "revoke", "telegram", "98"],
      ["config", "set", "security.anything", "off"],
      ["model", "--base-url", "http://elsewhere.example/v1"],
      ["model", "--provider", "openai"],
      ["model", "gpt-5"],
      ["config", "set", "model.name", "gpt-5"],
      ["config", "set", "platforms.telegram.allowed_users", "[99]"],
      ["config", "set", "gateway.allow_all_users", "true"]
    ]
    for (const env of scaled(100) === 100 ? spellings : spellings.slice(0, 3)) {
      const calls = env === spellings[0] ? all : some
      const refused = await Promise.all(calls.map((args) => run([...args, "--home", directory], { env })))
      for (const { code: exit, stdout, stderr } of refused) {
        expect([env, exit, stdout]).toEqual([env, 1, ""])
        expect(stderr).toContain("inside a turn")
      }
    }
    expect(await rows(directory, "SELECT state FROM approvals")).toEqual([{ state: "open" }])
    expect(await rows(directory, "SELECT user_id FROM paired_users")).toEqual([])
    expect(existsSync(path.join(directory, "config.yaml"))).toBe(false)
    // The control: other calls are answered there, and these ones elsewhere.
    for (const [args, env] of [
      [["approvals", "list"], spellings[0]],
      [["approvals", "approve", "apr_one"], {}],
      [["pairing", "approve", "telegram", code], {}]
    ] as const) {
      const { code: exit, stderr } = await run([...args, "--home", directory], { env: env ?? {} })
      expect([args[1], exit, stderr]).toEqual([args[1], 0, ""])
    }
  })
})
