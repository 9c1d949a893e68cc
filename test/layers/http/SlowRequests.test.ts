import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import { type AddressInfo, connect } from "node:net"
import * as SlowRequests from "../../../src/layers/http/SlowRequests.js"

/** How often Node looks at present. */
const interval = (server: Server): unknown => {
  const name = Object.getOwnPropertySymbols(server).find(({ description }) =>
    /connectionsCheckingInterval/.test(`${description}`)
  )
  const timer: unknown = name === undefined ? null : Reflect.get(server, name)
  return typeof timer === "object" && timer !== null ? Reflect.get(timer, "_idleTimeout") : null
}

/** A connection that says half a request; resolves with what is answered until the server closes it. */
const slow = async (server: Server): Promise<string> => {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
  let said = ""
  socket.on("data", (data) => (said += String(data)))
  socket.write("GET / HTTP/1.1\r\nhost: ")
  await once(socket, "close")
  return said
}

describe("SlowRequests", () => {
  it("are looked for while somebody is connected, and only then", async () => {
    const server = createServer({ headersTimeout: 60, requestTimeout: 120 })
    SlowRequests.lookedFor(server, 20)
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    assert.isAbove(Number(interval(server)), 1e9)
    for (let round = 0; round < 3; round++) {
      const both = [slow(server), slow(server)]
      await once(server, "connection")
      assert.strictEqual(interval(server), 20)
      for (const said of await Promise.all(both)) assert.match(said, /^HTTP\/1\.1 408 /)
      while (interval(server) === 20) await new Promise((resolve) => setTimeout(resolve, 5))
      assert.isAbove(Number(interval(server)), 1e9)
    }
    server.close()
    await once(server, "close")
    assert.strictEqual(interval(server), -1)
  })
})
