import { Context, type Effect } from "effect"
import type { StateError } from "../state/StateError.js"

export interface KnownChat {
  readonly platform: string
  readonly chatId: string
  readonly threadId: string | null
  readonly name: string | null
  readonly type: string
  readonly lastSeenAt: number
}

/** The chats and threads that this home has met, so that a person's name for one can be used. */
export class ChannelDirectory extends Context.Tag("hermes/adapter/ChannelDirectory")<
  ChannelDirectory,
  { readonly list: (platform: string | null) => Effect.Effect<ReadonlyArray<KnownChat>, StateError> }
>() {}
