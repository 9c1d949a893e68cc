/** What a person can do on the page, and what the page does by itself: each asks the gateway and tells the store. */
import { told } from "./failure.js"
import * as gateway from "./gateway.js"
import { Refused, Unreachable } from "./gateway.js"
import { delegates, fetchHelped } from "./helped.js"
import { makeJob } from "./jobHome.js"
import * as place from "./place.js"
import { makeSender } from "./sending.js"
import { currentSession, sessionOfKey } from "./state.js"
import type { Store } from "./store.js"
import { listen, type Listening } from "./stream.js"

/** Lists change in bursts. */
const soonMillis = 250
/** What got no answer is asked for again after the first of these, if the gateway is there; at most after the last. */
const againMillis = { first: 1_000, last: 60_000 }

const newId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")

const wrongKey = "This is not the key of this gateway. A key that was changed is not good any more."

const isUnauthorized = (error: unknown): boolean => error instanceof Refused && error.status === 401

export interface Desk {
  /** Lets the person in by the address, or by the cookie, and follows what happens until it is told to stop. */
  readonly start: () => () => void
  readonly signIn: (key: string) => Promise<void>
  /** Shows a conversation; null: one that begins with the next message. */
  readonly open: (id: string | null) => Promise<void>
  /** Fetches the rows before those that are there. */
  readonly earlier: () => Promise<void>
  readonly say: (text: string, files: ReadonlyArray<gateway.Attached>) => Promise<void>
  /** Null when it was not taken; the person is told why. */
  readonly attach: (file: File) => Promise<gateway.Attached | null>
  /** Sends again what could not be sent. */
  readonly again: (id: string) => Promise<void>
  readonly withdraw: (id: string) => void
  /** Ends a helper at work. */
  readonly stopHelper: (id: string) => Promise<void>
  /** Answers a question of the agent's own. */
  readonly reply: (clarificationId: string, words: string) => Promise<void>
  readonly answer: (approvalId: string, approve: boolean, scope: gateway.Scope) => Promise<void>
  readonly stop: () => Promise<void>
  readonly rename: (id: string, title: string) => Promise<boolean>
  readonly remove: (id: string) => Promise<void>
  /** Puts a conversation on top or away, or takes it from there. */
  readonly put: (id: string, change: { readonly archived?: boolean; readonly pinned?: boolean }) => Promise<void>
  /** Fails with what the gateway said. */
  readonly makeJob: (fields: gateway.JobFields) => Promise<gateway.Job>
  /** Null when it could not be asked; the page says why. */
  readonly search: (words: string) => Promise<ReadonlyArray<gateway.SearchHit> | null>
}

