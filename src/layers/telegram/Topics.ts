/** Topics of private chats that are named instead of numbered: found, or opened when something is first sent there (cron-delivery.md 4.7). */
import { Effect } from "effect"
import type { ChannelDirectory, NamedTopic } from "../../services/adapter/ChannelDirectory.js"
import { type SendError, SendRefused, SendRetryable } from "../../services/adapter/Adapter.js"

const platform = "telegram"

export interface Found {
  readonly threadId: string
  /** For who reads what became of the message; null where the topic was there. */
  readonly note: string | null
}

export interface Topics {
  /** The topic of that name, unless it is the one that is `gone`; else a new one. Who asks at once is given one topic. */
  readonly find: (chatId: string, name: string, gone: string | null) => Effect.Effect<Found, SendError>
}

/** Mostly the chat has no topics: said again, it would be refused again. */
const explained = (error: SendError, chatId: string, name: string): SendError =>
  error._tag === "SendRefused" && error.code === "bad_request"
    ? new SendRefused({
        platform,
        code: "no_topics",
        detail: `the topic “${name}” could not be opened: ${error.detail}. Where topics are off, switch them on for the bot at @BotFather, or send to ${platform}:${chatId} without one`
      })
    : error

export const make = (
  directory: typeof ChannelDirectory.Service,
  open: (chatId: string, name: string) => Effect.Effect<string, SendError>
): Topics => {
  const oneAtATime = Effect.unsafeMakeSemaphore(1).withPermits(1)

  const known = (chatId: string, name: string, gone: string | null): Effect.Effect<Found | null, SendError> =>
    directory.topic({ platform, chatId, name }).pipe(
      Effect.map((threadId) => (threadId === null || threadId === gone ? null : { threadId, note: null })),
      Effect.mapError(({ message }) => new SendRetryable({ platform, detail: message, retryAfterMillis: null }))
    )

  /** The message goes out all the same; the next one opens another topic. */
  const remember = (topic: NamedTopic): Effect.Effect<void> =>
    Effect.catchAll(directory.rememberTopic(topic), (error) =>
      Effect.logWarning("telegram: a topic that was opened could not be remembered", error.message)
    )

  /** Not to be interrupted between the two: an opened topic that nobody remembers is opened again. */
  const opened = (chatId: string, name: string, gone: string | null): Effect.Effect<Found, SendError> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const threadId = yield* restore(open(chatId, name)).pipe(
          Effect.mapError((error) => explained(error, chatId, name))
        )
        yield* remember({ platform, chatId, threadId, name })
        const why = gone === null ? "" : ` anew, because topic ${gone} is gone`
        return { threadId, note: `opened the topic “${name}” (${threadId})${why}` }
      })
    )

  return {
    find: (chatId, name, gone) => {
      const orOpened = (orElse: Effect.Effect<Found, SendError>) =>
        Effect.flatMap(known(chatId, name, gone), (found) => (found === null ? orElse : Effect.succeed(found)))
      return orOpened(oneAtATime(orOpened(opened(chatId, name, gone))))
    }
  }
}
