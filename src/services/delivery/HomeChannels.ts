import { Context, type Effect } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import type { StateError } from "../state/StateError.js"

/** Per platform, the chat for output that nobody's turn asked for: set by `/sethome`, else by configuration. */
export class HomeChannels extends Context.Tag("hermes/delivery/HomeChannels")<
  HomeChannels,
  {
    readonly get: (platform: string) => Effect.Effect<Address | null, StateError>
    readonly set: (address: Address) => Effect.Effect<void, StateError>
    readonly all: Effect.Effect<ReadonlyArray<Address>, StateError>
  }
>() {}

const settings: { readonly [platform: string]: string | null } = {
  // Its chats are conversations, and none is there before somebody begins it.
  web: null,
  matrix: "MATRIX_HOME_ROOM",
  email: "EMAIL_HOME_ADDRESS"
}

/** The environment's name for a platform's home channel; null where only `/sethome` sets one. */
export const settingOf = (platform: string): string | null =>
  settings[platform] !== undefined
    ? settings[platform]
    : `${platform.toUpperCase().replace(/[^A-Z0-9]/g, "_")}_HOME_CHANNEL`
