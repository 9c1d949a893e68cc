import type { VNode } from "preact"
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import { shownOf } from "./asides.js"
import { compose, fromRows, type Groups } from "./blocks.js"
import { Approvals } from "./Approvals.js"
import { Composer } from "./Composer.js"
import { Conversation } from "./Conversation.js"
import { Deliveries } from "./Deliveries.js"
import type { Desk } from "./desk.js"
import type { Session } from "./gateway.js"
import { MenuIcon, MoreIcon } from "./Icons.js"
import { Jobs } from "./Jobs.js"
import { Options } from "./Options.js"
import { Overview } from "./Overview.js"
import { Settings } from "./Settings.js"
import * as place from "./place.js"
import { sectionTitles, SessionList, titleOf } from "./SessionList.js"
import { SignIn } from "./SignIn.js"
import { behind, currentSession, type State } from "./state.js"
import { type Store, useStore } from "./store.js"

const connections = {
  connecting: "connecting …",
  open: "connected",
  lost: "connection lost, trying again …"
} as const

/** Why nothing can be said in a conversation; null when something can. */
const closedBecause = (session: Session | null): string | null =>
  session === null || (session.platform === "web" && session.endedAt === null)
    ? null
    : session.platform === "web"
      ? "This conversation has ended."
      : `This conversation belongs to ${session.platform ?? session.source}: answer it there.`

const focusComposer = (): void => document.getElementById("message")?.focus()

/** What the shown conversation consists of. */
const useBlocks = (state: State) => {
  const groups = useRef<Groups>(new Map())
  const stored = useMemo(() => {
    groups.current = fromRows(state.rows, state.helped, groups.current)
    return groups.current
  }, [state.rows, state.helped])
  const turns = state.turns.filter((turn) => turn.sessionId === state.current)
  return { blocks: compose(stored, turns, shownOf(state)), busy: turns.some((turn) => turn.outcome === null) }
}

