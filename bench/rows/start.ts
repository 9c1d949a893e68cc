/** How soon the built command is there, and what it takes while it rests. */
import { spawnSync } from "node:child_process"
import { setTimeout as sleep } from "node:timers/promises"
import { command, end, memoryOf, startBare, startGateway } from "../gateway.js"
import { type Context, type Family, median, type Row } from "../harness.js"
import { startWorld } from "../world/contestants.js"

const bare = async (context: Context): Promise<number> => {
  const { child, ready } = await startBare(context.folder)
  await end(child, "SIGKILL")
  return ready
}

const spawnToHealth = async (context: Context): Promise<ReadonlyArray<Row>> => {
  const figures = { ours: [] as Array<number>, whole: [] as Array<number>, bare: [] as Array<number> }
  for (let round = 0; round < (context.quick ? 3 : 7); round += 1) {
    figures.bare.push(await bare(context))
    const gateway = await startGateway(context.folder)
    figures.ours.push(gateway.ready)
    figures.whole.push(gateway.whole)
    await gateway.stop()
  }
  const [ours, floor] = [median(figures.ours), median(figures.bare)]
  const beside = [{ name: "bare node:http with the database open", value: floor }]
  return [
    {
      what: "spawn of the built gateway on a new home → /health answers",
      unit: "ms",
      ours,
      beside,
      memory: null,
      target: { words: "≤ 3 × bare, < 350 ms (OpenClaw 10–20 s)", met: ours <= 3 * floor && ours < 350 }
    },
    {
      what: "the same → everything else answers (it waits while /health says `starting`)",
      unit: "ms",
      ours: median(figures.whole),
      beside,
      memory: null,
      target: { words: "–", met: null }
    }
  ]
}

const commandRow = (context: Context, args: ReadonlyArray<string>, most: number): Row => {
  const timed = (words: ReadonlyArray<string>): number => {
    const began = performance.now()
    spawnSync(process.execPath, words, { stdio: "ignore", env: { PATH: process.env["PATH"], HOME: context.folder } })
    return performance.now() - began
  }
  const figures = { ours: [] as Array<number>, bare: [] as Array<number> }
  for (let round = 0; round < (context.quick ? 3 : 9); round += 1) {
    figures.bare.push(timed(["-e", "0"]))
    figures.ours.push(timed([command, ...args]))
  }
  const ours = median(figures.ours)
  return {
    what: `\`hermes ${args.join(" ")}\``,
    unit: "ms",
    ours,
    beside: [{ name: "`node -e 0`", value: median(figures.bare) }],
    memory: null,
    target: { words: `< ${most} ms`, met: ours < most }
  }
}

const memoryAtRest = async (context: Context): Promise<Row> => {
  const world = await startWorld()
  const gateway = await startGateway(context.folder, {
    TELEGRAM_BOT_TOKEN: world.token,
    TELEGRAM_API_ROOT: world.root,
    TELEGRAM_ALLOWED_USERS: "*"
  })
  const seconds = context.quick ? 10 : 60
  await sleep(seconds * 1000)
  const memory = memoryOf(gateway.child)
  await gateway.stop()
  world.end()
  return {
    what: `resident memory ${seconds} s after ready, provider offline, Telegram configured`,
    unit: "MB",
    ours: memory,
    beside: [],
    memory,
    target: { words: "< 100 MB (OpenClaw 860 MB)", met: memory < 100 }
  }
}

export default {
  title: "Start and rest",
  run: async (context) => [
    ...(await spawnToHealth(context)),
    commandRow(context, ["--version"], 250),
    commandRow(context, ["status"], 350),
    await memoryAtRest(context)
  ]
} satisfies Family
