/**
 * From a Telegram message to its answer, over loopback, beside bare bots and bot frameworks in the same run: one at a
 * time, at 200 a second, and all at once. Ours is the built gateway with everything on (durable, FULL) and an echoing
 * model in memory.
 *
 * Usage: npx tsx bench/chat/run.ts [KIND…]     (hermes raw durable batch grammy runner telegraf; `npm run build` before,
 *        `npm ci --prefix bench/chat/peers` for runner and telegraf)
 * ROUNDS=5 COUNT=300: repetitions, of which the median is shown, and messages of each.
 */
import { type ChildProcess, fork, spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import type { Order, Result } from "./server.js"

const here = path.dirname(fileURLToPath(import.meta.url))
const root = path.join(here, "..", "..")
const command = path.join(root, "dist", "bin", "hermes.js")
const rounds = Number(process.env["ROUNDS"] ?? 5)
const count = Number(process.env["COUNT"] ?? 300)
const kinds = ["hermes", "raw", "durable", "batch", "grammy", "runner", "telegraf"] as const
type Kind = (typeof kinds)[number]

const folder = mkdtempSync(path.join(tmpdir(), "hermes-bench-chat-"))

const next = <A>(child: ChildProcess): Promise<A> =>
  new Promise((resolve, reject) => {
    child.once("message", (message) => resolve(message as A))
    child.once("exit", (code) => reject(new Error(`a process of the bench ended with ${code}`)))
  })

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const quantile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}
const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)

const installed = (kind: Kind): string | null =>
  kind === "hermes"
    ? existsSync(command)
      ? null
      : "not built: npm run build"
    : (kind === "runner" || kind === "telegraf") && !existsSync(path.join(here, "peers", "node_modules"))
      ? "not installed: npm ci --prefix bench/chat/peers"
      : null

/** The gateway of a fresh home, open to everybody, that answers each message in its turn. */
const startHermes = async (api: { readonly apiRoot: string; readonly token: string }): Promise<ChildProcess> =>
  spawn(process.execPath, [command, "gateway", "run"], {
    stdio: ["ignore", "ignore", process.env["DEBUG"] === undefined ? "ignore" : "inherit"],
    env: {
      PATH: process.env["PATH"],
      HOME: folder,
      HERMES_HOME: path.join(folder, "home"),
      HERMES_GATEWAY_LOCK_DIR: path.join(folder, "locks"),
      HERMES_LOG_LEVEL: "warning",
      HERMES_MODEL_PROVIDER: "scripted",
      HERMES_MODEL: "echo",
      HERMES_GATEWAY_BUSY_INPUT_MODE: "queue",
      API_SERVER_PORT: String(await freePort()),
      TELEGRAM_BOT_TOKEN: api.token,
      TELEGRAM_API_ROOT: api.apiRoot,
      TELEGRAM_ALLOWED_USERS: "*"
    }
  })

const startPeer = (kind: Kind, api: { readonly apiRoot: string; readonly token: string }): ChildProcess =>
  spawn(
    process.execPath,
    [path.join(here, "bots.mjs"), kind, api.apiRoot, api.token, mkdtempSync(path.join(folder, kind))],
    {
      stdio: ["ignore", "ignore", "inherit"]
    }
  )

interface Contestant {
  readonly kind: Kind
  readonly bot: ChildProcess
  readonly ask: (order: Order) => Promise<Result>
  readonly end: () => void
}

const start = async (kind: Kind): Promise<Contestant> => {
  const server = fork(path.join(here, "server.ts"), { execArgv: ["--import", "tsx"] })
  const api = await next<{ readonly apiRoot: string; readonly token: string }>(server)
  const bot = kind === "hermes" ? await startHermes(api) : startPeer(kind, api)
  const ask = (order: Order): Promise<Result> => {
    const result = next<Result>(server)
    server.send(order)
    return result
  }
  const warm = await ask({ kind: "paced", count: 400, perSecond: 200 })
  if (warm.unanswered > 0) throw new Error(`${kind} left ${warm.unanswered} of 400 messages unanswered`)
  return {
    kind,
    bot,
    ask,
    end: () => {
      bot.kill("SIGKILL")
      server.disconnect()
    }
  }
}

const megabytes = (bot: ChildProcess): number => {
  const status = existsSync(`/proc/${bot.pid}/status`) ? readFileSync(`/proc/${bot.pid}/status`, "utf8") : ""
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024
}

interface Figures {
  readonly one50: Array<number>
  readonly one99: Array<number>
  readonly paced50: Array<number>
  readonly paced99: Array<number>
  readonly perSecond: Array<number>
}

const wanted = process.argv.slice(2).filter((name): name is Kind => kinds.some((kind) => kind === name))
const figures = new Map<Kind, Figures>()
const contestants: Array<Contestant> = []
for (const kind of wanted.length === 0 ? kinds : wanted) {
  const problem = installed(kind)
  if (problem !== null) console.log(`${kind}: ${problem}`)
  else {
    contestants.push(await start(kind))
    figures.set(kind, { one50: [], one99: [], paced50: [], paced99: [], perSecond: [] })
  }
}

/** Interleaved, so that what else the machine does strikes all alike. */
for (let round = 0; round < rounds; round += 1) {
  for (const { kind, ask } of contestants) {
    const own = figures.get(kind)!
    const one = await ask({ kind: "closed", count })
    own.one50.push(quantile(one.millis, 0.5))
    own.one99.push(quantile(one.millis, 0.99))
    const paced = await ask({ kind: "paced", count: 4 * 200, perSecond: 200 })
    own.paced50.push(quantile(paced.millis, 0.5))
    own.paced99.push(quantile(paced.millis, 0.99))
    const flood = await ask({ kind: "flood", count: 1_000 })
    own.perSecond.push(((1_000 - flood.unanswered) / flood.tookMillis) * 1000)
    const missing = one.unanswered + paced.unanswered + flood.unanswered
    if (missing > 0) console.log(`${kind}: ${missing} unanswered in round ${round}`)
  }
}

const ours = figures.get("hermes")
const show = (value: number): string => value.toFixed(2).padStart(9)
console.log(`\nmillis; median of ${rounds} rounds; in brackets ours / theirs`)
console.log("kind        one p50  one p99  200/s p50  200/s p99   flood/s     RSS MB")
for (const { kind, bot } of contestants) {
  const own = figures.get(kind)!
  const cells = (["one50", "one99", "paced50", "paced99", "perSecond"] as const).map((name) => {
    const ratio =
      ours === undefined || kind === "hermes" ? "" : ` (${(median(ours[name]) / median(own[name])).toFixed(1)})`
    return show(median(own[name])) + ratio
  })
  console.log(kind.padEnd(9), ...cells, show(megabytes(bot)))
}
for (const contestant of contestants) contestant.end()
rmSync(folder, { recursive: true, force: true })
process.exit(0)
