import { Context, type Effect } from "effect"
import type { SessionView } from "../api/Sessions.js"
import type { ActivityEvent } from "../operation/Activity.js"
import type { DeskError } from "../operation/Desk.js"

/** How the turn of what was said ended. */
export type LastWord = Extract<ActivityEvent, { readonly _tag: "turn.ended" }>

export interface Utterance {
  readonly sessionId: string
  readonly text: string
  /** One question and no more: nobody can be asked anything, and nothing arrives later. */
  readonly once: boolean
  /** Absolute: where the turn works. */
  readonly workingDirectory: string
}

/**
 * Talking to the agent from a terminal: source `cli`, no platform and no origin, so nothing can be delivered there later
 * (contract §4). One layer speaks to the gateway that owns the home, the other is a gateway's inside in this process.
 */
export class Dialogue extends Context.Tag("hermes/conversation/Dialogue")<
  Dialogue,
  {
    /** A conversation that nobody has said anything in yet. */
    readonly begin: Effect.Effect<SessionView, DeskError>
    /** Says something and hands on what happens because of it, in order, until its last word. */
    readonly say: (utterance: Utterance, tell: (event: ActivityEvent) => void) => Effect.Effect<LastWord, DeskError>
    /** Ends the running turn and drops what waits; false when nothing ran. */
    readonly stop: (sessionId: string) => Effect.Effect<boolean, DeskError>
  }
>() {}
