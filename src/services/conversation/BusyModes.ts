import { Context, type Effect } from "effect"
import type { BusyMode } from "../operation/Settings.js"
import type { SessionKey } from "../session/SessionKey.js"
import type { StateError } from "../state/StateError.js"

/** What a message does while a turn runs, as people chose it for their conversations (`/busy`). It outlives the process. */
export class BusyModes extends Context.Tag("hermes/conversation/BusyModes")<
  BusyModes,
  {
    /** What was chosen; the setting where nobody chose. */
    readonly of: (key: SessionKey) => Effect.Effect<BusyMode>
    readonly choose: (key: SessionKey, mode: BusyMode) => Effect.Effect<void, StateError>
  }
>() {}
