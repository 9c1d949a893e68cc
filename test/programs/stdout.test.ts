/** What a command says to a pipe, which holds 64 KB and more only when somebody reads, and to a disk that is full. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs"
import path from "node:path"
import process from "node:process"
import { text } from "node:stream/consumers"
import { beforeAll, describe, expect, test } from "vitest"
import { plainEnvironment } from "../../build/gateway.mjs"
import { command, homes, run } from "./support/hermes.js"

const home = homes()
const prompts = Array.from({ length: 100 }, (_, index) => `job ${index} ${"x".repeat(10_000)} end`)

/** The command, with its words in a pipe that is not read yet. */
const waiting = async (name: string, ...words: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, [command, ...words, "--home", home(name)], {
    env: plainEnvironment(),
    stdio: ["ignore", "pipe", "inherit"]
  })
  const ended = once(child, "exit")
  await once(child.stdout, "readable")
  return { child, ended }
}

/** The command with its words in a file; what is on stderr, and how it ended. */
const into = async (file: string, ...words: ReadonlyArray<string>) => {
  const out = openSync(file, "w")
  try {
    const child = spawn(process.execPath, [command, ...words, "--home", home("jobs")], {
      env: plainEnvironment(),
      stdio: ["ignore", out, "pipe"]
    })
    if (child.stderr === null) throw new Error("stderr is a pipe")
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "exit")])
    return { code, stderr }
  } finally {
    closeSync(out)
  }
}

describe("a long answer", () => {
  beforeAll(async () => {
    mkdirSync(home("jobs"), { recursive: true })
    const file = path.join(home("jobs"), "jobs.yaml")
    const jobs = prompts.map((prompt, index) => ({ name: `job ${index}`, schedule: "every 1d", prompt }))
    writeFileSync(file, JSON.stringify({ version: 1, jobs }))
    expect(await run(["cron", "import", file, "--home", home("jobs")])).toMatchObject({ code: 0 })
  })

  test("comes whole to a reader that takes its time", async () => {
    const { child, ended } = await waiting("jobs", "cron", "export")
    const exported = await text(child.stdout)
    expect(prompts.filter((prompt) => !exported.includes(prompt))).toEqual([])
    expect(await ended).toEqual([0, null])
  })

  test("is whole in a file, and is told of where the disk cannot take it", async () => {
    const file = path.join(home("jobs"), "exported.yaml")
    expect(await into(file, "cron", "export")).toEqual({ code: 0, stderr: "" })
    expect(prompts.filter((prompt) => !readFileSync(file, "utf8").includes(prompt))).toEqual([])
    for (const words of [
      ["cron", "export"],
      ["sessions", "list"],
      ["--json", "cron", "list"]
    ])
      expect(await into("/dev/full", ...words)).toEqual({
        code: 1,
        stderr: "hermes: the answer could not be written whole: no space is left where it goes\n"
      })
  })

  test("is over when its reader has seen enough, and by a signal", async () => {
    const closed = await waiting("jobs", "cron", "export")
    closed.child.stdout.destroy()
    expect(await closed.ended).toEqual([0, null])
    const stopped = await waiting("jobs", "cron", "export")
    stopped.child.kill("SIGINT")
    expect(await stopped.ended).toEqual([1, null])
  })
})
