/** `/agents`: the helpers at work for a conversation, a word to one of them, and its end (gateway.md 7.7). */
import { Effect } from "effect"
import { Delegation, type RunningDelegate } from "../../services/delegation/Delegation.js"
import { elapsed } from "./Commands.js"

const longestGoal = 120

const usage = "Say /agents, /agents stop ID or /agents steer ID TEXT."

/** A helper's own helpers stand under it. */
const tree = (
  helpers: ReadonlyArray<RunningDelegate>
): ReadonlyArray<{ readonly helper: RunningDelegate; readonly level: number }> => {
  const turns = new Set(helpers.map(({ turnId }) => turnId))
  const under = (
    parents: ReadonlyArray<RunningDelegate>,
    level: number
  ): ReadonlyArray<{ readonly helper: RunningDelegate; readonly level: number }> =>
    parents.flatMap((helper) => [
      { helper, level },
      ...under(
        helpers.filter(({ parentTurnId }) => parentTurnId === helper.turnId),
        level + 1
      )
    ])
  return under(
    helpers.filter(({ parentTurnId }) => !turns.has(parentTurnId)),
    0
  )
}

const line = (helper: RunningDelegate, level: number) =>
  Effect.map(
    elapsed(helper.startedAt),
    (time) =>
      `${"  ".repeat(level)}- ${helper.goal.replace(/\s+/g, " ").slice(0, longestGoal)} — ${time}, ${helper.lastDoing}${helper.background ? ", in the background" : ""} (${helper.delegationId})`
  )

export const make = Effect.map(
  Delegation,
  (delegation) => (args: string, sessionKey: string) =>
    Effect.gen(function* () {
      const [action = "", id = "", ...words] = args.split(/\s+/)
      if (action === "stop" && id !== "" && words.length === 0) {
        const helper = yield* delegation.stop({ sessionKey }, id)
        return `Stopped: ${helper.goal.slice(0, longestGoal)}`
      }
      if (action === "steer" && id !== "" && words.length > 0) {
        yield* delegation.steer({ sessionKey }, id, words.join(" "))
        return "It reads that after what it is doing now."
      }
      if (action !== "") return usage
      const helpers = (yield* delegation.running).filter((helper) => helper.sessionKey === sessionKey)
      if (helpers.length === 0) return "No helpers are at work here."
      const lines = yield* Effect.forEach(tree(helpers), ({ helper, level }) => line(helper, level))
      return [`${helpers.length} helper${helpers.length === 1 ? "" : "s"} at work:`, ...lines].join("\n")
    })
)
