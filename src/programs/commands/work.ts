/** What is at work, in words. Pure. */
import type { WorkCounts } from "../../services/operation/Health.js"

export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`

/** What there is none of is not told; empty where there is nothing. */
export const workWords = ({ api, cron, delegates, processes, turns }: WorkCounts): string =>
  (
    [
      [turns, "turn"],
      [cron, "job"],
      [api, "request"],
      [delegates, "helper"],
      [processes, "command"]
    ] as const
  )
    .flatMap(([count, noun]) => (count === 0 ? [] : [counted(count, noun)]))
    .join(", ")

/** A turn that waits for a person is no turn at work: who can answer is told how. */
export const questionLines = (count: number): ReadonlyArray<string> =>
  count === 0
    ? []
    : [`${counted(count, "question")} ${count === 1 ? "waits" : "wait"} for an answer: \`hermes approvals\`.`]
