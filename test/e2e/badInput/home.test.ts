/** A home, a port, a token or a database that cannot be had: exit code 78 with one clear line, and nothing is touched. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import BetterSqlite from "better-sqlite3"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import path from "node:path"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as Command from "../support/Command.js"
import * as Gateway from "../support/Gateway.js"
import * as HomeDirectory from "../support/HomeDirectory.js"
import * as Loopback from "../support/Loopback.js"

/** Ended as a conflict does: one line for people on stderr, nothing on stdout. */
const expectConflict = (ended: Command.Ended, words: RegExp): void => {
  expect(ended).toMatchObject({ code: 78, stdout: "" })
  expect(ended.stderr).toMatch(/^hermes: [^\n]+\n$/)
  expect(ended.stderr).toMatch(words)
  expect(ended.stderr).not.toMatch(Command.stackTrace)
}

const elsewhere = (home: HomeDirectory.HomeDirectory, directory: string): HomeDirectory.HomeDirectory => ({
  ...home,
  directory
})

const answers = (gateway: Gateway.Gateway) =>
  Effect.gen(function* () {
    const answer = yield* gateway.ask("POST", "/v1/chat/completions", {
      messages: [{ role: "user", content: "hello" }]
    })
    expect(answer.status, answer.text).toBe(200)
  })

const hashes = (directory: string): ReadonlyArray<readonly [string, string]> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" })
    .filter((name) => /^state\.db/.test(name) && statSync(path.join(directory, name)).isFile())
    .sort()
    .map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(path.join(directory, name)))
        .digest("hex")
    ])

describe("a home that cannot be used", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive.each([
    ["is a file", "file"],
    ["lies under a file", "file/home"],
    ["lies where nothing can be written", "/proc/home"],
    ["is a link to nowhere", "dangling"],
    ["has a name that is too long", "x".repeat(300)]
  ] as const)(
    "ends the start: it %s",
    ([, directory]) =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        writeFileSync(path.join(home.owner, "file"), "mine")
        symlinkSync("/nowhere/at/all", path.join(home.owner, "dangling"))
        const at = path.resolve(home.owner, directory)
        expectConflict(yield* Gateway.fails(elsewhere(home, at)), /the home \S+ cannot be used: .+; check its owner/)
        expect(readFileSync(path.join(home.owner, "file"), "utf8")).toBe("mine")
      }),
    120_000
  )
})

describe("a file of the home that is none", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive.each([
    [".env", "pipe", /\.env.*named pipe/],
    ["config.yaml", "pipe", /config\.yaml.*named pipe/],
    ["config.yaml", "device", /config\.yaml.*a device/],
    [".env", "directory", /\.env.*a directory/],
    ["logs", "file", /nothing can be logged/],
    ["logs/hermes.log", "pipe", /nothing can be logged/]
  ] as const)(
    "ends the start at once: %s, a %s",
    ([name, kind, words]) =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        const file = path.join(home.directory, name)
        rmSync(file, { force: true })
        mkdirSync(path.dirname(file), { recursive: true })
        if (kind === "pipe") execFileSync("mkfifo", [file])
        else if (kind === "device") symlinkSync("/dev/zero", file)
        else if (kind === "directory") mkdirSync(file)
        else writeFileSync(file, "x")
        expectConflict(yield* Gateway.fails(home), words)
      }),
    120_000
  )

  it.scopedLive(
    "costs only itself: what the agent is told and remembers",
    () =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        mkdirSync(path.join(home.directory, "memories"))
        for (const name of ["SOUL.md", "memories/MEMORY.md", "memories/USER.md"])
          execFileSync("mkfifo", [path.join(home.directory, name)])
        const gateway = yield* Gateway.start(home)
        yield* answers(gateway)
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    120_000
  )
})

