/** Who owns a bot: whoever writes to it while they are asked to. */
import { Duration, Effect, type Redacted, Schema } from "effect"
import { AccountUnreachable, unreachable } from "./Account.js"
import * as BotApi from "./BotApi.js"
import { isConflict } from "./Reconnection.js"
import * as Update from "./Update.js"

export interface Person {
  readonly id: string
  readonly chatId: string
  /** As a person reads it. */
  readonly name: string
}

const lookMillis = 10_000
const between = Duration.seconds(1)
/** The Bot API hands out no more at once. */
const most = 100

const decodeBatch = Schema.decodeUnknownOption(Schema.Array(Schema.Unknown))

const nameOf = (user: Update.User): string => {
  const name = [user.first_name, user.last_name].filter((part) => part !== null && part !== "").join(" ")
  return user.username === null ? name || String(user.id) : `${name} (@${user.username})`.trim()
}

const personOf = (update: Update.Update): ReadonlyArray<Person> =>
  update._tag === "Message" &&
  update.message.chat.type === "private" &&
  update.message.from !== null &&
  update.message.from.is_bot !== true
    ? [
        {
          id: String(update.message.from.id),
          chatId: String(update.message.chat.id),
          name: nameOf(update.message.from)
        }
      ]
    : []

/**
 * Looks at what comes in without confirming any of it: the messages stay at Telegram, and the gateway answers them when
 * it starts. `next` is whoever writes privately after this was made, and no one of `not`; it waits for ever.
 */
export const listen = (options: { readonly token: Redacted.Redacted; readonly apiRoot: string }) =>
  Effect.gen(function* () {
    const api = yield* Effect.mapError(BotApi.make(options), unreachable)
    const look = api
      .call("getUpdates", (raw, signal) => raw.getUpdates({ limit: most, timeout: 0 }, signal), lookMillis)
      .pipe(
        Effect.mapError((error) =>
          isConflict(error)
            ? new AccountUnreachable({
                detail: "another program listens with this token",
                remedy:
                  "stop it (a gateway: `hermes gateway stop`) and run setup again, or let yourself in with a pairing code"
              })
            : unreachable(error)
        ),
        Effect.flatMap(decodeBatch),
        Effect.catchTag("NoSuchElementException", () =>
          Effect.fail(
            new AccountUnreachable({ detail: "this is no list of messages", remedy: "check TELEGRAM_API_ROOT" })
          )
        )
      )
    const before = yield* look
    if (before.length >= most)
      return yield* new AccountUnreachable({
        detail: `${most} messages wait for the bot already, and hide new ones`,
        remedy: "start the gateway once, which takes them, and let yourself in with a pairing code"
      })
    const newest = Math.max(-1, ...before.map((input) => Update.idOf(input) ?? -1))
    const next = (not: ReadonlySet<string>): Effect.Effect<Person, AccountUnreachable> =>
      Effect.gen(function* () {
        for (;;) {
          const [person] = (yield* look)
            .flatMap((input) => {
              const update = Update.decode(input)
              return update === null || update.id <= newest ? [] : personOf(update)
            })
            .filter(({ id }) => !not.has(id))
          if (person !== undefined) return person
          yield* Effect.sleep(between)
        }
      })
    return { next }
  })
