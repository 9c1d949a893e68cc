/**
 * The built gateway's main job, on a fresh home: it starts with the offline assistant, answers /health and one chat
 * completion, and ends with exit code 0 after SIGTERM.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath } from "node:url"

const command = fileURLToPath(new URL("../dist/bin/hermes.js", import.meta.url))

const freePort = () =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

/** Starts the gateway and waits until /health answers. */
const start = async (home, port) => {
  const began = performance.now()
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(HERMES|API_SERVER|TELEGRAM)_/.test(name)))
  const child = spawn(process.execPath, [command, "gateway", "run", "--home", home, "--port", String(port)], {
    env: { ...env, HERMES_MODEL_PROVIDER: "offline" },
    stdio: ["ignore", "inherit", "inherit"]
  })
  const ended = new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)))
  const answers = async () => {
    for (;;) {
      const health = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined)
      if (health?.ok) return { ready: performance.now() - began, health: await health.json() }
      if (performance.now() - began > 20_000) throw new Error("the gateway did not answer /health within 20 s")
      await sleep(5)
    }
  }
  const first = await Promise.race([answers(), ended.then((code) => ({ code }))])
  if ("code" in first) throw new Error(`the gateway ended with ${first.code} before it answered`)
  return { child, ended, ...first }
}

const home = mkdtempSync(path.join(tmpdir(), "hermes-smoke-"))
let gateway
try {
  const port = await freePort()
  gateway = await start(home, port)
  console.log(`/health after ${gateway.ready.toFixed(0)} ms:`, gateway.health)

  const key = /^API_SERVER_KEY=["']?([^"'\n]+)/m.exec(readFileSync(path.join(home, ".env"), "utf8"))?.[1]
  if (key === undefined) throw new Error("the first start wrote no API_SERVER_KEY to the home's .env")
  const completion = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "hermes", messages: [{ role: "user", content: "hello" }] }),
    signal: AbortSignal.timeout(20_000)
  })
  const body = await completion.json()
  const text = body.choices?.[0]?.message?.content
  if (!completion.ok || typeof text !== "string" || text === "") {
    throw new Error(`no answer: ${completion.status} ${JSON.stringify(body)}`)
  }
  console.log(`answer: ${text.split("\n")[0]}`)

  gateway.child.kill("SIGTERM")
  const code = await Promise.race([gateway.ended, sleep(40_000, "no exit within 40 s", { ref: false })])
  if (code !== 0) throw new Error(`exit after SIGTERM: ${code}`)
  console.log("smoke: ok")
} finally {
  gateway?.child.kill("SIGKILL")
  rmSync(home, { recursive: true, force: true })
}
