/** A streamed chunk from the moment it is made to the moment a client has it, ten streams at once; and plain requests. */
import { type ChildProcess, fork } from "node:child_process"
import http from "node:http"
import { fileURLToPath } from "node:url"
import { end, memoryOf } from "../gateway.js"
import { type Family, median, quantile } from "../harness.js"

const streams = 10
const chunks = 200
const key = "the-key-of-this-home"
const now = (): number => performance.timeOrigin + performance.now()

interface Target {
  readonly name: "raw" | "ours"
  readonly child: ChildProcess
  readonly port: number
}

const start = (name: Target["name"]): Promise<Target> =>
  new Promise((resolve, reject) => {
    const file = fileURLToPath(new URL("../world/streams.ts", import.meta.url))
    const child = fork(file, [name, String(chunks)], { execArgv: ["--import", "tsx"] })
    child.once("exit", (code) => reject(new Error(`the ${name} server ended with ${code}`)))
    child.once("message", (message: { readonly port: number }) => resolve({ name, child, port: message.port }))
  })

const post = (port: number, path: string, body: unknown, agent: http.Agent): Promise<http.IncomingMessage> =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const headers = {
      authorization: `Bearer ${key}`,
      accept: "text/event-stream",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text)
    }
    http
      .request({ host: "127.0.0.1", port, path, method: "POST", headers, agent }, resolve)
      .on("error", reject)
      .end(text)
  })

const textOf = async (response: http.IncomingMessage): Promise<string> => {
  let text = ""
  for await (const piece of response) text += String(piece)
  return text
}

/** Milliseconds from made to had, of every chunk of one stream. */
const stream = async (target: Target, agent: http.Agent): Promise<ReadonlyArray<number>> => {
  let path = "/sse"
  if (target.name === "ours") {
    const session: { readonly id: string } = JSON.parse(
      await textOf(await post(target.port, "/api/sessions", {}, agent))
    )
    path = `/api/sessions/${session.id}/chat`
  }
  const response = await post(target.port, path, { text: "go" }, agent)
  const late: Array<number> = []
  let rest = ""
  response.setEncoding("utf8")
  for await (const piece of response) {
    const at = now()
    rest += String(piece)
    const events = rest.split("\n\n")
    rest = events.pop() ?? ""
    for (const event of events) {
      const made = /"text":"(\d+\.\d+) some/.exec(event)
      if (made !== null) late.push(at - Number(made[1]))
    }
  }
  if (late.length !== chunks) throw new Error(`${target.name}: ${late.length} of ${chunks} chunks came`)
  return late
}

/** Requests per second with ten connections, one after the other on each. */
const requests = async (target: Target, agent: http.Agent): Promise<number> => {
  const until = now() + 500
  let count = 0
  const worker = async (): Promise<void> => {
    while (now() < until) {
      await new Promise<void>((resolve, reject) => {
        http
          .get({ host: "127.0.0.1", port: target.port, path: "/health", agent }, (response) => {
            response.resume().on("end", resolve)
          })
          .on("error", reject)
      })
      count += 1
    }
  }
  await Promise.all(Array.from({ length: 10 }, worker))
  return count * 2
}

export default {
  title: "Streams to the page",
  run: async ({ quick }) => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
    const gateway = await start("ours")
    const targets = [await start("raw"), gateway]
    const p99 = { raw: [] as Array<number>, ours: [] as Array<number> }
    const rate = { raw: [] as Array<number>, ours: [] as Array<number> }
    try {
      // The first rounds are the compiler's.
      for (let round = quick ? -1 : -4; round < (quick ? 2 : 7); round += 1)
        for (const target of targets) {
          const late = (await Promise.all(Array.from({ length: streams }, () => stream(target, agent)))).flat()
          const perSecond = await requests(target, agent)
          if (round < 0) continue
          p99[target.name].push(quantile(late, 0.99))
          rate[target.name].push(perSecond)
        }
      const memory = memoryOf(gateway.child)
      const [ours, raw] = [median(p99.ours), median(p99.raw)]
      return [
        {
          what: "a streamed chunk → the page, 10 streams at once, p99",
          unit: "ms",
          ours,
          beside: [{ name: "bare SSE", value: raw }],
          memory,
          target: { words: "≤ 2 ms and ≤ 3 × bare", met: ours <= 2 && ours <= 3 * raw }
        },
        {
          what: "GET /health, 10 connections",
          unit: "/s",
          ours: median(rate.ours),
          beside: [{ name: "bare node:http", value: median(rate.raw) }],
          memory,
          target: { words: "–", met: null }
        }
      ]
    } finally {
      agent.destroy()
      for (const { child } of targets) await end(child, "SIGKILL")
    }
  }
} satisfies Family
