import { Context, type Effect } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import type { StateError } from "../state/StateError.js"

/** A text for people with its stable code (gateway.md 3.11). */
export interface NoticeText {
  readonly code: string
  readonly text: string
}

/** Where a notice is to be read. Without an address (a terminal, an API request) it is only an event. */
export interface NoticePlace {
  readonly sessionKey: string
  readonly address: Address | null
  /** What this notice is about; the same notice about the same thing is delivered once. */
  readonly about: string
}

/** Tells a person what happens to their message. It never fails the work that it speaks of: what could not be said is logged. */
export class Notifier extends Context.Tag("hermes/delivery/Notifier")<
  Notifier,
  {
    readonly tell: (place: NoticePlace, notice: NoticeText) => Effect.Effect<void>
    /**
     * A notice that is told once ever by that name, to whoever is the first it would help. Where hints are off, or the
     * chat is quiet now, it is kept for later; where it turns out not to be `needed` it is never told.
     */
    readonly hint: (
      place: NoticePlace,
      name: string,
      notice: NoticeText,
      needed?: Effect.Effect<boolean, StateError>
    ) => Effect.Effect<void>
  }
>() {}