export const App = ({ store, desk }: { readonly store: Store; readonly desk: Desk }): VNode => {
  const state = useStore(store)
  const [menu, setMenu] = useState(false)
  const [options, setOptions] = useState(false)
  const [where, setWhere] = useState(place.where)
  const section = where?.section ?? null
  const menuButton = useRef<HTMLButtonElement>(null)
  const session = currentSession(state)
  const { blocks, busy } = useBlocks(state)
  const connection = state.access === "unknown" && state.connection === "open" ? "connecting" : state.connection
  const title = section !== null ? sectionTitles[section] : session === null ? "New conversation" : titleOf(session)

  useEffect(() => desk.start(), [desk])

  const unread = state.sessions.filter(({ unread, id }) => unread && id !== state.current).length
  useEffect(() => {
    document.title = `${unread === 0 ? "" : `(${unread}) `}${session === null && section === null ? "" : `${title} · `}Hermes`
  }, [unread, session, title, section])

  useEffect(() => place.onChange(() => setWhere(place.where())), [])

  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || event.defaultPrevented || options) return
      if (menu) {
        setMenu(false)
        menuButton.current?.focus()
      } else if (busy && section === null) void desk.stop()
    }
    window.addEventListener("keydown", onKey)
    return () => window.removeEventListener("keydown", onKey)
  }, [menu, options, busy, section, desk])

  const open = (id: string | null): void => {
    setMenu(false)
    place.leave()
    setWhere(null)
    void desk.open(id)
    if (id === null) focusComposer()
  }

  const move = (wanted: place.Where, how: place.Move): void => {
    setMenu(false)
    place.move(wanted, how)
    setWhere(wanted)
  }
  const openSection = (section: place.Section): void => move({ section, path: [] }, "step")

  if (state.access === "out") return <SignIn problem={state.problem} onKey={desk.signIn} />
  const working = new Set(state.turns.flatMap((turn) => (turn.outcome === null ? [turn.sessionId] : [])))
  const asking = new Set([...state.approvals, ...state.clarifications].map(({ sessionKey }) => sessionKey))
  return (
    <div class={menu ? "page menu-open" : "page"}>
      <button type="button" class="skip" onClick={focusComposer}>
        Go to the message
      </button>
      <header>
        <button
          type="button"
          class="icon menu"
          ref={menuButton}
          aria-expanded={menu}
          aria-controls="sessions"
          aria-label="Conversations"
          onClick={() => setMenu(!menu)}
        >
          <MenuIcon />
          {unread === 0 ? null : <span class="dot" />}
        </button>
        <h1>{title}</h1>
        <p class={`connection ${connection}`} role="status">
          {connections[connection]}
        </p>
        {session === null || section !== null ? null : (
          <button
            type="button"
            class="icon"
            aria-haspopup="dialog"
            aria-label="This conversation"
            onClick={() => setOptions(true)}
          >
            <MoreIcon />
          </button>
        )}
      </header>
      <aside id="sessions">
        <SessionList
          sessions={state.sessions}
          current={state.current}
          working={working}
          asking={asking}
          onOpen={open}
          onSearch={desk.search}
          section={section}
          onSection={openSection}
        />
      </aside>
      {section === "overview" ? (
        <main>
          <Overview
            ready={state.access === "in" && state.connection === "open"}
            approvals={state.approvals}
            clarifications={state.clarifications}
            sessions={state.sessions}
            onAnswer={desk.answer}
            onReply={desk.reply}
            onOpen={open}
            onSection={openSection}
          />
        </main>
      ) : section === "settings" ? (
        <main>
          <Settings health={state.health} />
        </main>
      ) : section === "deliveries" ? (
        <main>
          <Deliveries ready={state.access === "in"} sessions={state.sessions} />
        </main>
      ) : section === "approvals" ? (
        <main>
          <Approvals ready={state.access === "in"} onAnswer={desk.answer} />
        </main>
      ) : where?.section === "jobs" ? (
        <main>
          <Jobs
            sessions={state.sessions}
            ready={state.access === "in"}
            path={where.path}
            onMove={(path, how) => move({ section: "jobs", path }, how)}
            onMake={desk.makeJob}
          />
        </main>
      ) : (
        <main>
          <Conversation
            id={state.current}
            blocks={blocks}
            more={state.more}
            loading={state.loading || state.access === "unknown"}
            approvals={
              session?.endedAt === null ? state.approvals.filter(({ sessionKey }) => sessionKey === session.key) : []
            }
            clarifications={
              session?.endedAt === null
                ? state.clarifications.filter(({ sessionKey }) => sessionKey === session.key)
                : []
            }
            helpers={session?.endedAt === null ? behind(state.helpers, session.key) : []}
            onStopHelper={desk.stopHelper}
            onEarlier={desk.earlier}
            onSetUp={state.health?.model.provider === "offline" ? () => openSection("settings") : null}
            onReply={async (id, words) => {
              focusComposer()
              await desk.reply(id, words)
            }}
            onAnswer={async (id, approve, scope) => {
              focusComposer()
              await desk.answer(id, approve, scope)
            }}
            onAgain={(id) => void desk.again(id)}
            onWithdraw={desk.withdraw}
          />
          {state.problem === null ? null : (
            <div class="problem" role="alert">
              <p>{state.problem}</p>
              <button type="button" onClick={() => store.dispatch({ type: "problem", problem: null })}>
                Close
              </button>
            </div>
          )}
          <Composer
            sessionId={state.current}
            busy={busy}
            closed={closedBecause(session)}
            onSend={(text, files) => void desk.say(text, files)}
            onAttach={desk.attach}
            onStop={() => void desk.stop()}
            onNew={() => open(null)}
          />
        </main>
      )}
      {options && session !== null ? (
        <Options
          session={session}
          onRename={(name) => desk.rename(session.id, name)}
          onRemove={() => desk.remove(session.id)}
          onPut={(change) => desk.put(session.id, change)}
          onClose={() => setOptions(false)}
        />
      ) : null}
    </div>
  )
}