describe("what another gateway has", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "a port that is taken ends the start, also when its owner is no gateway",
    () =>
      Effect.gen(function* () {
        const server = yield* Effect.acquireRelease(
          Effect.async<ReturnType<typeof createServer>>((resume) => {
            const made = createServer().listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
          }),
          (made) => Effect.sync(() => void made.close())
        )
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const home = yield* HomeDirectory.make()
        expectConflict(yield* Gateway.fails(home, { port }), new RegExp(`${port}.*in use|${port}.*taken`))
        const gateway = yield* Gateway.start(home)
        yield* answers(gateway)
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    240_000
  )

  it.scopedLive(
    "a second gateway on a home is refused, and runs at once when the first was killed",
    () =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        const first = yield* Gateway.start(home)
        expectConflict(yield* Gateway.fails(home), /another gateway is running on .+; stop it with/)
        yield* answers(first)
        yield* Gateway.stop(first, "SIGKILL")
        const second = yield* Gateway.start(home)
        yield* answers(second)
        expect((yield* Gateway.stop(second)).code).toBe(0)
      }),
    300_000
  )

  it.scopedLive(
    "a second gateway is refused although the lock file of the first was deleted",
    () =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        const first = yield* Gateway.start(home)
        rmSync(path.join(home.directory, "gateway.lock"))
        expectConflict(yield* Gateway.fails(home), /another gateway is running on .+; stop it with/)
        const status = yield* Command.run({ home, args: ["status"] })
        expect(status.stdout).toContain(`process ${first.pid}`)
        yield* answers(first)
        rmSync(path.join(home.directory, "gateway.lock"), { force: true })
        yield* Gateway.stop(first, "SIGKILL")
        const second = yield* Gateway.start(home)
        expect((yield* Gateway.stop(second)).code).toBe(0)
      }),
    300_000
  )

  it.scopedLive(
    "a gateway that was stopped by a signal is said to hold the home, with what to do, and goes on",
    () =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        const gateway = yield* Gateway.start(home)
        yield* gateway.signal("SIGSTOP")
        const status = yield* Command.run({ home, args: ["status"] })
        expect(status.stdout).toMatch(
          new RegExp(`A gateway holds this home \\(process ${gateway.pid}\\) but does not answer`)
        )
        expect(status.stdout).toContain(`kill -CONT ${gateway.pid}`)
        expect(status.stdout).not.toContain("gateway run")
        yield* gateway.signal("SIGCONT")
        yield* answers(gateway)
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    240_000
  )

  it.scopedLive(
    "a bot token that another home uses is refused, and free at once when its user was killed",
    () =>
      Effect.gen(function* () {
        const { home, person, telegram, model } = yield* Loopback.make(() => ModelServer.says("here I am"))
        const other = yield* HomeDirectory.make({
          env: {
            TELEGRAM_BOT_TOKEN: telegram.token,
            TELEGRAM_API_ROOT: telegram.apiRoot,
            TELEGRAM_ALLOW_ALL_USERS: "true",
            HERMES_MODEL_PROVIDER: "openai-compatible",
            HERMES_MODEL_TITLES: "false",
            HERMES_MODEL_BASE_URL: model.baseUrl
          }
        })
        // The locks of tokens are the machine's, or here the owner's.
        const environment = { XDG_STATE_HOME: path.join(home.owner, "state") }
        const first = yield* Gateway.start(home, { environment })
        const ended = yield* Gateway.fails(other, { environment })
        expectConflict(ended, /already uses this telegram token; stop it or take another bot/)
        expect(ended.stderr).not.toContain(telegram.token)
        yield* person(1).says("hello")
        yield* person(1).hears(/here I am/)
        yield* Gateway.stop(first, "SIGKILL")
        const second = yield* Gateway.start(other, { environment })
        yield* person(2).says("hello")
        yield* person(2).hears(/here I am/)
        expect((yield* Gateway.stop(second)).code).toBe(0)
      }),
    300_000
  )

  it.scopedLive(
    "a bot token that Telegram refuses does not keep the rest from running, and the status says what to do",
    () =>
      Effect.gen(function* () {
        const { home } = yield* Loopback.make(() => ModelServer.says("here I am"), {
          env: { TELEGRAM_BOT_TOKEN: "12345:not-the-token" }
        })
        const gateway = yield* Gateway.start(home)
        yield* answers(gateway)
        const telegram = yield* gateway.ask("GET", "/api/status").pipe(
          Effect.map(({ text }) => /\{"name":"telegram"[^}]*\}/.exec(text)?.[0] ?? text),
          Effect.zipLeft(Effect.sleep("20 millis")),
          Effect.repeat({ until: (found) => found.includes('"failed"') }),
          Effect.timeout("60 seconds")
        )
        expect(telegram).toMatch(/Unauthorized.*check TELEGRAM_BOT_TOKEN.*restart the gateway/)
        const status = yield* Command.run({ home, args: ["status"] })
        expect(status.code).toBe(0)
        expect(status.stdout).toMatch(/telegram\s+failed\s+.*check TELEGRAM_BOT_TOKEN/)
        expect(status.stdout + telegram).not.toContain("not-the-token")
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    240_000
  )
})

describe("a database that cannot be used", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive.each([
    [
      "noise",
      (file: string) => writeFileSync(file, randomBytes(64 * 1024)),
      /keep the file and run `hermes doctor --fix`/
    ],
    [
      "a text",
      (file: string) => writeFileSync(file, "not a database at all\n".repeat(500)),
      /keep the file and run `hermes doctor/
    ],
    ["a directory", (file: string) => mkdirSync(file), /cannot be opened/]
  ] as const)(
    "ends the start and stays as it is: %s",
    ([, make, words]) =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        make(path.join(home.directory, "state.db"))
        const before = hashes(home.directory)
        expectConflict(yield* Gateway.fails(home), words)
        expect(hashes(home.directory)).toEqual(before)
      }),
    120_000
  )

  it.scopedLive(
    "one of a newer program ends the start and stays as it is; with its own program it goes on",
    () =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        const file = path.join(home.directory, "state.db")
        yield* Effect.scoped(Effect.flatMap(Gateway.start(home), (gateway) => Gateway.stop(gateway)))
        const edit = (statement: string): void => {
          const database = new BetterSqlite(file)
          database.exec(statement)
          database.pragma("wal_checkpoint(TRUNCATE)")
          database.close()
        }
        edit("INSERT INTO migrations (migration_id, name) VALUES (9000, 'of_the_future')")
        const before = hashes(home.directory)
        expectConflict(yield* Gateway.fails(home), /version 9000 and this program knows \d+; update hermes-effect/)
        expect(hashes(home.directory)).toEqual(before)
        edit("DELETE FROM migrations WHERE migration_id = 9000")
        const gateway = yield* Gateway.start(home)
        yield* answers(gateway)
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    300_000
  )

  it.scopedLive(
    "one that was cut off in the middle ends the start or is said to be damaged, and stays as it is",
    () =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        const file = path.join(home.directory, "state.db")
        yield* Effect.scoped(Effect.flatMap(Gateway.start(home), (gateway) => Gateway.stop(gateway)))
        const whole = readFileSync(file)
        for (const sidecar of ["-wal", "-shm"]) rmSync(`${file}${sidecar}`, { force: true })
        writeFileSync(file, whole.subarray(0, 6_000))
        const before = hashes(home.directory)
        expectConflict(yield* Gateway.fails(home), /cannot be opened: .*(restore a backup|malformed)/)
        expect(hashes(home.directory)).toEqual(before)
      }),
    240_000
  )
})
