/** `hermes key rotate`: what the old key and the page's cookie are good for afterwards. */
import { appendFileSync, readFileSync, statSync } from "node:fs"
import path from "node:path"
import { expect, test } from "vitest"
import { startGateway } from "../../../build/gateway.mjs"
import { command, homes, run } from "../support/hermes.js"

const home = homes()

const keyOf = (directory: string): string =>
  /^API_SERVER_KEY=(.+)$/m.exec(readFileSync(path.join(directory, ".env"), "utf8"))?.[1] ?? ""

const status = async (url: string, headers: { readonly [name: string]: string }): Promise<number> =>
  (await fetch(`${url}/api/status`, { headers })).status

test("without a gateway the key is another; the rest of .env stays", async () => {
  const directory = home("alone")
  expect(await run(["key", "rotate", "--home", directory])).toMatchObject({ code: 1, stdout: "" })
  await run(["config", "check", "--home", directory])
  appendFileSync(path.join(directory, ".env"), "OPENAI_API_KEY=sk-mine # mine\n")
  const before = keyOf(directory)
  const refused = await run(["key", "rotate", "--home", directory], { env: { HERMES_SESSION_KEY: "k" } })
  expect(refused.stderr).toContain("for the owner")
  const elsewhere = await run(["key", "rotate", "--home", directory], { env: { API_SERVER_KEY: "given-by-systemd" } })
  expect([elsewhere.code, keyOf(directory)]).toEqual([1, before])
  const rotated = await run(["key", "rotate", "--json", "--home", directory])
  expect(JSON.parse(rotated.stdout)).toEqual({ file: path.join(directory, ".env"), restarted: false, url: null })
  expect(keyOf(directory)).toMatch(/^[\w-]{32}$/)
  expect(keyOf(directory)).not.toBe(before)
  expect(rotated.stdout).not.toContain(keyOf(directory))
  expect(readFileSync(path.join(directory, ".env"), "utf8")).toContain("OPENAI_API_KEY=sk-mine # mine\n")
  expect(statSync(path.join(directory, ".env")).mode & 0o777).toBe(0o600)
})

test("a running gateway starts again with it; then the old key and the page's cookie are refused", async () => {
  const directory = home("running")
  const first = await startGateway(command, directory, "ignore")
  const old = keyOf(directory)
  const exchanged = await fetch(`${first.url}/api/session/exchange`, {
    method: "POST",
    headers: { authorization: `Bearer ${old}` }
  })
  const [cookie = ""] = (exchanged.headers.get("set-cookie") ?? "").split(";")
  const cookieOn = (url: string) => ({ cookie: cookie.replace(/^hermes_\d+/, `hermes_${new URL(url).port}`) })
  expect(await status(first.url, cookieOn(first.url))).toBe(200)

  const refused = await run(["key", "rotate", "--home", directory])
  expect([refused.code, keyOf(directory)]).toEqual([1, old])
  expect(refused.stderr).toContain("--restart")

  // Somebody starts it again, as the service does.
  const rotating = run(["key", "rotate", "--restart", "--home", directory])
  while (
    await fetch(`${first.url}/health`).then(
      () => true,
      () => false
    )
  )
    await new Promise((resolve) => setTimeout(resolve, 50))
  const second = await startGateway(command, directory, "ignore")
  try {
    expect(await rotating).toMatchObject({ code: 0 })
    expect((await rotating).stdout).toContain(second.url)
    const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
    expect(keyOf(directory)).not.toBe(old)
    expect(await status(second.url, bearer(keyOf(directory)))).toBe(200)
    expect(await status(second.url, bearer(old))).toBe(401)
    expect(await status(second.url, cookieOn(second.url))).toBe(401)
  } finally {
    await second.stop()
    await first.stop()
  }
})
