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

/** A topic that was opened under a name (cron-delivery.md 4.7). */
export interface NamedTopic {
  readonly platform: string
  readonly chatId: string
  readonly threadId: string
  readonly name: string
}

/** The chats and threads that this home has met, so that a person's name for one can be used. */
export class ChannelDirectory extends Context.Tag("hermes/adapter/ChannelDirectory")<
  ChannelDirectory,
  {
    /** At most `limit` chats of these platforms, or of all, newest first. */
    readonly list: (
      platforms: ReadonlyArray<string> | null,
      limit: number
    ) => Effect.Effect<ReadonlyArray<KnownChat>, StateError>
    /** The chats of a platform that a reference may mean: by id, by name, by topic, by the beginning of a name. */
    readonly candidates: (platform: string, reference: string) => Effect.Effect<ReadonlyArray<KnownChat>, StateError>
    /** The thread id of the topic that was opened in that chat under that name. */
    readonly topic: (topic: Omit<NamedTopic, "threadId">) => Effect.Effect<string | null, StateError>
    /** From now on this is the topic of that name in its chat, whichever was before. */
    readonly rememberTopic: (topic: NamedTopic) => Effect.Effect<void, StateError>
  }
>() {}
