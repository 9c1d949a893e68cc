/**
 * Servers that stream, one a process: `raw` is bare node:http, `ours` the HTTP surface over real stores with a played
 * agent. Each chunk says when it was made. `node streams.ts raw|ours CHUNKS`.
 */
import http from "node:http"

const [kind, ofOneStream] = process.argv.slice(2)
const chunks = Number(ofOneStream)

const everyMillis = 5

const now = (): number => performance.timeOrigin + performance.now()

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
  const { ApiServer } = await import("../../src/services/api/ApiServer.js")
  const { Play, server } = await import("../../test/layers/http/support.js")
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

const port = await (kind === "raw" ? startRaw() : startOurs())
process.send?.({ port })
process.on("disconnect", () => process.exit(0))
