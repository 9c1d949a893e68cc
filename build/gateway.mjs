/** Runs the built gateway on a home of its own, for the build and the smoke test. */
import { spawn } from "node:child_process"
import { createServer } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** The environment without what would configure the gateway. */
export const plainEnvironment = () =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(HERMES|API_SERVER|TELEGRAM|ANTHROPIC|OPENAI)_/.test(name))
  )

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

/**
 * Starts the gateway with the offline assistant and waits until /health says that it is there, 20 s at most.
 *
 * @returns url, health (its body), ready (ms from spawn to that answer), stop (SIGTERM; resolves with the exit code)
 */
export const startGateway = async (command, home, stdio) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const began = performance.now()
  const child = spawn(process.execPath, [command, "gateway", "run", "--home", home, "--port", String(port)], {
    env: { ...plainEnvironment(), HERMES_MODEL_PROVIDER: "offline" },
    stdio: ["ignore", stdio, stdio]
  })
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)))
  let exit
  void ended.then((code) => (exit = code))
  for (;;) {
    const answer = await fetch(`${url}/health`).catch(() => undefined)
    const health = answer?.ok ? await answer.json() : undefined
    if (health?.status === "ok") {
      const stop = async () => {
        child.kill("SIGTERM")
        const code = await Promise.race([ended, sleep(40_000, "no exit within 40 s", { ref: false })])
        child.kill("SIGKILL")
        return code
      }
      return { url, health, ready: performance.now() - began, stop }
    }
    if (exit !== undefined) throw new Error(`the gateway ended with ${exit} before it answered`)
    if (performance.now() - began > 20_000) {
      child.kill("SIGKILL")
      throw new Error("the gateway did not answer /health within 20 s")
    }
    await sleep(3)
  }
}
