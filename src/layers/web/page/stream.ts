/** Everything that happens, from now on and again after a lost connection. */
import { Refused, health, type Event } from "./gateway.js"

const retryMillis = [500, 1_000, 2_000, 4_000] as const
/** A computer that slept, or a phone in a pocket, may hold a connection that nobody is at the other end of. */
const looksEveryMillis = 10_000
const sleptMillis = 30_000

export interface Listener {
  readonly event: (event: Event) => void
  /** Told each time, so that what was missed can be fetched. */
  readonly opened: () => void
  readonly lost: () => void
  /** The cookie is not good any more. */
  readonly refused: () => void
}

export interface Listening {
  /** Sees whether the connection is what it seems to be. */
  readonly check: () => void
  readonly stop: () => void
}

/** Listens until it is told to stop. A tab that nobody looks at gives its connection to the one that is looked at. */
export const listen = (on: Listener): Listening => {
  const tabs = new BroadcastChannel("hermes")
  let source: EventSource | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  let failures = 0
  let ended = false
  let seenAt = Date.now()

  const drop = (): void => {
    clearTimeout(timer)
    source?.close()
    source = null
  }

  const connect = (): void => {
    drop()
    if (!document.hidden) tabs.postMessage("looked at")
    source = new EventSource("/api/events")
    source.onopen = () => {
      failures = 0
      on.opened()
    }
    source.onerror = () => {
      on.lost()
      retry()
    }
    source.onmessage = (message: MessageEvent<string>) => on.event(JSON.parse(message.data) as Event)
  }

  const retry = (): void => {
    drop()
    timer = setTimeout(() => void check(), retryMillis[Math.min(failures, retryMillis.length - 1)])
    failures += 1
  }

  /** Is anybody there, and does the cookie still do? An event source says neither. */
  const check = async (): Promise<void> => {
    const problem = await health().then(
      () => null,
      (error: unknown) => error
    )
    if (ended) return
    if (problem instanceof Refused && problem.status === 401) return on.refused()
    if (problem !== null) {
      on.lost()
      return retry()
    }
    if (source?.readyState === EventSource.OPEN) on.opened()
    else if (source === null) connect()
  }

  const wake = (): void => {
    failures = 0
    // A connection over which somebody slept looks open and may not be.
    if (Date.now() - seenAt > sleptMillis || source?.readyState !== EventSource.OPEN) drop()
    seenAt = Date.now()
    void check()
  }

  const look = setInterval(() => {
    if (Date.now() - seenAt > sleptMillis && !document.hidden) wake()
    if (!document.hidden) seenAt = Date.now()
  }, looksEveryMillis)
  const shown = (): void => {
    if (!document.hidden) wake()
  }
  tabs.onmessage = () => {
    if (document.hidden) drop()
  }
  document.addEventListener("visibilitychange", shown)
  window.addEventListener("online", wake)
  window.addEventListener("offline", wake)
  void check()

  return {
    check: wake,
    stop: () => {
      ended = true
      drop()
      clearInterval(look)
      tabs.close()
      document.removeEventListener("visibilitychange", shown)
      window.removeEventListener("online", wake)
      window.removeEventListener("offline", wake)
    }
  }
}
