/** When each running turn, or a delegate of it, last did something, and what. */
import { Effect } from "effect"
import { Activity, type ActivityEvent } from "../../services/operation/Activity.js"

export interface Sign {
  readonly at: number
  /** The tool that it runs; null while the model speaks or thinks. */
  readonly doing: string | null
  /** What keeps the model from answering, while that is all that is waited for. */
  readonly trouble: string | null
}

export interface Progress {
  readonly of: (turnId: string) => Sign | null
}

const toolOf = (event: ActivityEvent): string | null =>
  event._tag === "tool.started" ? event.tool : event._tag === "delegate.started" ? "a helper" : null

/** Listens for as long as the scope lives. Nothing waits to be read: what is known is noted by whoever publishes. */
export const make = Effect.gen(function* () {
  const activity = yield* Activity
  const signs = new Map<string, Sign>()
  /** Delegates, and the turn that they work for. */
  const asked = new Map<string, string>()

  const rootOf = (turnId: string): string => {
    const parent = asked.get(turnId)
    return parent === undefined ? turnId : rootOf(parent)
  }

  yield* activity.watch((event) => {
    if (!("turnId" in event) || event.turnId === undefined) return false
    switch (event._tag) {
      case "turn.started":
        if (event.parentTurnId === null) signs.set(event.turnId, { at: event.at, doing: null, trouble: null })
        break
      case "turn.ended":
        signs.delete(event.turnId)
        for (const [child, parent] of asked) if (rootOf(parent) === event.turnId) asked.delete(child)
        break
      case "delegate.started":
        asked.set(event.childTurnId, event.turnId)
        note(event)
        break
      default:
        note(event)
    }
    return false
  })

  const note = (event: Extract<ActivityEvent, { readonly turnId?: string | undefined }>): void => {
    if (event.turnId === undefined) return
    const root = rootOf(event.turnId)
    const before = signs.get(root)
    if (before === undefined) return
    // To fail once more is no progress.
    if (event._tag === "model.waiting") signs.set(root, { at: before.at, doing: null, trouble: event.trouble })
    else signs.set(root, { at: event.at, doing: toolOf(event), trouble: null })
  }

  return { of: (turnId) => signs.get(turnId) ?? null } satisfies Progress
})
