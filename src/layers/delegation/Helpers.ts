/** The helpers at work in this process: what each is doing, and the handles by which it is spoken to and ended. */
import { Clock, Deferred, Effect } from "effect"
import type { Scope } from "effect"
import * as CutText from "../../services/operation/CutText.js"
import type { RunningDelegate } from "../../services/delegation/Delegation.js"
import { Activity, type ActivityEvent } from "../../services/operation/Activity.js"

/** Why a helper was ended before its own end. */
export type Cut = "stopped" | "stalled" | "timeout"

export interface Helper {
  readonly about: Omit<RunningDelegate, "lastDoing" | "lastAt">
  readonly group: string | null
  /** Said to it and not read yet. */
  readonly steering: Array<string>
  readonly cut: Deferred.Deferred<Cut>
  readonly openCalls: Set<string>
  lastDoing: string
  lastAt: number
}

export interface Helpers {
  readonly add: (about: Helper["about"], group: string | null) => Effect.Effect<Helper>
  readonly remove: (helper: Helper) => Effect.Effect<void>
  readonly all: () => ReadonlyArray<Helper>
  readonly get: (delegationId: string) => Helper | undefined
  readonly ofTurn: (turnId: string) => Helper | undefined
}

export const view = ({ about, lastAt, lastDoing }: Helper): RunningDelegate => ({ ...about, lastAt, lastDoing })

const doing = (event: ActivityEvent): string | null => {
  switch (event._tag) {
    case "text.delta":
    case "text.segment":
      return "speaking"
    case "tool.started":
      return CutText.beginning(`${event.tool} ${event.preview}`.trim(), 120)
    case "tool.settled":
      return `after ${event.tool}`
    case "delegate.started":
    case "delegate.ended":
      return "waiting for its own helpers"
    default:
      return null
  }
}

/** Told by whoever publishes, so nothing that a helper does is missed however busy the process is. */
export const make: Effect.Effect<Helpers, never, Activity | Scope.Scope> = Effect.gen(function* () {
  const activity = yield* Activity
  const byId = new Map<string, Helper>()
  const byTurn = new Map<string, Helper>()

  /** What a helper's helper does is progress of both. */
  const touch = (turnId: string, at: number, what: string): void => {
    for (let helper = byTurn.get(turnId); helper !== undefined; helper = byTurn.get(helper.about.parentTurnId)) {
      helper.lastAt = Math.max(helper.lastAt, at)
      if (helper.about.turnId === turnId) helper.lastDoing = what
    }
  }

  yield* activity.watch((event) => {
    if (byTurn.size === 0 || !("turnId" in event) || event.turnId === undefined) return false
    const helper = byTurn.get(event.turnId)
    const what = helper === undefined ? null : doing(event)
    if (helper === undefined || what === null) return false
    if (event._tag === "tool.started") helper.openCalls.add(event.callId)
    if (event._tag === "tool.settled") helper.openCalls.delete(event.callId)
    touch(event.turnId, event.at, what)
    return false
  })

  return {
    add: (about, group) =>
      Effect.map(Effect.all([Deferred.make<Cut>(), Clock.currentTimeMillis]), ([cut, now]) => {
        const helper: Helper = {
          about,
          group,
          steering: [],
          cut,
          openCalls: new Set(),
          lastDoing: "beginning",
          lastAt: now
        }
        byId.set(about.delegationId, helper)
        byTurn.set(about.turnId, helper)
        return helper
      }),
    remove: ({ about }) =>
      Effect.sync(() => {
        byId.delete(about.delegationId)
        byTurn.delete(about.turnId)
      }),
    all: () => [...byId.values()],
    get: (delegationId) => byId.get(delegationId),
    ofTurn: (turnId) => byTurn.get(turnId)
  }
})

const checkMillis = 30_000
/** A helper in the background that says nothing for so long is given up; a tool may take its time (gateway.md 7.2). */
const stalledMillis = (450 + 120) * 1_000
const stalledInToolMillis = (1_200 + 120) * 1_000

/** Ends when a helper has been silent for too long. */
export const silence = (helper: Helper, timeoutSeconds: number): Effect.Effect<Cut> => {
  const limit = (): { readonly millis: number; readonly cut: Cut } =>
    timeoutSeconds > 0
      ? { millis: timeoutSeconds * 1_000, cut: "timeout" }
      : { millis: helper.openCalls.size > 0 ? stalledInToolMillis : stalledMillis, cut: "stalled" }
  if (timeoutSeconds <= 0 && !helper.about.background) return Effect.never
  return Effect.gen(function* () {
    for (;;) {
      const { cut, millis } = limit()
      const left = helper.lastAt + millis - (yield* Clock.currentTimeMillis)
      if (left <= 0) return cut
      yield* Effect.sleep(Math.min(left, checkMillis))
    }
  })
}
