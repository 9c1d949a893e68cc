/** What a failed call means for the message (gateway.md 3.8). Pure. */
import { type SendError, SendRefused, SendRetryable, SendUncertain } from "../../services/adapter/Adapter.js"
import type { BotApiError, BotApiRefused } from "./BotApi.js"

const platform = "telegram"

/** A call that may be made again without harm answers `retryable` where a message would be in doubt. */
export type Effectful = "once" | "idempotent"

const codes: ReadonlyArray<readonly [RegExp, string]> = [
  [/chat not found|PEER_ID_INVALID/i, "chat_not_found"],
  [/not enough rights|have no rights|CHAT_WRITE_FORBIDDEN|CHAT_RESTRICTED|need administrator rights/i, "forbidden"],
  [/too long/i, "too_long"],
  [/text is empty|text must be non-empty/i, "empty"],
  [/TOPIC_CLOSED/i, "topic_closed"],
  [/REACTION_INVALID/i, "reaction_unknown"],
  [/message to react not found|message to edit not found|can't be edited|MESSAGE_ID_INVALID/i, "message_gone"]
]

const codeOf = (error: BotApiRefused): string => {
  switch (error.code) {
    case 403:
      return "forbidden"
    case 413:
      return "too_long"
    default:
      return codes.find(([pattern]) => pattern.test(error.description))?.[1] ?? "bad_request"
  }
}

/** 404 is for a token that is not even of the right form, and for a method that the server does not have. */
const isTokenRefused = ({ code, description }: BotApiRefused): boolean =>
  code === 401 || (code === 404 && !/method/i.test(description))

const inDoubt = (detail: string, effect: Effectful): SendError =>
  effect === "once"
    ? new SendUncertain({ platform, detail })
    : new SendRetryable({ platform, detail, retryAfterMillis: null })

export const sendErrorOf = (error: BotApiError, effect: Effectful): SendError => {
  const detail = error.message
  if (error._tag === "BotApiUnreachable") {
    return error.sent ? inDoubt(detail, effect) : new SendRetryable({ platform, detail, retryAfterMillis: null })
  }
  if (error.code === 429) {
    return new SendRetryable({ platform, detail, retryAfterMillis: (error.retryAfterSeconds ?? 1) * 1000 })
  }
  // Whatever the message: it waits for a better token.
  if (isTokenRefused(error))
    return new SendRetryable({ platform, detail, retryAfterMillis: null, credentialRefused: true })
  // The server failed on the way; the message may be out already.
  if (error.code >= 500) return inDoubt(detail, effect)
  return new SendRefused({ platform, detail, code: codeOf(error) })
}

export const isThreadGone = (error: BotApiError): boolean =>
  error._tag === "BotApiRefused" && /thread not found|TOPIC_DELETED|TOPIC_ID_INVALID/i.test(error.description)

export const isUnchanged = (error: BotApiError): boolean =>
  error._tag === "BotApiRefused" && /message is not modified/i.test(error.description)

/** A picture, film or sound that Telegram cannot make anything of; as a plain file it takes the same bytes. */
export const isFormRefused = (error: BotApiError): boolean =>
  error._tag === "BotApiRefused" &&
  error.code === 400 &&
  /PHOTO_|IMAGE_PROCESS_FAILED|MEDIA_INVALID|VIDEO_|AUDIO_|VOICE_|wrong file|wrong type|failed to process/i.test(
    error.description
  )
