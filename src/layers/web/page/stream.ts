/** Everything that happens, from now on and again after a lost connection. */
import { events, health, Refused, type Event } from "./gateway.js"

const retryMillis = [500, 1_000, 2_000, 4_000] as const
/** The gateway says something every 15 seconds, if only that it is there: a connection that is silent for longer is none. */
const silentMillis = 40_000
/** A browser may say that it is offline while what is on its way still arrives: looked at again after this. */
const offlineMillis = 2_000

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

/** Takes the events out of the pieces in which they come: one `data:` line each, ended by an empty one. */
export const makeReader = (): ((piece: string) => ReadonlyArray<Event>) => {
  let rest = ""
  return (piece) => {
    const lines = (rest + piece).split("\n")
    rest = lines.pop() ?? ""
    return lines.flatMap((line) => (line.startsWith("data: ") ? [JSON.parse(line.slice(6)) as Event] : []))
  }
}

/** Listens until it is told to stop. A tab that nobody looks at gives its connection to the one that is looked at. */
export const listen = (on: Listener): Listening => {
  const tabs = new BroadcastChannel("hermes")
  let current: AbortController | null = null
  let isOpen = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let silence: ReturnType<typeof setTimeout> | undefined
  let failures = 0
  let heardAt = 0

  const drop = (): void => {
    clearTimeout(timer)
    clearTimeout(silence)
    isOpen = false
    current?.abort()
    current = null
  }

  const lost = (): void => {
    drop()
    on.lost()
    timer = setTimeout(() => void connect(), retryMillis[Math.min(failures, retryMillis.length - 1)])
    failures += 1
  }

  const failed = (error: unknown): void => {
    if (!(error instanceof Refused && error.status === 401)) return lost()
    drop()
    on.refused()
  }

  const heard = (): void => {
    heardAt = Date.now()
    clearTimeout(silence)
    silence = setTimeout(lost, silentMillis)
  }

  const connect = async (): Promise<void> => {
    drop()
    const own = new AbortController()
    current = own
    if (!document.hidden) tabs.postMessage("looked at")
    heard()
    try {
      const body = await events(own.signal)
      if (current !== own) return
      isOpen = true
      failures = 0
      on.opened()
      const pieces = body.pipeThrough(new TextDecoderStream()).getReader()
      const read = makeReader()
      for (let piece = await pieces.read(); !piece.done; piece = await pieces.read()) {
        if (current !== own) return
        heard()
        for (const event of read(piece.value)) on.event(event)
      }
      if (current === own) lost()
    } catch (error) {
      if (current === own) failed(error)
    }
  }

  const check = (): void => {
    const own = current
    failures = 0
    // Timers stand still while a computer sleeps or a phone is in a pocket.
    if (own !== null && isOpen && Date.now() - heardAt < silentMillis)
      return void health().then(
        () => (current === own ? on.opened() : undefined),
        (error: unknown) => (current === own ? failed(error) : undefined)
      )
    if (isOpen) on.lost()
    void connect()
  }

  const shown = (): void => {
    if (!document.hidden) check()
  }
  tabs.onmessage = () => {
    if (!document.hidden) return
    if (isOpen) on.lost()
    drop()
  }
  document.addEventListener("visibilitychange", shown)
  let again: ReturnType<typeof setTimeout> | undefined
  const offline = (): void => {
    check()
    clearTimeout(again)
    again = setTimeout(() => {
      if (!navigator.onLine) check()
    }, offlineMillis)
  }
  window.addEventListener("online", check)
  window.addEventListener("offline", offline)
  void connect()

  return {
    check,
    stop: () => {
      drop()
      clearTimeout(again)
      tabs.close()
      document.removeEventListener("visibilitychange", shown)
      window.removeEventListener("online", check)
      window.removeEventListener("offline", offline)
    }
  }
}
