import { Context, type Effect, Schema } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import type { StateError } from "../state/StateError.js"

import type { Routed } from "./Deliver.js"
import type { Via } from "./Outbox.js"
import type { Place } from "./Target.js"
import { shortened } from "../operation/Shortened.js"

/** Chats offered to pick from; who looks for an older one names it. */
export const offeredChats = 500

/** No such platform, or it is not connected here. */
export class UnknownPlatform extends Schema.TaggedError<UnknownPlatform>()("UnknownPlatform", {
  platform: Schema.String,
  known: Schema.Array(Schema.String)
}) {
  override get message(): string {
    const remedy = this.platform === "telegram" ? "; `hermes setup` connects Telegram" : ""
    return `there is no platform "${shortened(this.platform)}" here; there are: ${this.known.join(", ") || "none"}${remedy}`
  }
}

/** The reference names no chat; a hint tells how to find one. */
export class UnresolvedTarget extends Schema.TaggedError<UnresolvedTarget>()("UnresolvedTarget", {
  target: Schema.String,
  hint: Schema.String
}) {
  override get message(): string {
    return `"${shortened(this.target)}" is no chat that I know: ${this.hint}`
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
  setting: Schema.NullOr(Schema.String)
}) {
  override get message(): string {
    const way = this.setting === null ? "name a chat, or" : `set ${this.setting} or`
    return `no home channel for ${this.platform}: ${way} say /sethome in the chat`
  }
}

/** A Bot Chat of another profile: another home, another process (decision 4). */
export class OtherProfile extends Schema.TaggedError<OtherProfile>()("OtherProfile", { profile: Schema.String }) {
  override get message(): string {
    return `there is no profile "${shortened(this.profile)}" in this home: write bot-chat for the one that is here`
  }
}

export type TargetError = UnknownPlatform | UnresolvedTarget | InTurnUnresolvable | NoHomeChannel | OtherProfile

/** Why a word of `deliver` leads nowhere. */
export type RouteError = UnknownPlatform | UnresolvedTarget | NoHomeChannel | OtherProfile

/** Where a job's output goes: what a preview says is what a run does. */
export interface Route {
  readonly targets: ReadonlyArray<Routed>
  /** Each word that leads nowhere, and why; the others are delivered all the same (decision 20). */
  readonly problems: ReadonlyArray<{ readonly token: string; readonly error: RouteError }>
  /** `origin` with neither an origin nor a home channel: the output is saved here, and whoever asks is told (decision 19). */
  readonly unanchored: boolean
}

/** A place that a person may pick. */
export interface Choice {
  /** As it is written in `deliver`. */
  readonly target: string
  readonly name: string | null
  readonly platform: string
  /** Null for a platform alone. */
  readonly place: Place | null
  readonly home: boolean
}

export interface ResolvedTarget {
  readonly address: Address
  readonly via: Via
  /** A bare send went home although a conversation could be seen: said once in the log (the tripwire of gateway.md 6.2). */
  readonly tripwire: boolean
}

export class TargetResolver extends Context.Tag("hermes/delivery/TargetResolver")<
  TargetResolver,
  {
    /** `platform` or `platform:reference[:thread]` to an address; a bare platform by the three-valued origin of the current fiber. A reference that nobody knows is an error, or, for a reaction, taken as written (decision 20). */
    readonly resolve: (
      target: string,
      unknownReference?: "refused" | "as-written"
    ) => Effect.Effect<ResolvedTarget, TargetError | StateError>
    /**
     * The places that a job's `deliver` names, for the chat that it was made in. Whose fiber asks plays no role. A
     * reference that nobody knows is passed on as written, with a note, unless the platform reads references itself.
     */
    readonly route: (
      deliver: string | ReadonlyArray<string> | null,
      origin: Address | null
    ) => Effect.Effect<Route, StateError>
    /** What a person may pick from: each connected platform, their home channels, the newest {@link offeredChats} chats that they know, and the Bot Chat. */
    readonly choices: Effect.Effect<ReadonlyArray<Choice>, StateError>
  }
>() {}
