/** A model's failure in words for people: what happened and what they can do (gateway.md 3.6). Pure. */
import * as Span from "../operation/Span.js"
import type { ModelError } from "./ModelRoute.js"

/** The classes of failure that a notice is named after (gateway.md 3.11); whatever else went wrong is `other`. */
export type ProblemKind = "auth" | "credit" | "rate" | "overloaded" | "toolarge" | "other"

export interface ModelProblem {
  readonly kind: ProblemKind
  readonly cause: string
  readonly next: string
  /** What can be changed, for whoever does not ask a second time himself, such as a job; null where only waiting helps. */
  readonly remedy: string | null
}

const keyName = (provider: string): string => {
  if (provider.startsWith("anthropic")) return "ANTHROPIC_API_KEY"
  return provider === "openai" || provider.startsWith("openai/") ? "OPENAI_API_KEY" : "HERMES_MODEL_API_KEY"
}

/** More rows than this behind a 400 or 500 point at the size of the conversation (gateway.md 3.6). */
const manyMessages = 50

const tooLarge = (error: ModelError, messages: number): boolean =>
  error.reason === "context_overflow" ||
  error.reason === "payload_too_large" ||
  ((error.status === 400 || error.status === 500) &&
    messages > manyMessages &&
    (error.reason === "format_error" || error.reason === "server_error" || error.reason === "unknown"))

/** Who speaks, as people call it. */
const speakers: ReadonlyMap<string, string> = new Map([
  ["anthropic", "Anthropic"],
  ["openai", "OpenAI"],
  ["openai-compatible", "The model's server"],
  ["offline", "The offline assistant"],
  ["scripted", "The scripted model"]
])

const speakerOf = (provider: string): string => speakers.get(provider) ?? provider

const briefly: { readonly [Reason in ModelError["reason"]]?: string } = {
  rate_limit: "limits how much may be asked",
  overloaded: "is overloaded",
  server_error: "has errors",
  timeout: "does not answer in time",
  transport: "cannot be reached"
}

/** What is wrong, in a few words without a full stop, while it may yet pass. */
export const inBrief = ({ provider, reason, status }: ModelError): string =>
  `${speakerOf(provider)} ${briefly[reason] ?? "could not answer"}${status === null ? "" : ` (${status})`}`

/** In quotation marks, and a sentence of its own. */
const quoted = (text: string): string => (/[.!?…]$/.test(text) ? `"${text}"` : `"${text}".`)

/** What is to be done by whoever asked: change something, or ask again when it may go better. */
const asking = (remedy: string | null, again: string | null): Pick<ModelProblem, "next" | "remedy"> => ({
  remedy,
  next: [remedy, again].filter((part) => part !== null).join(" ")
})

/** What happened and what to do; `messages` is the number of rows that the model was sent. */
export const describe = (error: ModelError, messages: number): ModelProblem => {
  const said = error.detail === "" ? "" : ` It said: ${quoted(error.detail)}`
  const who = speakerOf(error.provider)
  if (tooLarge(error, messages))
    return {
      kind: "toolarge",
      cause: `This session is too large for the model.${said}`,
      next: "Shorten it with /compress, or start a fresh one with /new.",
      remedy: "Ask for less at once, or set a model that takes more in."
    }
  const later = error.retryAfterMillis === null ? null : `in about ${Span.words(error.retryAfterMillis)}`
  const again = (when: string): string => `Send your message again${when}.`
  switch (error.reason) {
    case "not_configured":
      return { kind: "other", cause: "The model is not set up.", ...asking(error.detail, null) }
    case "auth":
      return {
        kind: "auth",
        cause: `${who} did not accept the credentials.${said}`,
        ...asking(`Check ${keyName(error.provider)} in the home's .env file, then restart the gateway.`, null)
      }
    case "auth_permanent":
      return { kind: "auth", cause: "The model cannot be asked until somebody logs in.", ...asking(error.detail, null) }
    case "billing":
      return {
        kind: "credit",
        cause: `${who} reports that there is no credit left.${said}`,
        ...asking("Add credit or raise the limit there, or set another model.", null)
      }
    case "rate_limit":
      return {
        kind: "rate",
        cause: `${who} limits how much may be asked.${later === null ? "" : ` The limit resets ${later}.`}${said}`,
        ...asking(null, again(` ${later ?? "later"}`))
      }
    case "overloaded":
      return {
        kind: "overloaded",
        cause: `${who} is overloaded at the moment.${said}`,
        ...asking(null, again(` ${later ?? "in a few minutes"}`))
      }
    case "server_error":
      return {
        kind: "other",
        cause: `${who} had an error of its own.${said}`,
        ...asking(null, again(" in a few minutes"))
      }
    case "timeout":
      return {
        kind: "other",
        cause: `${who} did not answer in time.${said}`,
        next: "Send your message again. If it stays so, check that the model server is not stuck.",
        remedy: "If it stays so, check that the model server is not stuck."
      }
    case "transport":
      return {
        kind: "other",
        cause: `${who} could not be reached.${said}`,
        next: "Check the network and the model's base URL, then send your message again.",
        remedy: "Check the network and the model's base URL."
      }
    case "model_not_found":
      return {
        kind: "other",
        cause: `${who} does not know the model.${said}`,
        ...asking("Set another one: `hermes model NAME`, or HERMES_MODEL.", null)
      }
    case "content_policy_blocked":
      return {
        kind: "other",
        cause: `${who} refused to answer this because of its content policy.${said}`,
        ...asking("Put it in other words, or set another model.", null)
      }
    case "provider_policy_blocked":
      return {
        kind: "other",
        cause: `The privacy settings of your account at ${who} leave no server for this model.${said}`,
        ...asking("Change them there, or set another model.", null)
      }
    case "malformed_stream":
      return {
        kind: "other",
        cause: `${who} sent something that is not an answer.${said}`,
        next: "Check the model's base URL, then send your message again.",
        remedy: "Check the model's base URL."
      }
    case "format_error":
      return {
        kind: "other",
        cause: `${who} did not understand the request.${said}`,
        next: "Try another model, or start a fresh session with /new.",
        remedy: "Try another model."
      }
    default:
      return { kind: "other", cause: `${who} could not answer.${said}`, ...asking(null, again("")) }
  }
}

/** Both as one text. */
export const text = (problem: ModelProblem): string => `${problem.cause} ${problem.next}`
