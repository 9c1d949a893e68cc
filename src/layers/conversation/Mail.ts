import type { Deferred } from "effect"
import type * as Turn from "../../fibers/Turn.js"
import type { InboxEntry, InboxMessage } from "../../services/conversation/Inbox.js"
import type { Revoked } from "../../services/conversation/Pairing.js"
import type { StateError } from "../../services/state/StateError.js"

/** What a conversation's actor hears, one after the other. */
export type Mail =
  /** `recovered`: an earlier process accepted it; it waits its turn and interrupts nobody. */
  | { readonly _tag: "Event"; readonly entry: InboxEntry; readonly recovered: boolean }
  /** Not stored yet; `stored` hears when it is, or why it is not, and null when it was there already. */
  | {
      readonly _tag: "Arrived"
      readonly message: InboxMessage
      readonly stored: Deferred.Deferred<InboxEntry | null, StateError>
    }
  | { readonly _tag: "Resume"; readonly turn: Turn.Turn; readonly entry: InboxEntry }
  | { readonly _tag: "Ended"; readonly turnId: string }
  | { readonly _tag: "Stop"; readonly stopped: Deferred.Deferred<boolean> }
  /** The gateway ends, and what only waits for a person goes on after that. */
  | { readonly _tag: "Park" }
  | { readonly _tag: "Shutdown"; readonly done: Deferred.Deferred<void> }
  /** A pause was lifted: what was held begins. */
  | { readonly _tag: "Unpaused" }
  /** Somebody was shut out: what goes on for them alone ends. */
  | { readonly _tag: "Revoked"; readonly person: Revoked }
  | { readonly _tag: "Sweep"; readonly now: number }

export type Resume = Extract<Mail, { readonly _tag: "Resume" }>
