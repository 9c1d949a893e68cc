/** What a message does to a conversation whose turn is running (gateway.md 3.4). Pure. */
import type { BusyMode } from "../operation/Settings.js"

export interface BusyFacts {
  readonly mode: BusyMode
  /** Only text can be steered or redirected. */
  readonly pureText: boolean
  /** Interrupting would throw a delegate's work away (#30170). */
  readonly hasDelegates: boolean
  /** Interrupting would throw a summary away, which the next turn would make again (#56391). */
  readonly compacting: boolean
  /** The turn is already ending. */
  readonly stopping: boolean
}

export type BusyDecision =
  | { readonly _tag: "Queue"; readonly because: "queued" | "subagents" | "compressing" }
  | { readonly _tag: "Steer" }
  | { readonly _tag: "Interrupt" }

export const decide = (facts: BusyFacts): BusyDecision => {
  if (facts.stopping) return { _tag: "Queue", because: "queued" }
  switch (facts.mode) {
    case "queue":
      return { _tag: "Queue", because: "queued" }
    case "steer":
      return facts.pureText ? { _tag: "Steer" } : { _tag: "Queue", because: "queued" }
    case "interrupt":
      return facts.hasDelegates
        ? { _tag: "Queue", because: "subagents" }
        : facts.compacting
          ? { _tag: "Queue", because: "compressing" }
          : facts.pureText
            ? { _tag: "Interrupt" }
            : { _tag: "Queue", because: "queued" }
  }
}
