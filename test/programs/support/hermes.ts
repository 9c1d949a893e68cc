/** The built command as a person or a script runs it. */
import { Schema } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll, expect } from "vitest"
import { fresh } from "../../../build/fresh.mjs"
import { plainEnvironment } from "../../../build/gateway.mjs"

export const command = fileURLToPath(new URL("../../../dist/bin/hermes.js", import.meta.url))

export interface Ran {
  /** The exit code, or the signal that ended it. */
  readonly code: number | string | null
  readonly stdout: string
  readonly stderr: string
}

export interface Call {
  readonly env?: { readonly [name: string]: string }
  readonly input?: string
  /** The working directory. */
  readonly cwd?: string
  /** One after the other, when stdout has the text; stdin stays open until one ends it. */
  readonly steps?: ReadonlyArray<{ readonly says: string; readonly then: (child: ChildProcess) => void }>
}

const patienceMillis = 60_000

export const run = (args: ReadonlyArray<string>, call: Call = {}): Promise<Ran> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [command, ...args], {
      env: { ...plainEnvironment(), ...call.env },
      cwd: call.cwd ?? tmpdir(),
      stdio: "pipe"
    })
    const steps = [...(call.steps ?? [])]
    let [stdout, stderr] = ["", ""]
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      reject(new Error(`hermes ${args.join(" ")} did not end: ${stdout}${stderr}`))
    }, patienceMillis)
    child.stdout.on("data", (data: Buffer) => {
      stdout += data.toString()
      const [step] = steps
      if (step !== undefined && stdout.includes(step.says)) {
        steps.shift()
        step.then(child)
      }
    })
    child.stderr.on("data", (data: Buffer) => (stderr += data.toString()))
    child.stdin.on("error", () => undefined)
    if (call.input !== undefined) child.stdin.end(call.input)
    else if (call.steps === undefined) child.stdin.end()
    child.once("error", reject)
    child.once("close", (code, signal) => {
      clearTimeout(timer)
      resolve({ code: code ?? signal, stdout, stderr })
    })
  })

/** The one JSON document on stdout, and nothing else there. */
export const json = <A, I>(ran: Ran, schema: Schema.Schema<A, I>): A => {
  expect([ran.code, ran.stderr]).toEqual([0, ""])
  return Schema.decodeUnknownSync(Schema.parseJson(schema))(ran.stdout, { onExcessProperty: "error" })
}

/** A place for homes, gone after the file's tests; the command is built before the first. */
export const homes = (): ((name: string) => string) => {
  let folder = ""
  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "hermes-test-"))
    await fresh("bin")
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return (name) => path.join(folder, name)
}
