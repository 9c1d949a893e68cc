/** Holds what the page knows: whoever needs it reads it, whoever shows it is told when it has changed. */
import { useEffect, useState } from "preact/hooks"
import type { Event } from "./gateway.js"
import { keep, kept } from "./keeping.js"
import { type Action, reduce } from "./reduce.js"
import { initial, type State } from "./state.js"

export interface Store {
  readonly state: () => State
  readonly dispatch: (action: Action) => void
  /** Takes an event, to be shown with the others of its moment: a fast answer is drawn once a frame and not once a word. */
  readonly happened: (event: Event) => void
  readonly subscribe: (told: () => void) => () => void
}

/** A page that nobody sees gets no frames. */
const unseenMillis = 100

export const makeStore = (): Store => {
  let state: State = { ...initial, asides: kept() }
  let waiting: Array<Event> = []
  let frame = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const listeners = new Set<() => void>()

  const change = (action: Action): void => {
    const before = state
    state = reduce(state, action)
    if (state.asides !== before.asides) keep(state.asides)
    if (state !== before) for (const told of listeners) told()
  }

  /** Events come before what was learned after them. */
  const flush = (): void => {
    if (waiting.length === 0) return
    cancelAnimationFrame(frame)
    clearTimeout(timer)
    const events = waiting
    waiting = []
    change({ type: "events", events })
  }

  return {
    state: () => {
      flush()
      return state
    },
    dispatch: (action) => {
      flush()
      change(action)
    },
    happened: (event) => {
      waiting.push(event)
      if (waiting.length > 1) return
      frame = requestAnimationFrame(flush)
      timer = setTimeout(flush, unseenMillis)
    },
    subscribe: (told) => {
      listeners.add(told)
      return () => listeners.delete(told)
    }
  }
}

export const useStore = (store: Store): State => {
  const [state, setState] = useState(store.state)
  useEffect(() => store.subscribe(() => setState(store.state())), [store])
  return state
}
