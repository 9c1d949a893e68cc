/** Whose a bot token is: asked without polling, so that a gateway which polls with it is not disturbed. */
import { Data, Effect, Option, type Redacted, Schema } from "effect"
import * as BotApi from "./BotApi.js"
import { judge } from "./Reconnection.js"
import * as Update from "./Update.js"

/** The bot cannot be reached with this token. */
export class AccountUnreachable extends Data.TaggedError("AccountUnreachable")<{
  readonly detail: string
  readonly remedy: string
}> {
  override get message(): string {
    return this.detail
  }
}

const patienceMillis = 10_000
const network = "check the network and TELEGRAM_API_ROOT"

const decodeIdentity = Schema.decodeUnknownOption(Update.Identity)

/** What a person can do about it. */
export const unreachable = (error: BotApi.BotApiError | BotApi.BotApiUnusable): AccountUnreachable => {
  if (error._tag === "BotApiUnusable") return new AccountUnreachable({ detail: error.message, remedy: error.remedy })
  const verdict = judge(error, 0)
  return new AccountUnreachable({
    detail: error.message,
    remedy: verdict._tag === "GiveUp" ? verdict.remedy : network
  })
}

/** The bot's name, such as `@my_bot`. */
export const find = (options: {
  readonly token: Redacted.Redacted
  readonly apiRoot: string
}): Effect.Effect<string, AccountUnreachable> =>
  Effect.gen(function* () {
    const api = yield* BotApi.make(options)
    const answer = yield* api.call("getMe", (raw, signal) => raw.getMe(signal), patienceMillis)
    const identity = decodeIdentity(answer)
    if (Option.isNone(identity)) {
      return yield* new AccountUnreachable({ detail: "this is not the answer of a Bot API server", remedy: network })
    }
    return `@${identity.value.username ?? identity.value.id}`
  }).pipe(
    Effect.scoped,
    Effect.mapError((error) => (error._tag === "AccountUnreachable" ? error : unreachable(error)))
  )
