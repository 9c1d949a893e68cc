import { Context, type Effect, Schema } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import type { Step } from "../state/Database.js"
import type { StateError } from "../state/StateError.js"

export interface PairingRequest {
  readonly platform: string
  readonly userId: string
  readonly userName: string | null
  readonly requestedAt: number
  readonly expiresAt: number
}

export interface PairedUser {
  readonly platform: string
  readonly userId: string
  readonly userName: string | null
  readonly approvedAt: number
}

/** Who may not write any more. */
export interface Revoked {
  readonly platform: string
  readonly userId: string
}

/** A code that fits no open request. Five of them lock approval for an hour. */
export class PairingRefused extends Schema.TaggedError<PairingRefused>()("PairingRefused", { detail: Schema.String }) {
  override get message(): string {
    return this.detail
  }
}

/** `Offered` shows the code once; `Limited` says whether the stranger is still to be told. */
export type PairingOffer =
  | { readonly _tag: "Offered"; readonly code: string; readonly expiresAt: number }
  | { readonly _tag: "Limited"; readonly tell: boolean }

/** Lets a stranger in by a code that the owner approves (gateway.md 3.2): 8 characters, 1 h, stored salted and hashed. */
export class Pairing extends Context.Tag("hermes/conversation/Pairing")<
  Pairing,
  {
    /** `address` is where they ask, and hear what comes of it. */
    readonly offer: (
      address: Address,
      userId: string,
      userName: string | null
    ) => Effect.Effect<PairingOffer, StateError>
    readonly isPaired: (platform: string, userId: string) => Effect.Effect<boolean, StateError>
    /** The step that `along` answers is made in the transaction that lets them in; it is asked for where they asked, if that is known. */
    readonly approve: (
      platform: string,
      code: string,
      along?: (address: Address) => Effect.Effect<Step<void>>
    ) => Effect.Effect<PairedUser, PairingRefused | StateError>
    readonly revoke: (platform: string, userId: string) => Effect.Effect<boolean, StateError>
    /** Runs `told` whenever this process has shut somebody out, for as long as the program lives. */
    readonly whenRevoked: (told: (person: Revoked) => Effect.Effect<void>) => Effect.Effect<void>
    readonly list: Effect.Effect<
      { readonly pending: ReadonlyArray<PairingRequest>; readonly paired: ReadonlyArray<PairedUser> },
      StateError
    >
  }
>() {}
