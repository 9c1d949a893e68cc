/** How what the person said goes out: the messages of a conversation one after another, because the gateway answers them in the order in which they arrive. */
import type { Said } from "./asides.js"
import { Refused, say } from "./gateway.js"
import type { Store } from "./store.js"

/** Where messages go, and who is told when one does not get there. */
export interface Way {
  /** The tab's return address. */
  readonly tab: string
  /** The conversation that those without one begin. */
  readonly conversation: () => Promise<{ readonly id: string }>
  /** One could not be sent, for this. */
  readonly failed: (error: unknown) => void
}

export interface Sender {
  /** Sends one, after those of its conversation that could not be sent before it. Settles when it is out, or cannot be. */
  readonly send: (id: string) => Promise<void>
  /** Sends all that could not be sent. */
  readonly sendAll: () => Promise<void>
}

export const makeSender = ({ state, dispatch }: Pick<Store, "state" | "dispatch">, way: Way): Sender => {
  /** The conversations whose messages are going out; empty for those that begin one. */
  const going = new Map<string, Promise<void>>()

  const said = (): ReadonlyArray<Said> => state().asides.filter((aside): aside is Said => aside.kind === "said")

  const inLine = (sessionId: string): ReadonlyArray<Said> =>
    said().filter((one) => one.sessionId === sessionId && one.state === "sending")

  const unsent = (sessionId: string): ReadonlyArray<Said> =>
    said().filter((one) => one.sessionId === sessionId && one.state === "unsent")

  const put = (one: Said, state: "sending" | "unsent"): void => dispatch({ type: "sending", id: one.id, state })

  const deliver = async ({ files, id, sessionId, text }: Said): Promise<void> => {
    try {
      const names = files.map((file) => file.id)
      await say(sessionId, text, names, id, way.tab)
      dispatch({ type: "sending", id, state: "sent" })
    } catch (error) {
      if (!(error instanceof Refused) || error.status === 401) throw error
      // It was taken when it was sent before, and the answer got lost.
      if (error.code === "duplicate") dispatch({ type: "sending", id, state: "sent" })
      else dispatch({ type: "sending", id, state: "refused", refusal: { code: error.code, text: error.message } })
    }
  }

  const empty = async (sessionId: string): Promise<void> => {
    try {
      if (sessionId === "") await go((await way.conversation()).id)
      else for (let [next] = inLine(sessionId); next !== undefined; [next] = inLine(sessionId)) await deliver(next)
    } catch (error) {
      for (const one of inLine(sessionId)) put(one, "unsent")
      way.failed(error)
    } finally {
      going.delete(sessionId)
    }
  }

  const go = (sessionId: string): Promise<void> => {
    const before = going.get(sessionId)
    if (before !== undefined) return before
    const now = Promise.resolve().then(() => empty(sessionId))
    going.set(sessionId, now)
    return now
  }

  const conversationOf = (sessionId: string): Promise<void> => {
    for (const one of unsent(sessionId)) put(one, "sending")
    return go(sessionId)
  }

  return {
    send: async (id) => {
      const one = said().find((other) => other.id === id)
      if (one === undefined) return
      put(one, "sending")
      await conversationOf(one.sessionId)
    },
    sendAll: async () => {
      const waiting = new Set(said().flatMap((one) => (one.state === "unsent" ? [one.sessionId] : [])))
      await Promise.all([...waiting].map(conversationOf))
    }
  }
}
