/** What a command says to a pipe, which holds 64 KB and more only when somebody reads. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdirSync, writeFileSync } from "node:fs"
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

describe("a long answer in a pipe", () => {
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

  test("is over when its reader has seen enough, and by a signal", async () => {
    const closed = await waiting("jobs", "cron", "export")
    closed.child.stdout.destroy()
    expect(await closed.ended).toEqual([0, null])
    const stopped = await waiting("jobs", "cron", "export")
    stopped.child.kill("SIGINT")
    expect(await stopped.ended).toEqual([1, null])
  })
})
