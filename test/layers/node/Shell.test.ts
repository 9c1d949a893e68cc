import { describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { createHook } from "node:async_hooks"
import { execFileSync, spawn, spawnSync } from "node:child_process"
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { expect, vi } from "vitest"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as ShellLayer from "../../../src/layers/node/Shell.js"
import * as Child from "../../../src/layers/node/process/Child.js"
import * as ProcessTable from "../../../src/layers/node/process/ProcessTable.js"
import * as ProcessTree from "../../../src/layers/node/process/ProcessTree.js"
import { Authorized } from "../../../src/services/approval/Approval.js"
import { Shell } from "../../../src/services/shell/Shell.js"
import { ambient, ids, redactor, settingsLayer, turn } from "../support/hands.js"

const question = { tool: "terminal", callId: "c", subject: "x", reasons: [] }
const home = mkdtempSync(path.join(tmpdir(), "shell-home-"))

const layer = (environment: Record<string, string> = {}) =>
  Layer.provide(ShellLayer.layer, Layer.mergeAll(ambient(environment), settingsLayer(home), ids, redactor))

const run = (command: string, options: { readonly timeoutMillis?: number; readonly directory?: string } = {}) =>
  Effect.flatMap(Shell, (shell) =>
    shell.run({
      command,
      workingDirectory: options.directory ?? tmpdir(),
      timeoutMillis: options.timeoutMillis ?? 20_000
    })
  ).pipe(Effect.provideService(Authorized, { question }))

const readOrNothing = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    // It has ended since.
    return ""
  }
}

/** A bare Linux has no `ps`. */
const hasPs = spawnSync("ps", ["-A"]).error === undefined

/** A line for each process that is no zombie. */
const table = (): ReadonlyArray<string> =>
  existsSync("/proc/self/stat")
    ? readdirSync("/proc")
        .filter((entry) => /^\d+$/.test(entry))
        .filter((entry) => !readOrNothing(`/proc/${entry}/stat`).includes(") Z "))
        .map((entry) => `${entry} ${readOrNothing(`/proc/${entry}/cmdline`).replaceAll("\0", " ")}`)
    : execFileSync("ps", ["-A", "-o", "pid=,stat=,args="], { encoding: "utf8" })
        .split("\n")
        .filter((line) => !line.includes("ps -A") && !/^\s*\d+\s+Z/.test(line))

const alive = (mark: string): ReadonlyArray<string> => table().filter((line) => line.includes(mark))

const wait = (millis: number) => Effect.promise(() => new Promise((resolve) => setTimeout(resolve, millis)))

/** Waits until `ready` holds, at most 5 s. */
const until = (ready: () => boolean) =>
  Effect.gen(function* () {
    for (let tries = 0; !ready() && tries < 250; tries++) yield* wait(20)
    expect(ready()).toBe(true)
  })

