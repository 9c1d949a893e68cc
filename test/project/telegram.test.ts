/** `npm run telegram`: a person in a terminal writes to a bot, sees its words and presses its buttons. */
import { spawn, spawnSync } from "node:child_process"
import * as net from "node:net"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const tsx = path.join(root, "node_modules/tsx/dist/cli.mjs")

it("is a Telegram on this machine: what is typed reaches the bot, what it says and asks is shown, #1 presses", async () => {
  const child = spawn(process.execPath, [tsx, "build/telegram.ts", "0"], {
    cwd: root,
    stdio: ["pipe", "pipe", "inherit"]
  })
  try {
    let shown = ""
    const seen = (what: RegExp): Promise<ReadonlyArray<string>> =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = what.exec(shown)
          if (found !== null) resolve(found)
          else child.stdout.once("data", () => queueMicrotask(look))
        }
        look()
      })
    child.stdout.on("data", (data: Buffer) => (shown += data.toString("utf8")))
    const [, token = ""] = await seen(/TELEGRAM_BOT_TOKEN=(\S+)/)
    const [, apiRoot = ""] = await seen(/TELEGRAM_API_ROOT=(\S+)/)
    const bot = async (method: string, parameters: Readonly<Record<string, unknown>>): Promise<string> => {
      const answer = await fetch(`${apiRoot}/bot${token}/${method}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(parameters)
      })
      return answer.text()
    }
    child.stdin.write("hello\n")
    const written = await bot("getUpdates", { timeout: 20 })
    expect(written).toContain('"text":"hello"')
    const [, chat = "", update = ""] = [
      ...(/"chat":\{"id":(\d+)/.exec(written) ?? []),
      /"update_id":(\d+)/.exec(written)?.[1]
    ]
    await bot("sendMessage", {
      chat_id: Number(chat),
      text: "May I?",
      reply_markup: { inline_keyboard: [[{ text: "Approve", callback_data: "yes" }]] }
    })
    await seen(/bot: May I\?\n {2}\[#1 Approve\]/)
    child.stdin.write("#1\n")
    expect(await bot("getUpdates", { timeout: 20, offset: Number(update) + 1 })).toContain('"data":"yes"')
  } finally {
    child.kill()
  }
})

it("says how it is called, without a stack, to who asks for a port that is none or is taken", async () => {
  const called = (port: string) => {
    const { status, stderr } = spawnSync(process.execPath, [tsx, "build/telegram.ts", port], { cwd: root })
    return [status, stderr.toString("utf8")]
  }
  const usage = /^npm run telegram -- \[PORT\].*\n$/
  expect(called("--help")).toEqual([2, expect.stringMatching(usage)])
  expect(called("70000")).toEqual([2, expect.stringMatching(usage)])
  const taken = net.createServer()
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve))
  const address = taken.address()
  expect(called(String(typeof address === "string" ? address : address?.port))).toEqual([
    1,
    expect.stringMatching(/^the Telegram server on loopback did not start: .*\nnpm run telegram -- .*\n$/)
  ])
  taken.close()
})
