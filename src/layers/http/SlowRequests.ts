/**
 * Node looks for requests that are too slow on a timer that runs for as long as a server listens, also while nobody is
 * connected: it would wake a gateway that rests twelve times a minute.
 */
import type { Server } from "node:http"

/** As good as never; a longer timer would ring at once. */
const restMillis = 2 ** 31 - 1

/**
 * Has Node look every `millis` while a connection is open only. Node's own listener for `listening` begins that timer
 * anew, as the server says by then. Called before anybody else listens to `server`.
 */
export const lookedFor = (server: Server & { connectionsCheckingInterval?: number }, millis: number): void => {
  server.connectionsCheckingInterval = millis
  const [begin] = server.listeners("listening")
  // A Node that has it otherwise goes on looking all the time.
  if (begin === undefined) return
  const every = (interval: number): void => {
    server.connectionsCheckingInterval = interval
    begin.call(server)
  }
  let open = 0
  server.connectionsCheckingInterval = restMillis
  server.on("connection", (socket) => {
    if (open === 0) every(millis)
    open += 1
    socket.once("close", () => {
      open -= 1
      // A server that has ended has no timer any more.
      if (open === 0 && server.listening) every(restMillis)
    })
  })
}