describe("a command", () => {
  it.live("gives its code and its output in the order in which it was written", () =>
    Effect.gen(function* () {
      const outcome = yield* run("echo one; echo two >&2; echo three; exit 7")
      expect(outcome).toMatchObject({ exitCode: 7, output: "one\ntwo\nthree\n", timedOut: false, note: null })
      expect((yield* run("cat; echo end")).output).toBe("end\n")
      expect((yield* run("kill -9 $$")).signal).toBe("SIGKILL")
      expect((yield* run("echo 'it'\"'\"'s' \"$0\"; false")).output).toContain("it's")
    }).pipe(Effect.provide(layer()))
  )

  it.live("can open its outputs again by their names", () =>
    Effect.gen(function* () {
      const { output } = yield* run("echo one > /dev/stdout; echo two > /dev/stderr; echo three | tee /dev/stderr")
      expect(output).toBe("one\ntwo\nthree\nthree\n")
      const many = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, index) => index),
        (index) => run(`echo ${index}`),
        { concurrency: 10 }
      )
      expect(many.map((outcome) => outcome.output)).toEqual(Array.from({ length: 40 }, (_, index) => `${index}\n`))
    }).pipe(Effect.provide(layer()))
  )

  it.live("of many leaves room for everything else between the starts", () =>
    Effect.gen(function* () {
      let startsOfThisTurn = 0
      let most = 0
      const starts = createHook({
        init: (_id, type) => {
          if (type === "PROCESSWRAP") most = Math.max(most, ++startsOfThisTurn)
        }
      })
      let next: NodeJS.Immediate
      const turns = () => {
        startsOfThisTurn = 0
        next = setImmediate(turns)
      }
      yield* run("true")
      turns()
      starts.enable()
      yield* Effect.forEach(Array.from({ length: 100 }), () => run("true"), { concurrency: "unbounded" })
      starts.disable()
      clearImmediate(next!)
      // One of them, and the program that makes pipes for the next ones; without the rule it is some dozens.
      expect(most).toBeLessThanOrEqual(3)
    }).pipe(Effect.provide(layer()))
  )

  it.live("whose output goes through a socket, where there are no pipes, keeps its order as well", () =>
    Effect.gen(function* () {
      const child = yield* Child.start({
        shell: "/bin/bash",
        command: "echo one; echo two >&2; echo three; exit 3",
        directory: tmpdir(),
        environment: { PATH: process.env["PATH"] ?? "" },
        pipe: null
      })
      expect(yield* child.ended).toEqual({ code: 3, signal: null })
      yield* child.closed
      expect(child.output.read().head).toBe("one\ntwo\nthree\n")
    })
  )

  it.live("leaves no open file and no pipe behind", () =>
    Effect.gen(function* () {
      const openFiles = () => readdirSync("/proc/self/fd").length
      // What others of this machine have there is theirs.
      const place = mkdtempSync(path.join(tmpdir(), "shell-places-"))
      vi.stubEnv("TMPDIR", place)
      const before = openFiles()
      yield* Effect.provide(
        Effect.gen(function* () {
          yield* run("true")
          const within = openFiles()
          expect(readdirSync(place)).toHaveLength(1)
          for (let index = 0; index < 20; index++) {
            yield* run("echo x")
            yield* Effect.flip(run("echo \u0000"))
            yield* Effect.flip(run(`: ${"x".repeat(200_000)}`))
          }
          yield* wait(100)
          expect(openFiles()).toBeLessThanOrEqual(within)
        }),
        layer()
      )
      expect(openFiles()).toBeLessThanOrEqual(before + 1)
      expect(readdirSync(place)).toEqual([])
    }).pipe(Effect.ensuring(Effect.sync(() => vi.unstubAllEnvs())))
  )

  it.live("leads a process group and a session of its own", () =>
    Effect.gen(function* () {
      const { output } = yield* run(`python3 -c "import os; print($$, os.getpgid($$), os.getsid($$))"`)
      const [pid, group, session] = output.trim().split(/\s+/)
      expect(group).toBe(pid)
      expect(session).toBe(pid)
    }).pipe(Effect.provide(layer()))
  )

  it.live("runs in the nearest directory that there is, and says so", () =>
    Effect.gen(function* () {
      const place = realpathSync(mkdtempSync(path.join(tmpdir(), "shell-place-")))
      const outcome = yield* run("pwd", { directory: path.join(place, "gone", "deeper") })
      expect(outcome.output).toBe(`${place}\n`)
      expect(outcome.note).toContain(`${place}/gone/deeper`)
      rmSync(place, { recursive: true })
      expect((yield* run("pwd", { directory: place })).output).toBe(`${realpathSync(tmpdir())}\n`)
    }).pipe(Effect.provide(layer()))
  )

  it.live("that cannot be started is an error with advice", () =>
    Effect.gen(function* () {
      const tooLong = yield* Effect.flip(run(`: ${"x".repeat(200_000)}`))
      expect(tooLong.message).toContain("put it into a file")
      const withNul = yield* Effect.flip(run("echo \u0000"))
      expect(withNul._tag).toBe("ShellUnavailable")
    }).pipe(Effect.provide(layer()))
  )

  it.live("shows no terminal sequences, no known secrets and of a line what stood there last", () =>
    Effect.gen(function* () {
      const { output } = yield* run(
        `printf '\\033[31mred\\033[0m \\033]0;title\\007a-secret-that-is-known\\n10%%\\r50%%\\r100%%\\na\\0b\\n'`
      )
      expect(output).toBe("red [redacted]\n100%\nab\n")
    }).pipe(Effect.provide(layer()))
  )

  it.live("that prints 60 MB keeps its head and tail, in little memory", () =>
    Effect.gen(function* () {
      const before = process.memoryUsage().rss
      const outcome = yield* run("echo first; head -c 60000000 /dev/zero | tr '\\0' 'x'; echo; echo last")
      expect(outcome.exitCode).toBe(0)
      expect(outcome.output.startsWith("first\nxxx")).toBe(true)
      expect(outcome.output.endsWith("xxx\nlast\n")).toBe(true)
      expect(outcome.output.length).toBeLessThan(60_000)
      expect(outcome.truncatedBytes).toBeGreaterThan(59_900_000)
      expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000)
    }).pipe(Effect.provide(layer()))
  )

  it.live("is not cut inside a character", () =>
    Effect.gen(function* () {
      const { output } = yield* run("printf 'a'; for i in $(seq 1 60000); do printf 'ü'; done")
      expect(output).not.toContain("\ufffd")
    }).pipe(Effect.provide(layer()))
  )
})

