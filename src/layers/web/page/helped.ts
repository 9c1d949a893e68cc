/** What the helpers of the shown conversation did, as it is stored: each has a transcript of its own. */
import * as gateway from "./gateway.js"
import type { Message, PastHelper } from "./gateway.js"
import type { Part } from "./turns.js"
import { stopped } from "./turns.js"

export interface Helped {
  readonly helper: PastHelper
  readonly rows: ReadonlyArray<Message>
}

/** Did one of these rows set helpers to work? */
export const delegates = (rows: ReadonlyArray<Message>): boolean =>
  rows.some(({ toolCalls }) => toolCalls.some(({ name }) => name === "delegate_task"))

/** Those that the turns of these rows had, and theirs. Oldest first: whoever has helpers stands before them. */
const within = (rows: ReadonlyArray<Message>, helpers: ReadonlyArray<PastHelper>): ReadonlyArray<PastHelper> => {
  const turns = new Set(rows.flatMap(({ turnId }) => (turnId === null ? [] : [turnId])))
  return helpers.filter(({ parentTurnId, turnId }) => {
    const isWithin = turns.has(parentTurnId)
    if (isWithin) turns.add(turnId)
    return isWithin
  })
}

/** Fetches what is not known yet. What a helper did that has ended does not change any more. */
export const fetchHelped = async (
  id: string,
  rows: ReadonlyArray<Message>,
  known: ReadonlyArray<Helped>
): Promise<ReadonlyArray<Helped>> => {
  const helpers = within(rows, await gateway.helpersOf(id))
  return Promise.all(
    helpers.map(async (helper): Promise<Helped> => {
      const before = known.find((one) => one.helper.id === helper.id)
      if (before !== undefined && before.helper.status !== null) return before
      // A transcript that was pruned leaves the goal and how it ended.
      return { helper, rows: await gateway.messages(helper.sessionId, null).catch(() => []) }
    })
  )
}

/** The helpers that a call set to work, as parts of its turn. `partsOf` makes the parts of their rows. */
export const helperParts = (
  helped: ReadonlyArray<Helped>,
  call: { readonly callId: string; readonly turnId: string | null },
  partsOf: (rows: ReadonlyArray<Message>) => ReadonlyArray<Part>
): ReadonlyArray<Part> =>
  helped.flatMap(({ helper, rows }) => {
    if (helper.callId !== call.callId || helper.parentTurnId !== call.turnId) return []
    const { background, goal, id, status, turnId } = helper
    const parts = partsOf(rows)
    return [
      {
        kind: "helper",
        delegationId: id,
        turnId,
        goal,
        background,
        status: status ?? "working",
        parts: status === null ? parts : stopped(parts)
      }
    ]
  })
