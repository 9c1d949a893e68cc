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

/** Listens until it is told to stop. A tab that nobody looks at gives its connection to the one that is looked at. */
export const listen = (on: Listener): (() => void) => {
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

  /** An event source does not say why it was refused. */
  const check = async (): Promise<void> => {
    const problem = await health().then(
      () => null,
      (error: unknown) => error
    )
    if (ended || source !== null) return
    if (problem === null) return connect()
    if (problem instanceof Refused && problem.status === 401) return on.refused()
    on.lost()
    retry()
  }

  const wake = (): void => {
    failures = 0
    if (source === null || source.readyState !== EventSource.OPEN) {
      drop()
      void check()
    } else if (Date.now() - seenAt > sleptMillis) connect()
    else on.opened()
    seenAt = Date.now()
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
  void check()

  return () => {
    ended = true
    drop()
    clearInterval(look)
    tabs.close()
    document.removeEventListener("visibilitychange", shown)
    window.removeEventListener("online", wake)
  }
}