describe("the environment of a command", () => {
  const facts = "env | grep -E '^HERMES_(SESSION|CRON)' | sort"

  it.live("is its own turn's, however many run at once", () =>
    Effect.gen(function* () {
      const chats = Array.from({ length: 12 }, (_, index) => `chat${index}`)
      const outputs = yield* Effect.forEach(
        chats,
        (chat) =>
          Turn.enter(turn(chat))(
            Effect.gen(function* () {
              const own = yield* run(facts)
              const child = yield* Turn.fork(run(facts))
              return [own.output, (yield* Turn.result(child)).output] as const
            })
          ),
        { concurrency: "unbounded" }
      )
      for (const [index, [own, forked]] of outputs.entries()) {
        const lines = own.split("\n")
        expect(forked).toBe(own)
        expect(lines).toContain(`HERMES_SESSION_CHAT_ID=chat${index}`)
        expect(lines).toContain(`HERMES_SESSION_KEY=key:chat${index}`)
        expect(lines).toContain(`HERMES_SESSION_USER_ID=user of chat${index}`)
        expect(lines).toContain("HERMES_CRON_SESSION=")
        expect(lines).toContain("HERMES_SESSION_THREAD_ID=")
        expect(own.match(/chat\d+/g)?.every((chat) => chat === `chat${index}`)).toBe(true)
      }
    }).pipe(Effect.provide(layer({ HERMES_SESSION_CHAT_ID: "stale", HERMES_SESSION_THREAD_ID: "stale" })))
  )

  it.live("would be somebody else's without the bridge", () =>
    Effect.sync(() => {
      const bare = execFileSync("bash", ["-c", facts], {
        env: { PATH: process.env["PATH"], HERMES_SESSION_CHAT_ID: "stale" },
        stdio: ["ignore", "pipe", "inherit"],
        encoding: "utf8"
      })
      expect(bare).toBe("HERMES_SESSION_CHAT_ID=stale\n")
    })
  )

  it.live("of a cron run says so, and holds no secrets", () =>
    Effect.gen(function* () {
      const cron = turn("c", { marker: CronMarker.cron({ job: "job_1", run: "run_1" }) })
      const { output } = yield* Turn.enter(cron)(run("env"))
      expect(output.split("\n")).toContain("HERMES_CRON_SESSION=1")
      expect(output).not.toContain("API_SERVER_KEY")
      expect(output).not.toContain("OPENAI_API_KEY")
      expect(output.split("\n")).toContain(`HERMES_HOME=${home}`)
    }).pipe(Effect.provide(layer({ API_SERVER_KEY: "k", OPENAI_API_KEY: "k" })))
  )
})

