/**
 * Who may keep a connection when there are too many: whoever showed the key before whoever did not. A port that turns
 * newcomers away is shut for good by any program that opens enough connections and says nothing.
 */
import type { Server } from "node:http"
import type { Duplex } from "node:stream"

const trusted = new WeakSet<Duplex>()

/** A request of this connection showed the key or the page's cookie. */
export const trust = (socket: Duplex): void => void trusted.add(socket)

/** From now on at most `most` connections of `server` are open: one too many closes the oldest that matters least. */
export const bound = (server: Server, most: number): void => {
  /** Oldest first; the number of requests that are being answered. */
  const open = new Map<Duplex, number>()
  const count = (socket: Duplex, more: number): void => {
    const busy = open.get(socket)
    if (busy !== undefined) open.set(socket, busy + more)
  }
  const leastOf = (newcomer: Duplex): Duplex => {
    const rank = (socket: Duplex, busy: number): number => (trusted.has(socket) ? 2 : 0) + (busy > 0 ? 1 : 0)
    const [first] = [...open]
      .filter(([socket]) => socket !== newcomer)
      .map(([socket, busy]) => ({ socket, rank: rank(socket, busy) }))
      .toSorted((a, b) => a.rank - b.rank)
    return first === undefined || first.rank === 3 ? newcomer : first.socket
  }
  server.on("connection", (socket) => {
    open.set(socket, 0)
    socket.once("close", () => open.delete(socket))
    if (open.size > most) {
      const least = leastOf(socket)
      open.delete(least)
      least.destroy()
    }
  })
  server.prependListener("request", ({ socket }, response) => {
    count(socket, 1)
    response.once("close", () => count(socket, -1))
  })
}