export const makeDesk = ({ state, dispatch, happened }: Store): Desk => {
  /** The tab's return address: what comes later finds the tab that asked (gateway.md 1.2). */
  const tab = newId()
  /** What was read in one tab is read in the others. */
  const marks = new BroadcastChannel("hermes read")
  let listening: Listening | null = null
  let creating: Promise<gateway.Session> | null = null
  let hasPlace = false
  let listTimer: ReturnType<typeof setTimeout> | undefined
  let helperTimer: ReturnType<typeof setTimeout> | undefined
  let againTimer: ReturnType<typeof setTimeout> | undefined
  let againAfter = againMillis.first
  /** The conversation that was shown last while it was open. */
  let lastOpen: gateway.Session | null = null

  const leave = (problem: string | null): void => {
    listening?.stop()
    listening = null
    hasPlace = false
    dispatch({ type: "access", access: "out", problem })
  }

  /** Null when it was not done; the person is told why. */
  const attempt = async <A>(work: () => Promise<A>): Promise<A | null> => {
    try {
      return await work()
    } catch (error) {
      if (isUnauthorized(error)) leave(null)
      else dispatch({ type: "problem", problem: told(error) })
      return null
    }
  }

  const checkSoon = (): void => {
    if (againTimer !== undefined) return
    againTimer = setTimeout(() => {
      againTimer = undefined
      // A tab that nobody looks at looks when it is looked at.
      if (!document.hidden) listening?.check()
    }, againAfter)
    againAfter = Math.min(2 * againAfter, againMillis.last)
  }

  /** As `attempt`, for what nobody asked for: without an answer it is done again when the gateway is there. */
  const quietly = <A>(work: () => Promise<A>): Promise<A | null> =>
    attempt(() =>
      work().catch((error: unknown) => {
        if (!(error instanceof Unreachable)) throw error
        checkSoon()
        return null
      })
    )

  const noteOpen = (): void => {
    const here = currentSession(state())
    if (here?.endedAt === null) lastOpen = here
  }

  const loadSessions = async (): Promise<void> => {
    clearTimeout(listTimer)
    listTimer = undefined
    const sessions = await quietly(gateway.sessions)
    if (sessions === null) return
    dispatch({ type: "sessions", sessions })
    noteOpen()
  }

  const loadSessionsSoon = (): void => {
    listTimer ??= setTimeout(() => void loadSessions(), soonMillis)
  }

  const loadHelped = async (id: string): Promise<void> => {
    const { current, helped, rows } = state()
    if (id !== current || !delegates(rows)) return
    const found = await quietly(() => fetchHelped(id, rows, helped))
    if (found !== null) dispatch({ type: "helped", id, helped: found })
  }

  const loadRows = async (id: string, before: number | null): Promise<void> => {
    const known = state().rows.at(-1)?.id ?? 0
    const rows = await quietly(() => gateway.messages(id, before))
    if (rows === null) return
    const full = rows.length === gateway.pageSize
    dispatch({ type: "rows", page: { id, rows, earlier: before !== null, full, known } })
    void loadHelped(id)
  }

  const markRead = async (id: string): Promise<void> => {
    if (document.hidden || (await quietly(() => gateway.markRead(id))) === null) return
    marks.postMessage(id)
  }

  const openApprovals = () => {
    const known = state().approvals.map(({ id }) => id)
    return async (): Promise<void> => {
      const approvals = await gateway.openApprovals()
      dispatch({ type: "approvals", approvals, known })
    }
  }

  const openClarifications = () => {
    const known = state().clarifications.map(({ id }) => id)
    return async (): Promise<void> => {
      const clarifications = await gateway.clarifications()
      dispatch({ type: "clarifications", clarifications, known })
    }
  }

  const loadHelpers = async (): Promise<void> => {
    clearTimeout(helperTimer)
    helperTimer = undefined
    const helpers = await quietly(gateway.helpers)
    if (helpers !== null) dispatch({ type: "helpers", helpers })
    const { current } = state()
    if (current !== null) void loadHelped(current)
  }

  const show = async (id: string | null, step: boolean): Promise<void> => {
    dispatch({ type: "opened", id })
    noteOpen()
    // What is shown beside the conversations has the address for itself.
    if (place.where() === null) place.show(id, step)
    if (id !== null) await Promise.all([loadRows(id, null), markRead(id)])
  }

  /** The conversation that the address names; the newest of the page's own when it names none that there is. */
  const firstPlace = async (): Promise<string | null> => {
    const named = place.shown()
    const { sessions } = state()
    if (named !== null && sessions.some(({ id }) => id === named)) return named
    const found = named === null ? null : await gateway.sessionOf(named).catch(() => null)
    if (found !== null) dispatch({ type: "session", session: found })
    const newest = sessions.find((session) => session.platform === "web" && session.endedAt === null)
    return found?.id ?? newest?.id ?? null
  }

  const conversation = (): Promise<gateway.Session> => {
    creating ??= gateway
      .createSession()
      .then((session) => {
        dispatch({ type: "begun", session })
        noteOpen()
        if (state().current === session.id) place.show(session.id, true)
        return session
      })
      .finally(() => {
        creating = null
      })
    return creating
  }

  const sender = makeSender(
    { state, dispatch },
    { tab, conversation, failed: (error) => (isUnauthorized(error) ? leave(null) : checkSoon()) }
  )

  /** Where the shown conversation goes on, if it moved while nobody was there to be told. */
  const movedTo = (): string | null => {
    const here = currentSession(state())
    if (here === null || here.endedAt === null || here.key === null || lastOpen?.id !== here.id) return null
    return sessionOfKey(state(), here.key)?.id ?? null
  }

  /** Fetches whatever may have been missed, and sends what could not be sent. */
  const catchUp = async (): Promise<void> => {
    const known = state()
      .turns.filter((turn) => turn.outcome === null)
      .map((turn) => turn.turnId)
    const approvals = openApprovals()
    const clarifications = openClarifications()
    const health = await quietly(() => gateway.health())
    if (health === null) return
    dispatch({ type: "health", health })
    await Promise.all([loadSessions(), quietly(approvals), quietly(clarifications), loadHelpers()])
    const first = hasPlace || state().current !== null ? null : await firstPlace()
    hasPlace = true
    // Whoever has begun to talk meanwhile stays where they are.
    const isBegun = state().asides.some(({ sessionId }) => sessionId === "")
    const here = state().current ?? (isBegun ? null : first)
    const next = movedTo()
    await show(next ?? here, next !== null)
    const running = health.conversations.flatMap(({ sessionKey, turnId, startedAt }) =>
      turnId === null ? [] : [{ sessionKey, turnId, startedAt: Date.parse(startedAt ?? "") || Date.now() }]
    )
    dispatch({ type: "running", running, known })
    dispatch({ type: "access", access: "in" })
    await sender.sendAll()
    if (againTimer === undefined) againAfter = againMillis.first
  }

  const onEvent = (event: gateway.Event): void => {
    // Where the person was before the conversation moved.
    const left = event._tag === "session.changed" ? currentSession(state()) : null
    happened(event)
    switch (event._tag) {
      case "turn.ended":
        loadSessionsSoon()
        if (event.sessionId === state().current) void loadRows(event.sessionId, null)
        return
      case "message.stored":
        loadSessionsSoon()
        if (event.sessionId === state().current) void markRead(event.sessionId)
        return
      case "delegate.started":
      case "delegate.ended":
        helperTimer ??= setTimeout(() => void loadHelpers(), soonMillis)
        return
      case "session.compacted":
        if (event.sessionId === state().current) void loadRows(event.sessionId, null)
        return
      case "session.named":
        return loadSessionsSoon()
      case "session.changed":
        // A list may have told already that it ended; one that was opened as an ended one is left alone.
        if (left === null || event.sessionKey !== left.key || lastOpen?.id !== left.id) return loadSessionsSoon()
        return void loadSessions().then(() => show(event.sessionId, true))
    }
  }

  const follow = (): void => {
    listening?.stop()
    listening = listen({
      event: onEvent,
      opened: () => {
        dispatch({ type: "connection", connection: "open" })
        void catchUp()
      },
      lost: () => dispatch({ type: "connection", connection: "lost" }),
      refused: () => leave(null)
    })
  }

  const signIn = async (key: string): Promise<void> => {
    try {
      // No header could carry any other.
      if (!/^[\x21-\x7e]+$/.test(key)) return leave(wrongKey)
      await gateway.exchange(key)
    } catch (error) {
      return leave(isUnauthorized(error) ? wrongKey : told(error))
    }
    if (place.cameForDocumentation) return location.assign("/docs")
    dispatch({ type: "access", access: "unknown" })
    follow()
  }

  const arrive = (): void => {
    const key = place.takeKey()
    if (key !== null) void signIn(key)
    else if (state().access !== "out") follow()
  }

  return {
    start: () => {
      const forget = place.onChange(() => {
        const named = place.shown()
        if (location.hash.startsWith("#key=")) arrive()
        else if (state().access === "in" && place.where() === null && named !== state().current) void show(named, false)
      })
      marks.onmessage = ({ data }: MessageEvent<string>) => dispatch({ type: "read", id: data })
      arrive()
      return () => {
        marks.close()
        forget()
        clearTimeout(againTimer)
        listening?.stop()
      }
    },
    signIn,
    open: async (id) => {
      // One that was found, or is put away, is in no list.
      if (id !== null && !state().sessions.some((session) => session.id === id)) {
        const found = await attempt(() => gateway.sessionOf(id))
        if (found === null) return
        dispatch({ type: "session", session: found })
      }
      await show(id, true)
    },
    earlier: async () => {
      const { current, rows, loading } = state()
      const first = rows[0]
      if (current !== null && first !== undefined && !loading) await loadRows(current, first.id)
    },
    say: async (text, files) => {
      const id = newId()
      dispatch({ type: "said", id, text, files, at: Date.now() })
      await sender.send(id)
    },
    attach: (file) => attempt(() => gateway.attach(file)),
    again: sender.send,
    withdraw: (id) => dispatch({ type: "withdrawn", id }),
    stopHelper: async (id) => {
      await attempt(() => gateway.stopHelper(id))
      await loadHelpers()
    },
    answer: async (id, approve, scope) => {
      await attempt(() => gateway.answer(id, approve, scope))
      await quietly(openApprovals())
    },
    reply: async (id, words) => {
      await attempt(() => gateway.reply(id, words))
      await quietly(openClarifications())
    },
    stop: async () => {
      const { current } = state()
      if (current !== null) await attempt(() => gateway.stop(current))
    },
    rename: async (id, title) => {
      const session = await attempt(() => gateway.renameSession(id, title))
      if (session !== null) dispatch({ type: "session", session })
      return session !== null
    },
    makeJob: makeJob({ state, dispatch }),
    search: (words) => attempt(() => gateway.search(words)),
    put: async (id, change) => {
      const session = await attempt(() => gateway.putSession(id, change))
      if (session === null) return
      dispatch({ type: "session", session })
      await loadSessions()
    },
    remove: async (id) => {
      const isGone = await attempt(async () => {
        await gateway.removeSession(id)
        return true
      })
      if (isGone === null) return
      dispatch({ type: "removed", id })
      place.show(state().current, false)
    }
  }
}