/** Ignores TERM, forks twice into a session of its own, fills its pipe, and marks every process with `mark`. */
const stubborn = (mark: string, pidFile: string): string =>
  [
    `trap '' TERM HUP INT`,
    `(setsid bash -c "trap '' TERM HUP INT; (setsid bash -c \\"trap '' TERM HUP INT; echo \\\\\\$\\\\\\$ >> ${pidFile}; while :; do sleep 1; done # ${mark}\\" &) ; echo \\$\\$ >> ${pidFile}; while :; do sleep 1; done # ${mark}" &)`,
    `echo $$ >> ${pidFile}`,
    `while :; do yes ${mark} | head -c 100000; done # ${mark}`
  ].join("\n")

const pidsOf = (file: string): ReadonlyArray<number> => {
  try {
    return readFileSync(file, "utf8").trim().split("\n").map(Number)
  } catch {
    return []
  }
}

const isAlive = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
  } catch {
    return false
  }
}

describe("ending a command", () => {
  it.live("by its time limit keeps what it had said", () =>
    Effect.gen(function* () {
      const started = Date.now()
      const outcome = yield* run("echo begun; sleep 60", { timeoutMillis: 200 })
      expect(outcome).toMatchObject({ timedOut: true, exitCode: null, output: "begun\n" })
      expect(Date.now() - started).toBeLessThan(3_500)
    }).pipe(Effect.provide(layer()))
  )

  it.live(
    "by an interrupt ends one that never stays: each of it forks the next, in a session of its own, and is gone",
    () =>
      Effect.gen(function* () {
        const script = path.join(home, "restless.sh")
        const steps = path.join(home, "steps")
        // A restless process that is not found must not outlive the test.
        const stop = path.join(home, "stop")
        yield* Effect.addFinalizer(() => Effect.sync(() => writeFileSync(stop, "")))
        writeFileSync(
          script,
          `trap '' TERM HUP INT\n[ -e ${stop} ] && exit\necho >> ${steps}\nsetsid bash ${script} &\n`
        )
        const taken = () => (existsSync(steps) ? statSync(steps).size : 0)
        const fiber = yield* Effect.fork(run(`bash ${script}; sleep 60`, { timeoutMillis: 60_000 }))
        yield* until(() => taken() > 10)
        const before = taken()
        yield* until(() => taken() > before)
        const started = Date.now()
        yield* Fiber.interrupt(fiber)
        expect(Date.now() - started).toBeLessThan(3_500)
        const after = taken()
        yield* wait(300)
        expect(taken()).toBe(after)
      }).pipe(Effect.scoped, Effect.provide(layer()))
  )

  it.live("by an interrupt ends a tree that ignores TERM, forks twice, leaves its session and fills its pipe", () =>
    Effect.gen(function* () {
      const mark = `stubborn${process.pid}`
      const pidFile = path.join(home, "pids")
      const fiber = yield* Effect.fork(run(stubborn(mark, pidFile), { timeoutMillis: 60_000 }))
      yield* until(() => pidsOf(pidFile).length === 3)
      const pids = pidsOf(pidFile)
      expect(pids.filter(isAlive)).toHaveLength(3)
      const started = Date.now()
      yield* Fiber.interrupt(fiber)
      const took = Date.now() - started
      expect(pids.filter(isAlive)).toEqual([])
      expect(alive(mark)).toEqual([])
      expect(took).toBeLessThan(3_000)
    }).pipe(Effect.provide(layer()))
  )

  it.live("needs the token: what left its group and its parents is found by nothing else", () =>
    Effect.gen(function* () {
      const pidFile = path.join(home, "control-pids")
      const child = spawn("bash", ["-c", stubborn("control", pidFile)], {
        detached: true,
        stdio: "ignore",
        env: { PATH: process.env["PATH"], HERMES_COMMAND_TOKEN: "token-of-control" }
      })
      yield* until(() => pidsOf(pidFile).length === 3)
      const pids = pidsOf(pidFile)
      const root = (token: string) => ({ pid: child.pid ?? 0, token: `HERMES_COMMAND_TOKEN=${token}` })
      const limits = { graceMillis: 50, limitMillis: 2_000 }
      yield* ProcessTree.end(root("of somebody else"), limits)
      expect(pids.filter(isAlive).length).toBeGreaterThan(0)
      expect(yield* ProcessTree.end(root("token-of-control"), limits)).toEqual([])
      expect(pids.filter(isAlive)).toEqual([])
    })
  )

  it.live("by its time limit ends the same tree", () =>
    Effect.gen(function* () {
      const mark = `slow${process.pid}`
      const pidFile = path.join(home, "slow-pids")
      const outcome = yield* run(stubborn(mark, pidFile), { timeoutMillis: 1_000 })
      expect(outcome.timedOut).toBe(true)
      expect(pidsOf(pidFile).filter(isAlive)).toEqual([])
      expect(alive(mark)).toEqual([])
      expect(outcome.durationMillis).toBeLessThan(1_000 + 3_500)
    }).pipe(Effect.provide(layer()))
  )

  it.live("lets a process that behaves clean up", () =>
    Effect.gen(function* () {
      const file = path.join(home, "cleaned")
      const fiber = yield* Effect.fork(run(`trap 'echo bye > ${file}; exit 0' TERM; touch ${file}; sleep 60 & wait`))
      yield* until(() => {
        try {
          return readFileSync(file, "utf8") === ""
        } catch {
          return false
        }
      })
      const started = Date.now()
      yield* Fiber.interrupt(fiber)
      expect(Date.now() - started).toBeLessThan(3_000)
      expect(readFileSync(file, "utf8")).toBe("bye\n")
    }).pipe(Effect.provide(layer()))
  )

  it.live("touches nobody else", () =>
    Effect.gen(function* () {
      const bystander = spawn("sleep", ["30"])
      const fiber = yield* Effect.fork(run("sleep 30"))
      const other = yield* Effect.fork(run("sleep 0.5; echo unharmed"))
      yield* wait(150)
      yield* Fiber.interrupt(fiber)
      expect((yield* Fiber.join(other)).output).toBe("unharmed\n")
      expect(bystander.exitCode).toBe(null)
      bystander.kill()
    }).pipe(Effect.provide(layer()))
  )

  it.live("that left something in the background does not wait for it", () =>
    Effect.gen(function* () {
      const started = Date.now()
      const outcome = yield* run("sleep 20 & echo done; echo $!")
      expect(Date.now() - started).toBeLessThan(5_000)
      expect(outcome.exitCode).toBe(0)
      expect(outcome.note).toContain("still runs")
      process.kill(Number(outcome.output.split("\n")[1]))
    }).pipe(Effect.provide(layer()))
  )
})

describe("the table of processes", () => {
  it.live.skipIf(!hasPs)("is the same by /proc and by ps", () =>
    Effect.gen(function* () {
      const text = execFileSync("ps", ["-A", "-o", "pid=,ppid=,pgid=,stat="], { encoding: "utf8" })
      const byPs = ProcessTable.parsePs(text).find((entry) => entry.pid === process.pid)
      const byProc = (yield* ProcessTable.list).find((entry) => entry.pid === process.pid)
      expect(byPs).toMatchObject({ parent: process.ppid })
      expect(byProc).toMatchObject({ parent: byPs?.parent, group: byPs?.group })
    })
  )
})
