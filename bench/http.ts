/**
 * A streamed chunk from the moment it is made to the moment a client has it, ten streams at once, beside raw node:http in
 * the same run; and requests per second. `npx tsx bench/http.ts`
 */
import { fork, type ChildProcess } from "node:child_process"
import http from "node:http"
import { fileURLToPath } from "node:url"

const chunks = 200
const everyMillis = 5
const streams = 10
const rounds = Number(process.env["ROUNDS"] ?? 7)
/** Until the compiler has seen all of it. */
const warmups = 5
const key = "the-key-of-this-home"

const now = (): number => performance.timeOrigin + performance.now()

const percentile = (values: ReadonlyArray<number>, share: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? Number.NaN
}

const median = (values: ReadonlyArray<number>): number => percentile(values, 0.5)

const deltaOf = (index: number): string => `${now().toFixed(3)} some words of text ${index}`

const startRaw = (): Promise<number> =>
  new Promise((resolve) => {
    const server = http.createServer((request, response) => {
      if (request.url === "/health") {
        const body = '{"status":"ok","version":"0","uptime":1}'
        return void response
          .writeHead(200, { "content-type": "application/json", "content-length": body.length })
          .end(body)
      }
      request.resume()
      response.writeHead(200, { "content-type": "text/event-stream" })
      let index = 0
      const timer = setInterval(() => {
        const event = {
          _tag: "text.delta",
          at: Date.now(),
          sessionKey: "k",
          sessionId: "s",
          turnId: "t",
          text: deltaOf(index)
        }
        response.write(`data: ${JSON.stringify(event)}\n\n`)
        index += 1
        if (index < chunks) return
        clearInterval(timer)
        response.end()
      }, everyMillis)
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  })

const startOurs = async (): Promise<number> => {
  const { Effect, Layer, Scope } = await import("effect")
  const { ApiServer } = await import("../src/services/api/ApiServer.js")
  const { Play, server } = await import("../test/layers/http/support.js")
  return Effect.runPromise(
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const context = yield* Scope.extend(Layer.build(server()), scope)
      return yield* Effect.gen(function* () {
        const play = yield* Play
        play.act = ({ say, end }) =>
          Effect.gen(function* () {
            let due = now()
            for (let index = 0; index < chunks; index++) {
              due += everyMillis
              yield* Effect.sleep(Math.max(0, due - now()))
              yield* Effect.suspend(() => say(deltaOf(index)))
            }
            yield* end("")
          })
        return (yield* ApiServer).port
      }).pipe(Effect.provide(context))
    })
  )
}

const kind = process.argv[2]
if (kind !== undefined) {
  const port = await (kind === "raw" ? startRaw() : startOurs())
  process.send?.({ port })
  process.on("disconnect", () => process.exit(0))
} else await main()

interface Target {
  readonly name: "raw" | "ours"
  readonly child: ChildProcess
  readonly port: number
}

function start(name: Target["name"]): Promise<Target> {
  return new Promise((resolve) => {
    const child = fork(fileURLToPath(import.meta.url), [name], { execArgv: ["--import", "tsx"] })
    child.once("message", (message: { readonly port: number }) => resolve({ name, child, port: message.port }))
  })
}

function post(port: number, path: string, body: unknown, agent: http.Agent): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
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
}

async function textOf(response: http.IncomingMessage): Promise<string> {
  let text = ""
  for await (const piece of response) text += String(piece)
  return text
}

/** Milliseconds from made to had, of every chunk of one stream. */
async function stream(target: Target, agent: http.Agent): Promise<ReadonlyArray<number>> {
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
async function requests(target: Target, agent: http.Agent): Promise<number> {
  const until = now() + 1_000
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
  return count
}

async function main(): Promise<void> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 })
  const targets = [await start("raw"), await start("ours")]
  const p50: { [name: string]: Array<number> } = { raw: [], ours: [] }
  const p99: { [name: string]: Array<number> } = { raw: [], ours: [] }
  const rate: { [name: string]: Array<number> } = { raw: [], ours: [] }
  for (let round = -warmups; round < rounds; round++)
    for (const target of targets) {
      const late = (await Promise.all(Array.from({ length: streams }, () => stream(target, agent)))).flat()
      const perSecond = await requests(target, agent)
      if (round < 0) continue
      p50[target.name]?.push(percentile(late, 0.5))
      p99[target.name]?.push(percentile(late, 0.99))
      rate[target.name]?.push(perSecond)
    }
  const row = (name: string) => ({
    "chunk p50 ms": Number(median(p50[name] ?? []).toFixed(3)),
    "chunk p99 ms": Number(median(p99[name] ?? []).toFixed(3)),
    "GET /health per s": Math.round(median(rate[name] ?? []))
  })
  console.table({ raw: row("raw"), ours: row("ours") })
  const ratio = median(p99["ours"] ?? []) / median(p99["raw"] ?? [])
  console.log(`chunk p99: ${ratio.toFixed(2)} x raw (to reach: at most 3 x, and at most 2 ms)`)
  for (const target of targets) target.child.disconnect()
}
