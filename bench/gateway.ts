/** The built command on a home of its own, and what one sees of a process from outside. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync } from "node:fs"
import http from "node:http"
import { createServer } from "node:net"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("..", import.meta.url))
export const command = path.join(root, "dist", "bin", "hermes.js")

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** Resident memory in MB. */
export const memoryOf = (child: ChildProcess): number => {
  const status = `/proc/${child.pid}/status`
  const kilobytes = existsSync(status)
    ? /VmRSS:\s+(\d+)/.exec(readFileSync(status, "utf8"))?.[1]
    : execFileSync("ps", ["-o", "rss=", "-p", String(child.pid)], { encoding: "utf8" })
  return Number(kilobytes) / 1024
}

/** Seconds of CPU used so far, in steps of 10 ms; NaN where the system does not say. */
export const cpuOf = (child: ChildProcess): number => {
  const file = `/proc/${child.pid}/stat`
  if (!existsSync(file)) return Number.NaN
  const text = readFileSync(file, "utf8")
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Ends a process and waits until it is gone. */
export const end = async (child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once("exit", resolve))
  child.kill(signal)
  if (await Promise.race([gone.then(() => true), sleep(10_000, false, { ref: false })])) return
  child.kill("SIGKILL")
  await gone
}

const answers = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const request = http.get(url, { agent: false }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode === 200))
    })
    request.on("error", () => resolve(false))
  })

/** Milliseconds from `began` until `url` answers; fails when the process ends before or after 30 s. */
export const answered = async (child: ChildProcess, url: string, began: number): Promise<number> => {
  while (!(await answers(url))) {
    if (child.exitCode !== null) throw new Error(`a process ended with ${child.exitCode} before it answered`)
    if (performance.now() - began > 30_000) throw new Error(`no answer from ${url} within 30 s`)
    await sleep(2)
  }
  return performance.now() - began
}

export interface Gateway {
  readonly child: ChildProcess
  readonly url: string
  readonly home: string
  /** Of the home's API. */
  readonly key: () => string
  /** From spawn to the first answer of /health, in milliseconds. */
  readonly ready: number
  /** From spawn to the first answer of the page, as of everything else that waits for the whole gateway. */
  readonly whole: number
  readonly stop: () => Promise<void>
}

/**
 * Starts the built gateway on a fresh home and waits until it answers. `PROFILE=folder` in the bench's environment
 * makes it write a CPU profile there when it ends.
 */
export const startGateway = async (
  folder: string,
  environment: { readonly [name: string]: string } = {}
): Promise<Gateway> => {
  const home = path.join(mkdtempSync(path.join(folder, "gateway-")), "home")
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const profile = process.env["PROFILE"]
  const [file = command, ...options] =
    profile === undefined ? [] : [process.execPath, "--cpu-prof", `--cpu-prof-dir=${profile}`, command]
  const began = performance.now()
  const child = spawn(file, [...options, "gateway", "run", "--home", home, "--port", String(port)], {
    stdio: ["ignore", "ignore", process.env["DEBUG"] === undefined ? "ignore" : "inherit"],
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      HERMES_GATEWAY_LOCK_DIR: path.join(home, "..", "locks"),
      HERMES_MODEL_PROVIDER: "offline",
      ...environment
    }
  })
  const ready = await answered(child, `${url}/health`, began)
  const whole = await answered(child, `${url}/`, began)
  const key = (): string =>
    /^API_SERVER_KEY=["']?([^"'\n]+)/m.exec(readFileSync(path.join(home, ".env"), "utf8"))?.[1] ?? ""
  return { child, url, home, key, ready, whole, stop: () => end(child) }
}

/** The least that a gateway could be, on a database of its own, as soon as it answers. */
export const startBare = async (
  folder: string
): Promise<{ readonly child: ChildProcess; readonly url: string; readonly ready: number }> => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const began = performance.now()
  const file = fileURLToPath(new URL("world/bareServer.mjs", import.meta.url))
  const child = spawn(process.execPath, [file, String(port), path.join(folder, `bare-${port}.db`)], { stdio: "ignore" })
  return { child, url, ready: await answered(child, `${url}/health`, began) }
}
