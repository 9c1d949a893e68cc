/** The built command at a terminal, typed at by a script: Python has the pseudo-terminal that Node lacks. */
import { spawn } from "node:child_process"
import { tmpdir } from "node:os"
import process from "node:process"
import { plainEnvironment } from "../../../build/gateway.mjs"
import { command } from "./hermes.js"

export interface Step {
  /** What stands on the screen, after what the step before waited for. */
  readonly says: string
  /** What is typed then; or what happens. */
  readonly then: string | (() => Promise<unknown>)
}

export const keys = { down: "\u001b[B", up: "\u001b[A", enter: "\r", ctrlC: "\u0003" } as const

const onTerminal = `import os, pty, sys
status = pty.spawn(sys.argv[1:])
sys.exit(os.waitstatus_to_exitcode(status))`

const patienceMillis = 60_000
// The prompt listens from the moment on that it is drawn, not before.
const settleMillis = 120

const wait = (millis: number) => new Promise((resolve) => setTimeout(resolve, millis))

const colour = new RegExp(`${String.fromCharCode(27)}\\[[0-9;?]*[A-Za-z]`, "g")

export const type = (
  args: ReadonlyArray<string>,
  steps: ReadonlyArray<Step>,
  env: { readonly [name: string]: string } = {}
): Promise<{ readonly code: number | null; readonly screen: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn("python3", ["-c", onTerminal, process.execPath, command, ...args], {
      env: { ...plainEnvironment(), TERM: "xterm", COLUMNS: "200", ...env },
      cwd: tmpdir(),
      stdio: "pipe"
    })
    let screen = ""
    let read = 0
    let error: unknown = null
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      reject(new Error(`hermes ${args.join(" ")} did not end: ${screen}`))
    }, patienceMillis)
    const left = [...steps]
    let busy = false
    const go = async (): Promise<void> => {
      if (busy) return
      busy = true
      try {
        for (;;) {
          const [step] = left
          const place = step === undefined ? -1 : screen.indexOf(step.says, read)
          if (step === undefined || place === -1) break
          left.shift()
          read = place + step.says.length
          if (typeof step.then === "string") {
            await wait(settleMillis)
            child.stdin.write(step.then)
            await wait(settleMillis)
          } else await step.then()
        }
      } catch (thrown) {
        error = thrown
        child.kill("SIGKILL")
      }
      busy = false
    }
    child.stdout.on("data", (data: Buffer) => {
      screen += data.toString().replace(colour, "")
      void go()
    })
    child.stderr.on("data", (data: Buffer) => (screen += data.toString()))
    child.stdin.on("error", () => undefined)
    child.once("close", (code) => {
      clearTimeout(timer)
      if (error !== null) reject(error instanceof Error ? error : new Error(String(error)))
      else if (left.length > 0) reject(new Error(`it never said "${left[0]?.says}":\n${screen}`))
      else resolve({ code, screen })
    })
  })
