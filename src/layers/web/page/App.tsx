import type { VNode } from "preact"
import { useCallback, useEffect, useMemo, useReducer, useRef, useState } from "preact/hooks"
import { Composer } from "./Composer.js"
import { Conversation } from "./Conversation.js"
import * as gateway from "./gateway.js"
import { SessionList, titleOf } from "./SessionList.js"
import { SignIn } from "./SignIn.js"
import { currentSession, initial, reduce } from "./state.js"

const connections = {
  connecting: "connecting",
  open: "connected",
  lost: "connection lost, trying again"
} as const

/** A tab's return address: what comes later finds the tab that asked (gateway.md 1.2). */
const tabId = crypto.randomUUID()

const keyOfAddress = (): string | null => new URLSearchParams(location.hash.slice(1)).get("key")

export const App = (): VNode => {
  const [state, dispatch] = useReducer(reduce, initial)
  const [menu, setMenu] = useState(false)
  const current = useRef<string | null>(null)
  current.current = state.current

  const attempt = useCallback(async <A,>(work: () => Promise<A>): Promise<A | null> => {
    try {
      return await work()
    } catch (error) {
      if (error instanceof gateway.Refused && error.status === 401) dispatch({ type: "signedOut" })
      else dispatch({ type: "problem", problem: error instanceof Error ? error.message : String(error) })
      return null
    }
  }, [])

  const loadSessions = useCallback(async () => {
    const sessions = await attempt(gateway.sessions)
    if (sessions !== null) dispatch({ type: "sessions", sessions })
    return sessions
  }, [attempt])

  const open = useCallback(
    async (id: string) => {
      const messages = await attempt(() => gateway.messages(id))
      if (messages === null) return
      dispatch({ type: "opened", id, messages })
      setMenu(false)
      await attempt(() => gateway.markRead(id))
    },
    [attempt]
  )

  const begin = useCallback(async () => {
    const session = await attempt(gateway.createSession)
    if (session === null) return null
    await loadSessions()
    await open(session.id)
    return session.id
  }, [attempt, loadSessions, open])

  /** What may have been missed: lists, the open conversation, open questions. */
  const refresh = useCallback(async () => {
    const sessions = await loadSessions()
    if (sessions === null) return
    const approvals = await attempt(gateway.openApprovals)
    if (approvals !== null) dispatch({ type: "approvals", approvals })
    const shown = current.current ?? sessions.find((session) => session.source === "web")?.id
    if (shown !== undefined) await open(shown)
  }, [attempt, loadSessions, open])

  const signIn = useCallback(
    async (key: string) => {
      const done = await attempt(() => gateway.exchange(key))
      if (done !== null) dispatch({ type: "signedIn" })
    },
    [attempt]
  )

  const [ready, setReady] = useState(false)
  useEffect(() => {
    const key = keyOfAddress()
    if (key === null) return setReady(true)
    history.replaceState(null, "", location.pathname)
    void signIn(key).then(() => setReady(true))
  }, [signIn])

  useEffect(() => {
    if (!ready || !state.signedIn) return
    return gateway.listen({
      opened: () => {
        dispatch({ type: "connection", connection: "open" })
        void refresh()
      },
      lost: () => {
        dispatch({ type: "connection", connection: "lost" })
        void loadSessions()
      },
      event: (event) => {
        dispatch({ type: "event", event })
        if (event._tag === "turn.ended") void loadSessions()
        if (event._tag === "message.stored" && event.role === "assistant" && event.sessionId === current.current)
          void attempt(() => gateway.markRead(event.sessionId))
        if (event._tag === "session.changed") void loadSessions().then(() => open(event.sessionId))
      }
    })
  }, [ready, state.signedIn, refresh, loadSessions, open, attempt])

  const session = currentSession(state)
  const live = state.live.filter((turn) => turn.sessionId === state.current)
  const busy = useMemo(() => new Set(state.live.map((turn) => turn.sessionId)), [state.live])
  const approvals = state.approvals.filter((approval) => approval.sessionKey === session?.key)

  const send = async (text: string): Promise<void> => {
    const id = state.current ?? (await begin())
    if (id === null) return
    dispatch({ type: "said", text, at: new Date().toISOString() })
    await attempt(() => gateway.say(id, text, tabId))
  }

  const answer = async (id: string, approve: boolean): Promise<void> => {
    await attempt(() => gateway.answer(id, approve))
    const open = await attempt(gateway.openApprovals)
    if (open !== null) dispatch({ type: "approvals", approvals: open })
  }

  if (!state.signedIn) return <SignIn problem={state.problem} onKey={signIn} />
  return (
    <div class={menu ? "page menu-open" : "page"}>
      <header>
        <button type="button" class="menu" aria-expanded={menu} aria-controls="sessions" onClick={() => setMenu(!menu)}>
          <span class="unseen">Conversations</span>
          <span aria-hidden="true">☰</span>
        </button>
        <h1>{session === null ? "Hermes" : titleOf(session)}</h1>
        <p class={`connection ${state.connection}`} role="status">
          {connections[state.connection]}
        </p>
      </header>
      <aside id="sessions">
        <SessionList
          sessions={state.sessions}
          current={state.current}
          busy={busy}
          onOpen={(id) => void open(id)}
          onNew={() => void begin()}
        />
      </aside>
      <main>
        <Conversation
          messages={state.messages}
          live={live}
          approvals={approvals}
          notices={state.notices.filter((notice) => notice.sessionKey === session?.key)}
          onAnswer={(id, approve) => void answer(id, approve)}
        />
        {state.problem === null ? null : (
          <p class="problem" role="alert">
            {state.problem}
          </p>
        )}
        <Composer
          sessionId={state.current}
          busy={live.length > 0}
          closed={
            session === null || session.source === "web" || session.source === "cli"
              ? null
              : `This conversation belongs to ${session.platform ?? session.source}: answer it there.`
          }
          onSend={(text) => void send(text)}
          onStop={() => state.current !== null && void attempt(() => gateway.stop(state.current ?? ""))}
        />
      </main>
    </div>
  )
}
