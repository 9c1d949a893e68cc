/** Bots in a world of their own: ours, and those that are measured beside it. */
import { type ChildProcess, fork, spawn } from "node:child_process"
import { mkdtempSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { end, startGateway } from "../gateway.js"
import type { Context } from "../harness.js"
import { installed } from "./peers.js"
import type { Order, Result } from "./world.js"

/** hermes is ours; see bots.mjs for the others. */
export const kinds = ["hermes", "raw", "durable", "batch", "grammy", "runner", "telegraf"] as const
export type Kind = (typeof kinds)[number]

const here = path.dirname(fileURLToPath(import.meta.url))

export interface Contestant {
  readonly kind: Kind
  readonly process: ChildProcess
  readonly ask: (order: Order) => Promise<Result>
  readonly end: () => Promise<void>
}

const next = <A>(child: ChildProcess): Promise<A> =>
  new Promise((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`a process of the bench ended with ${code}`))
    child.once("exit", onExit)
    child.once("message", (message) => {
      child.off("exit", onExit)
      resolve(message as A)
    })
  })

interface Place {
  readonly root: string
  readonly token: string
}

/** The world in a process of its own. */
export const startWorld = async (): Promise<Place & Pick<Contestant, "ask"> & { readonly end: () => void }> => {
  const world = fork(path.join(here, "world.ts"), { execArgv: ["--import", "tsx"] })
  const place = await next<Place>(world)
  return {
    ...place,
    ask: (order) => {
      const result = next<Result>(world)
      world.send(order)
      return result
    },
    end: () => world.disconnect()
  }
}

/** `model`: asks a chat-completions server for each answer; else an echo in memory. */
const startBot = async (kind: Kind, { root, token }: Place, context: Context, model: boolean) => {
  if (kind === "hermes") {
    const gateway = await startGateway(context.folder, {
      HERMES_LOG_LEVEL: "warning",
      HERMES_GATEWAY_BUSY_INPUT_MODE: "queue",
      HERMES_MODEL_TITLES: "false",
      TELEGRAM_BOT_TOKEN: token,
      TELEGRAM_API_ROOT: root,
      TELEGRAM_ALLOWED_USERS: "*",
      ...(model
        ? { HERMES_MODEL_PROVIDER: "openai-compatible", HERMES_MODEL: "instant", HERMES_MODEL_BASE_URL: `${root}/v1` }
        : { HERMES_MODEL_PROVIDER: "scripted", HERMES_MODEL: "echo" })
    })
    return gateway.child
  }
  const folder = mkdtempSync(path.join(context.folder, `${kind}-`))
  return spawn(
    process.execPath,
    [path.join(here, "bots.mjs"), kind, root, token, folder, ...(model ? [`${root}/v1`] : [])],
    { stdio: ["ignore", "ignore", "inherit"] }
  )
}

/** Starts a bot, and lets some hundred messages through so that the compiler has seen all of it. */
export const start = async (kind: Kind, context: Context, model = false): Promise<Contestant> => {
  const world = await startWorld()
  const bot = await startBot(kind, world, context, model)
  const { ask } = world
  const stop = async (): Promise<void> => {
    await end(bot, kind === "hermes" && process.env["PROFILE"] !== undefined ? "SIGTERM" : "SIGKILL")
    world.end()
  }
  const warm = await ask({ count: context.quick ? 400 : 2_000, inFlight: 16, people: 50 })
  if (warm.unanswered === 0) return { kind, process: bot, ask, end: stop }
  await stop()
  throw new Error(`${kind} left ${warm.unanswered} of its first messages unanswered`)
}

/** Those that can be started here. */
export const available = (wanted: ReadonlyArray<Kind>, context: Context): ReadonlyArray<Kind> => {
  const needed: ReadonlyArray<Kind> = wanted.filter((kind) => kind === "runner" || kind === "telegraf")
  return needed.length === 0 || installed(context, needed.join(" and "))
    ? wanted
    : wanted.filter((kind) => !needed.includes(kind))
}

/** Starts all, runs `use`, and ends all whatever happens. */
export const among = async <A>(
  wanted: ReadonlyArray<Kind>,
  context: Context,
  use: (contestants: ReadonlyArray<Contestant>) => Promise<A>,
  model = false
): Promise<A> => {
  const started: Array<Contestant> = []
  try {
    for (const kind of available(wanted, context)) started.push(await start(kind, context, model))
    return await use(started)
  } finally {
    for (const contestant of started) await contestant.end()
  }
}
