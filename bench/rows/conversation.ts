/** What a message costs before the model hears of it, many conversations that begin at once, and turns for a long time. */
import { cpuOf, memoryOf } from "../gateway.js"
import { type Context, type Family, median, quantile, type Row } from "../harness.js"
import { among, type Contestant, type Kind } from "../world/contestants.js"

const named = (contestants: ReadonlyArray<Contestant>, kind: Kind): Contestant => {
  const found = contestants.find((one) => one.kind === kind)
  if (found === undefined) throw new Error(`${kind} did not start`)
  return found
}

/** Through a chat-completions server on loopback, one at a time: durable, everything on. */
const untilTheModel = (context: Context): Promise<ReadonlyArray<Row>> =>
  among(
    ["durable", "hermes"],
    context,
    async (contestants) => {
      const figures = { hermes: [] as Array<ReadonlyArray<number>>, durable: [] as Array<ReadonlyArray<number>> }
      for (let round = 0; round < (context.quick ? 1 : 3); round += 1)
        for (const kind of ["hermes", "durable"] as const) {
          const { modelMillis } = await named(contestants, kind).ask({
            count: context.quick ? 200 : 500,
            inFlight: 1,
            people: 50
          })
          figures[kind].push(modelMillis)
        }
      const at = (kind: "hermes" | "durable", share: number): number =>
        median(figures[kind].map((millis) => quantile(millis, share)))
      const row = (share: number, most: number): Row => ({
        what: `inbound Telegram event → request at the model, p${share * 100}`,
        unit: "ms",
        ours: at("hermes", share),
        beside: [{ name: "durable bot", value: at("durable", share) }],
        memory: null,
        target: { words: `< ${most} ms (OpenClaw 350 ms)`, met: at("hermes", share) < most }
      })
      return [row(0.5, 4), row(0.99, 12)]
    },
    true
  )

const newSessions = async (contestants: ReadonlyArray<Contestant>, context: Context): Promise<Row> => {
  const took = { hermes: [] as Array<number>, durable: [] as Array<number> }
  let unanswered = 0
  for (let round = 1; round <= (context.quick ? 1 : 3); round += 1)
    for (const kind of ["hermes", "durable"] as const) {
      const result = await named(contestants, kind).ask({ count: 50, people: 50, from: 10_000 * round })
      took[kind].push(result.tookMillis)
      if (kind === "hermes") unanswered += result.unanswered
    }
  const ours = median(took.hermes)
  return {
    what: "50 new sessions at once, all answered",
    unit: "ms",
    ours,
    beside: [{ name: "durable bot", value: median(took.durable) }],
    memory: null,
    target: { words: "< 1,500 ms (OpenClaw 28 s)", met: unanswered === 0 && ours < 1_500 },
    ...(unanswered === 0 ? {} : { note: `${unanswered} were not answered` })
  }
}

/** 20,000 messages by 200 people, each waiting for the answer before writing again. */
const sustained = async (contestants: ReadonlyArray<Contestant>, context: Context): Promise<ReadonlyArray<Row>> => {
  const hermes = named(contestants, "hermes")
  const blocks = context.quick ? 3 : 10
  const block = { count: context.quick ? 1_000 : 2_000, inFlight: 200, people: 200 }
  const rates: Array<number> = []
  const memory: Array<number> = []
  const before = cpuOf(hermes.process)
  let lost = 0
  let took = 0
  let floor: ReadonlyArray<number> = []
  for (let round = 0; round < blocks; round += 1) {
    const { millis, tookMillis, unanswered } = await hermes.ask(block)
    rates.push((millis.length / tookMillis) * 1000)
    took += tookMillis
    lost += unanswered
    memory.push(memoryOf(hermes.process))
    if (round % 5 === 0) {
      const raw = await named(contestants, "batch").ask(block)
      floor = [...floor, (raw.millis.length / raw.tookMillis) * 1000]
    }
  }
  const turns = blocks * block.count
  const rate = (turns - lost) / (took / 1000)
  const half = Math.floor(blocks / 2)
  const [early, late] = [Math.max(...memory.slice(0, half)), Math.max(...memory.slice(half))]
  const micros = ((cpuOf(hermes.process) - before) / turns) * 1e6
  return [
    {
      what: `durable turns per second over ${turns.toLocaleString("en")} turns, through Telegram`,
      unit: "/s",
      ours: rate,
      beside: [{ name: "raw bot, grouped commits", value: median(floor) }],
      memory: memory.at(-1) ?? null,
      target: { words: "≥ 800/s", met: lost === 0 && rate >= 800 },
      note: `${Math.round(micros)} µs of CPU a turn; slowest tenth ${Math.round(Math.min(...rates))}/s${lost === 0 ? "" : `; ${lost} not answered`}`
    },
    {
      what: "memory of the second half of these turns over the first half, most",
      unit: "×",
      ours: late / early,
      beside: [],
      memory: late,
      target: { words: "flat: ≤ 1.1 ×", met: late / early <= 1.1 }
    }
  ]
}

export default {
  title: "Conversations",
  run: async (context) => [
    ...(await untilTheModel(context)),
    ...(await among(["durable", "batch", "hermes"], context, async (contestants) => [
      await newSessions(contestants, context),
      ...(await sustained(contestants, context))
    ]))
  ]
} satisfies Family
