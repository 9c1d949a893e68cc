/** A channel directory that knows named topics only, as long as `kept` lives. */
import { Effect, Layer } from "effect"
import { ChannelDirectory } from "../../../src/services/adapter/ChannelDirectory.js"
import { bare } from "../../../src/services/delivery/Target.js"

export const directoryOf = (kept: Map<string, string> = new Map()): Layer.Layer<ChannelDirectory> => {
  const keyOf = (topic: { readonly chatId: string; readonly name: string }) => `${topic.chatId}:${bare(topic.name)}`
  return Layer.succeed(
    ChannelDirectory,
    ChannelDirectory.of({
      list: () => Effect.succeed([]),
      candidates: () => Effect.succeed([]),
      topic: (topic) => Effect.sync(() => kept.get(keyOf(topic)) ?? null),
      rememberTopic: (topic) => Effect.sync(() => void kept.set(keyOf(topic), topic.threadId))
    })
  )
}
