/** What the next instant of a schedule costs, and how soon jobs are listed and made. */
import { CronExpressionParser } from "cron-parser"
import { Cron } from "croner"
import { spawnSync } from "node:child_process"
import http from "node:http"
import { text } from "node:stream/consumers"
import { Either } from "effect"
import * as EffectCron from "effect/Cron"
import * as CronExpression from "../../src/services/schedule/CronExpression.js"
import * as Schedule from "../../src/services/schedule/Schedule.js"
import { command, end, startBare, startGateway } from "../gateway.js"
import { type Context, type Family, median, type Row } from "../harness.js"

const expressions = [
  "* * * * *",
  "*/5 * * * *",
  "*/15 * * * *",
  "0 * * * *",
  "30 8 * * 1-5",
  "0 9 * * *",
  "15 14 1 * *",
  "0 22 * * 1-5",
  "5 4 * * 0",
  "0 0 1 */3 *"
]
const count = 10_000
const base = Date.UTC(2026, 10, 29, 12, 0, 30)
const at = (index: number): number => base + index * 7_919 * 1_000
let sink = 0

/** Microseconds a call, the median of some rounds after one to warm up. */
const micros = (rounds: number, calls: number, call: (index: number) => number): number => {
  const figures: Array<number> = []
  for (let round = 0; round <= rounds; round += 1) {
    const began = performance.now()
    for (let index = 0; index < calls; index += 1) sink += call(index)
    if (round > 0) figures.push(((performance.now() - began) * 1_000) / calls)
  }
  return median(figures)
}

const of = <A>(list: ReadonlyArray<A>, index: number): A => {
  const found = list[index % list.length]
  if (found === undefined) throw new Error("nothing to take from")
  return found
}

const nextIn = (timezone: string, context: Context): Row => {
  const rounds = context.quick ? 3 : 9
  const few = context.quick ? 500 : 2_000
  const ours = expressions.map((expression): Schedule.Schedule => ({
    kind: "cron",
    expression,
    timezone,
    ownZone: true
  }))
  const bits = expressions.map((expression) => Either.getOrThrow(CronExpression.parse(expression)))
  const croners = expressions.map((expression) => new Cron(expression, { timezone, paused: true }))
  const effects = expressions.map((expression) => EffectCron.unsafeParse(expression, timezone))
  const figure = micros(rounds, count, (index) => Schedule.next(of(ours, index), at(index)) ?? 0)
  return {
    what: `next instant of ten expressions in ${timezone}, warm`,
    unit: "µs",
    ours: figure,
    beside: [
      {
        name: "our bitset without a zone",
        value: micros(rounds, count, (index) => CronExpression.next(of(bits, index), at(index) / 1_000) ?? 0)
      },
      {
        name: "croner",
        value: micros(
          2,
          few,
          (index) =>
            of(croners, index)
              .nextRun(new Date(at(index)))
              ?.getTime() ?? 0
        )
      },
      {
        name: "Effect Cron",
        value: micros(2, few, (index) => EffectCron.next(of(effects, index), new Date(at(index))).getTime())
      },
      {
        name: "cron-parser (parses each time)",
        value: micros(2, few, (index) =>
          CronExpressionParser.parse(of(expressions, index), { currentDate: at(index), tz: timezone })
            .next()
            .getTime()
        )
      }
    ],
    memory: null,
    target: { words: "≤ 1 µs", met: figure <= 1 }
  }
}

/** One call after the other on one connection, by the client of Node that costs least: what is measured is the server. */
const poster = (url: string, authorization: string) => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 })
  const post = (body: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const headers = { authorization, "content-type": "application/json", "content-length": Buffer.byteLength(body) }
      http
        .request(`${url}/api/jobs`, { method: "POST", headers, agent }, (response) => {
          text(response).then(
            (answer) => (response.statusCode === 201 ? resolve() : reject(new Error(`a job was not made: ${answer}`))),
            reject
          )
        })
        .on("error", reject)
        .end(body)
    })
  return { post, close: () => agent.destroy() }
}

const jobBody = (name: string): string => JSON.stringify({ name, schedule: "every 1d at 09:00", prompt: "say: hello" })

/** Milliseconds of each hundred of some jobs, made one after the other. */
const hundreds = async (rounds: number, post: (body: string) => Promise<void>): Promise<ReadonlyArray<number>> => {
  const figures: Array<number> = []
  for (let round = 0; round < rounds; round += 1) {
    const began = performance.now()
    for (let index = 0; index < 100; index += 1) await post(jobBody(`job ${round} ${index}`))
    figures.push(performance.now() - began)
  }
  return figures
}

const bareHundreds = async (context: Context, rounds: number): Promise<ReadonlyArray<number>> => {
  const { child, url } = await startBare(context.folder)
  const client = poster(url, "")
  try {
    return await hundreds(rounds, client.post)
  } finally {
    client.close()
    await end(child, "SIGKILL")
  }
}

const jobs = async (context: Context): Promise<ReadonlyArray<Row>> => {
  const rounds = context.quick ? 2 : 10
  const floor = median(await bareHundreds(context, rounds))
  const gateway = await startGateway(context.folder)
  const client = poster(gateway.url, `Bearer ${gateway.key()}`)
  try {
    const adds = median(await hundreds(rounds, client.post))
    for (let index = rounds * 100; index < 1_000; index += 1) await client.post(jobBody(`more ${index}`))
    const timed = (words: ReadonlyArray<string>): number => {
      const began = performance.now()
      const { status } = spawnSync(process.execPath, words, {
        stdio: ["ignore", "pipe", "inherit"],
        env: { PATH: process.env["PATH"], HOME: context.folder, HERMES_HOME: gateway.home }
      })
      if (status !== 0) throw new Error(`${words.join(" ")} ended with ${status}`)
      return performance.now() - began
    }
    const lists = context.quick ? 3 : 9
    const listed = median(Array.from({ length: lists }, () => timed([command, "cron", "list"])))
    const bare = median(Array.from({ length: lists }, () => timed(["-e", "0"])))
    return [
      {
        what: "100 jobs made through the API, one after the other, each validated and durable",
        unit: "ms",
        ours: adds,
        beside: [{ name: "bare node:http, a durable row each", value: floor }],
        memory: null,
        target: { words: "< 500 ms", met: adds < 500 }
      },
      {
        what: "`hermes cron list` with 1,000 jobs, asking the gateway",
        unit: "ms",
        ours: listed,
        beside: [{ name: "`node -e 0`", value: bare }],
        memory: null,
        target: { words: "< 400 ms", met: listed < 400 }
      }
    ]
  } finally {
    client.close()
    await gateway.stop()
  }
}

export default {
  title: "Schedules",
  run: async (context) => {
    const rows = [nextIn("UTC", context), nextIn("America/New_York", context), ...(await jobs(context))]
    if (sink === 0) throw new Error("nothing was computed")
    return rows
  }
} satisfies Family
