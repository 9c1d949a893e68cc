/** What a failed poll means: try again in a while, or give up and say what to do. Pure but for the jitter. */
import { Effect, Random, Schema } from "effect"
import type { BotApiError } from "./BotApi.js"

/** Something that came in could not be stored; it waits at Telegram. */
export class Unsettled extends Schema.TaggedError<Unsettled>()("Unsettled", { detail: Schema.String }) {
  override get message(): string {
    return `messages wait at Telegram, they could not be taken in: ${this.detail}`
  }
}

export type PollError = BotApiError | Unsettled

export type Verdict =
  | { readonly _tag: "Retry"; readonly afterMillis: number | null }
  /** Somebody set a webhook; polling needs it gone. */
  | { readonly _tag: "RemoveWebhook" }
  | { readonly _tag: "GiveUp"; readonly remedy: string }

/** What helps against a refusal of the token. */
export const tokenRemedy =
  "check TELEGRAM_BOT_TOKEN (@BotFather shows it under /mybots) and TELEGRAM_API_ROOT, then restart the gateway"

/** So often in a row may another poller come in between: a gateway that was just killed still counts as one for a moment. */
const conflictsAllowed = 3

export const judge = (error: PollError, conflicts: number): Verdict => {
  if (error._tag !== "BotApiRefused") return { _tag: "Retry", afterMillis: null }
  switch (error.code) {
    case 401:
    case 404:
      return { _tag: "GiveUp", remedy: tokenRemedy }
    case 409:
      if (/webhook/i.test(error.description)) return { _tag: "RemoveWebhook" }
      return conflicts < conflictsAllowed
        ? { _tag: "Retry", afterMillis: null }
        : {
            _tag: "GiveUp",
            remedy:
              "another program polls with this bot token; stop it, or get a bot of its own from @BotFather, then restart the gateway"
          }
    case 429:
      return { _tag: "Retry", afterMillis: (error.retryAfterSeconds ?? 1) * 1000 }
    default:
      return { _tag: "Retry", afterMillis: null }
  }
}

export const isConflict = (error: PollError): boolean => error._tag === "BotApiRefused" && error.code === 409

/** The first wait and the longest one, in milliseconds; every failure in a row doubles it. It never gives up on a network. */
const backoff = { first: 500, longest: 30_000 }

/** Milliseconds before the next try, from half of the step to all of it, so that many gateways do not come back at once. */
export const delay = (failures: number): Effect.Effect<number> => {
  const step = Math.min(backoff.longest, backoff.first * 2 ** Math.min(failures - 1, 10))
  return Effect.map(Random.next, (share) => Math.round(step * (0.5 + share / 2)))
}
