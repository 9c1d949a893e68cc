import { Context, type Effect, Schema } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import type { StateError } from "../state/StateError.js"
import type { Via } from "./Outbox.js"

/** No such platform, or it is not connected here. */
export class UnknownPlatform extends Schema.TaggedError<UnknownPlatform>()("UnknownPlatform", {
  platform: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `there is no platform "${this.platform}" here; there are: ${this.known.join(", ") || "none"}`
  }
}

/** The reference names no chat; a hint tells how to find one. */
export class UnresolvedTarget extends Schema.TaggedError<UnresolvedTarget>()("UnresolvedTarget", {
  target: Schema.String,
  hint: Schema.String
}) {
  override get message(): string {
    return `"${this.target}" is no chat that I know: ${this.hint}`
  }
}

/** Inside somebody's turn a bare platform other than the turn's own is not resolved, and never falls to the home channel (gateway.md 6.2). */
export class InTurnUnresolvable extends Schema.TaggedError<InTurnUnresolvable>()("InTurnUnresolvable", {
  platform: Schema.String,
  origin: Schema.String
}) {
  override get message(): string {
    return `this conversation is on ${this.origin}; say which chat on ${this.platform} you mean (${this.platform}:<chat>)`
  }
}

/** No home channel is set for the platform. */
export class NoHomeChannel extends Schema.TaggedError<NoHomeChannel>()("NoHomeChannel", {
  platform: Schema.String,
  setting: Schema.String
}) {
  override get message(): string {
    return `no home channel for ${this.platform}: set ${this.setting} or say /sethome in the chat`
  }
}

export type TargetError = UnknownPlatform | UnresolvedTarget | InTurnUnresolvable | NoHomeChannel

export interface ResolvedTarget {
  readonly address: Address
  readonly via: Via
  /** A bare send went home although a conversation could be seen: said once in the log (the tripwire of gateway.md 6.2). */
  readonly tripwire: boolean
}

/** `platform` or `platform:reference[:thread]` to an address; a bare platform by the three-valued origin of the current fiber. */
export class TargetResolver extends Context.Tag("hermes/delivery/TargetResolver")<
  TargetResolver,
  { readonly resolve: (target: string) => Effect.Effect<ResolvedTarget, TargetError | StateError> }
>() {}
