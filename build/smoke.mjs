/**
 * The built gateway's main job, on a fresh home: it starts with the offline assistant, answers /health and one chat
 * completion, and ends with exit code 0 after SIGTERM.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { fresh } from "./fresh.mjs"
import { startGateway } from "./gateway.mjs"

await fresh("bin", "page")
const home = mkdtempSync(path.join(tmpdir(), "hermes-smoke-"))
const gateway = await startGateway(fileURLToPath(new URL("../dist/bin/hermes.js", import.meta.url)), home, "inherit")
console.log(`/health after ${gateway.ready.toFixed(0)} ms:`, gateway.health)

const converse = async () => {
  const key = /^API_SERVER_KEY=["']?([^"'\n]+)/m.exec(readFileSync(path.join(home, ".env"), "utf8"))?.[1]
  if (key === undefined) throw new Error("the first start wrote no API_SERVER_KEY to the home's .env")
  const completion = await fetch(`${gateway.url}/v1/chat/completions`, {
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
}

const problem = await converse().then(
  () => undefined,
  (error) => error
)
const code = await gateway.stop()
rmSync(home, { recursive: true, force: true })
if (problem !== undefined) throw problem
if (code !== 0) throw new Error(`exit after SIGTERM: ${code}`)
console.log("smoke: ok")
