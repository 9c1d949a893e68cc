/** `hermes setup` at a terminal and by options, against a model server and a Telegram server on loopback. */
import { Effect, Exit, Scope } from "effect"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import path from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import * as ModelServer from "../../src/testing/ModelServer.js"
import * as TelegramServer from "../../src/testing/TelegramServer.js"
import { homes, run } from "./support/hermes.js"
import { keys, type } from "./support/terminal.js"

const home = homes()
const scope = Effect.runSync(Scope.make())
let model: ModelServer.ModelServer
let telegram: TelegramServer.TelegramServer

beforeAll(async () => {
  const made = await Effect.runPromise(
    Effect.all({
      model: ModelServer.make((request) =>
        request.headers["authorization"] === "Bearer sk-right"
          ? ModelServer.says("ready")
          : ModelServer.refuses(401, { message: "wrong key" })
      ),
      telegram: TelegramServer.make({ username: "our_bot" })
    }).pipe(Scope.extend(scope))
  )
  model = made.model
  telegram = made.telegram
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const read = (directory: string, name: string): string => readFileSync(path.join(directory, name), "utf8")
const env = () => ({ TELEGRAM_API_ROOT: telegram.apiRoot })

/** Everything in a home, as it is. */
const snapshot = (directory: string): ReadonlyArray<string> =>
  existsSync(directory)
    ? readdirSync(directory, { recursive: true, encoding: "utf8" })
        .toSorted()
        .map((name) => {
          const file = path.join(directory, name)
          return statSync(file).isFile() ? `${name}: ${readFileSync(file, "utf8")}` : name
        })
    : []

/** Up to the question for Telegram: a wrong key first, then the right one. */
const modelSteps = (key: string) => [
  { says: "Which model shall answer?", then: keys.down + keys.down + keys.down + keys.enter },
  { says: "Where is the server?", then: `${model.baseUrl}${keys.enter}` },
  { says: "Which of its models?", then: `small-one${keys.enter}` },
  { says: "HERMES_MODEL_API_KEY", then: `${key}${keys.enter}` }
]

describe("setup at a terminal", () => {
  test("asks, tries, finds the owner, and writes all at the end; again, it begins from what there is", async () => {
    const directory = home("asked")
    const anna = telegram.user(7)
    const stranger = telegram.user(8)
    const write = (from: TelegramServer.TelegramUser) => () =>
      Effect.runPromise(telegram.say({ chat: telegram.dm(from), from, text: "hello" }))
    // What waits from before is nobody who was asked to write.
    await write(stranger)()
    const nothingYet = () => Promise.resolve(expect(existsSync(directory)).toBe(false))
    const { code, screen } = await type(
      ["setup", "--home", directory],
      [
        ...modelSteps("sk-wrong"),
        { says: "did not accept the credentials", then: nothingYet },
        { says: "What now?", then: keys.enter },
        ...modelSteps("sk-right"),
        { says: "small-one answers", then: nothingYet },
        { says: "Telegram?", then: keys.down + keys.enter },
        { says: "TELEGRAM_BOT_TOKEN", then: `${telegram.token}${keys.enter}` },
        { says: "the token is @our_bot's", then: nothingYet },
        { says: "Now write anything to @our_bot", then: write(anna) },
        { says: `id ${anna.id}, has written. Is that you?`, then: keys.enter },
        { says: "Shall what nobody asked for", then: keys.enter },
        { says: "Your time zone?", then: `Mars/Olympus${keys.enter}` },
        { says: "is no time zone", then: `${"\u007f".repeat(12)}Europe/Lisbon${keys.enter}` },
        { says: "In which folder shall it work?", then: keys.enter }
      ],
      env()
    )
    expect(code, screen).toBe(0)
    expect(screen).not.toContain("sk-right")
    expect(screen).not.toContain(telegram.token)
    const config = read(directory, "config.yaml")
    for (const line of [
      "provider: openai-compatible",
      "name: small-one",
      `base_url: ${model.baseUrl}`,
      "timezone: Europe/Lisbon",
      `home_channel: "${anna.id}"`,
      `- "${anna.id}"`,
      "# hermes-effect: every setting, with its default"
    ])
      expect(config).toContain(line)
    expect(config).not.toMatch(/^ *cwd:/m)
    expect(config).not.toContain(String(stranger.id))
    expect(read(directory, ".env")).toContain("HERMES_MODEL_API_KEY=sk-right\n")
    expect(read(directory, ".env")).toContain(`TELEGRAM_BOT_TOKEN=${telegram.token}\n`)
    for (const name of ["config.yaml", ".env"]) expect(statSync(path.join(directory, name)).mode & 0o777).toBe(0o600)
    // Both messages are still Telegram's: the gateway answers them when it starts.
    expect(await Effect.runPromise(telegram.pending)).toBe(2)

    const before = snapshot(directory)
    const again = await type(
      ["setup", "--home", directory],
      [
        { says: "Keep openai-compatible/small-one", then: keys.enter },
        { says: "Keep it: the token is set", then: keys.enter },
        { says: "Europe/Lisbon", then: keys.enter },
        { says: "In which folder shall it work?", then: keys.enter }
      ],
      env()
    )
    expect(again.code, again.screen).toBe(0)
    expect(again.screen).toContain("Nothing was changed.")
    expect(snapshot(directory)).toEqual(before)
  })

  test("Ctrl-C at any question leaves everything as it was", async () => {
    const directory = home("left")
    mkdirSync(directory, { mode: 0o700 })
    writeFileSync(path.join(directory, "config.yaml"), "# mine\ntimezone: Europe/Rome\n", { mode: 0o600 })
    writeFileSync(path.join(directory, ".env"), "API_SERVER_KEY=k\n", { mode: 0o600 })
    const steps = [
      ...modelSteps("sk-right"),
      { says: "small-one answers", then: () => Promise.resolve() },
      { says: "Telegram?", then: keys.enter },
      { says: "Your time zone?", then: `Europe/Lisbon${keys.enter}` },
      { says: "In which folder shall it work?", then: keys.enter }
    ]
    await run(["config", "get", "timezone", "--home", directory])
    const before = snapshot(directory)
    for (const at of [3, 7]) {
      const stopped = steps.slice(0, at + 1).map((step, index) => (index === at ? { ...step, then: keys.ctrlC } : step))
      const { code, screen } = await type(["setup", "--home", directory], stopped, env())
      expect([code, snapshot(directory)], screen).toEqual([1, before])
      expect(screen).toContain("nothing was changed")
    }
  })
})

describe("setup without questions", () => {
  const scripted = (directory: string, ...args: ReadonlyArray<string>) => [
    "setup",
    "--non-interactive",
    "--home",
    directory,
    ...args
  ]

  test("without a terminal it says what to do, and inside a turn it is refused", async () => {
    const directory = home("silent")
    expect(await run(["setup", "--home", directory])).toMatchObject({ code: 2, stdout: "" })
    expect((await run(["setup", "--home", directory])).stderr).toContain("--non-interactive")
    const refused = await run(scripted(directory, "--timezone", "Europe/Rome"), { env: { HERMES_SESSION_KEY: "k" } })
    expect(refused).toMatchObject({ code: 1 })
    expect(refused.stderr).toContain("for the owner")
    expect(existsSync(directory)).toBe(false)
  })

  test("what is given is tried and written, the rest stays; a check that fails writes nothing", async () => {
    const directory = home("scripted")
    const wanted = ["--provider", "openai-compatible", "--base-url", model.baseUrl, "--model", "small-one"]
    const wrong = await run(scripted(directory, ...wanted, "--api-key-stdin"), { input: "sk-wrong\n" })
    expect(wrong).toMatchObject({ code: 1, stdout: "" })
    expect(wrong.stderr).toContain("did not accept")
    expect(existsSync(directory)).toBe(false)
    const bad = await run(scripted(directory, "--telegram-token-stdin"), { input: "1:wrong", env: env() })
    expect([bad.code, existsSync(directory)]).toEqual([1, false])

    const right = await run(
      scripted(
        directory,
        ...wanted,
        "--api-key-env",
        "MINE",
        "--telegram-token-stdin",
        "--telegram-owner",
        "7",
        "--json"
      ),
      { input: `${telegram.token}\n`, env: { ...env(), MINE: "sk-right" } }
    )
    expect([right.code, right.stderr]).toEqual([0, ""])
    expect(JSON.parse(right.stdout)).toMatchObject({
      settings: [
        "model.provider",
        "model.name",
        "model.base_url",
        "platforms.telegram.enabled",
        "platforms.telegram.allowed_users"
      ],
      secrets: ["HERMES_MODEL_API_KEY", "TELEGRAM_BOT_TOKEN"],
      checks: [{ name: "model" }, { name: "telegram", detail: "the token is @our_bot's" }],
      restart: false
    })
    expect(right.stdout).not.toContain("sk-right")

    // Another provider's key never goes to this one's address.
    await run(scripted(directory, "--provider", "anthropic", "--api-key-stdin", "--skip-checks"), { input: "sk-ant" })
    expect(read(directory, "config.yaml")).not.toContain(model.baseUrl)
    expect(read(directory, ".env")).toContain("ANTHROPIC_API_KEY=sk-ant\n")

    for (const [args, says] of [
      [["--timezone", "Mars/Olympus"], "Mars/Olympus"],
      [["--workdir", path.join(directory, "nowhere")], "make it first"],
      [["--api-key-env", "NOT_THERE"], "NOT_THERE"],
      [["--api-key-stdin", "--telegram-token-stdin"], "one secret"]
    ] as const) {
      const refused = await run(scripted(directory, ...args))
      expect([args, refused.code]).toEqual([args, 2])
      expect(refused.stderr).toContain(says)
    }
  })
})
