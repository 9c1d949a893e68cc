/**
 * What a failed call to a model was, judged from what was seen of it (state-agent.md 3.7), and what may be done about it
 * (3.5, 3.8). Pure.
 */
import type { ModelError, ModelErrorReason } from "./ModelRoute.js"

/** How a call failed below HTTP. */
export type TransportFailure = "connect" | "dns" | "tls" | "disconnect" | "timeout"

/** How large the conversation was that the model was sent; tokens are an estimate. */
export interface ConversationSize {
  readonly messages: number
  readonly tokens: number
  readonly contextWindow: number
}

export interface Evidence {
  readonly model: string
  /** HTTP status; null when there was no answer, or when the error came inside a good one. */
  readonly status: number | null
  /** The provider's own name for the error: `insufficient_quota`, `overloaded_error`, … */
  readonly code: string | null
  readonly message: string
  readonly transport: TransportFailure | null
  readonly size: ConversationSize
}

const says = (...patterns: ReadonlyArray<string>): RegExp => new RegExp(patterns.join("|"), "i")

const words = {
  overflow: says(
    "context[_ ]?(length|window|size)",
    "maximum context",
    "(prompt|input|request|conversation|messages?) (is|are|was) too (long|large)",
    "too many (input )?tokens",
    "exceeds? the (model'?s? )?(maximum|available|limit)",
    "(reduce|shorten) (the length of )?(your|the) (messages|prompt|input)",
    "input is too long"
  ),
  unsupportedParameter: says(
    "unsupported (parameter|value)",
    "unknown (parameter|field|argument)",
    "unrecognized (request )?(argument|parameter|field)",
    "(parameter|field) .{0,60}(not supported|not permitted|not allowed)",
    "extra (inputs|fields) (are )?not permitted"
  ),
  contentPolicy: says(
    "content[_ ]?(policy|filter|management)",
    "moderation",
    "flagged",
    "safety (system|policy|filter)",
    "prohibited_content"
  ),
  providerPolicy: says("data policy", "privacy (settings|policy)", "guardrail restrictions"),
  billing: says(
    "insufficient[_ ](quota|credit|balance|funds)",
    "credit balance",
    "(spending|spend|credit|budget|key|monthly) limit",
    "\\bbilling\\b",
    "payment required",
    "exceeded your current quota",
    "more credits",
    "out of credits"
  ),
  usageLimit: says("usage limit", "rate limit", "limit reached", "too many requests", "quota"),
  retry: says("try again", "retry", "resets? (in|at)", "wait"),
  overloaded: says("overload", "at capacity", "over capacity", "server is busy", "no available (workers|instances)"),
  rateLimit: says("rate[_ ]?limit", "too many requests", "tokens per (minute|day)", "requests per (minute|day)"),
  modelNotFound: says(
    "model.{0,80}(not found|does not exist|doesn'?t exist|not exist|is not available|not supported|unknown)",
    "(no such|unknown|invalid) model",
    "no endpoints found"
  ),
  requestValidation: says("validation error", "invalid request", "invalid_request", "bad request", "unprocessable"),
  auth: says("api[_ ]?key", "unauthori[sz]ed", "authentication", "invalid (token|credentials)", "permission"),
  /** A router's own limit at the provider behind it: another key of ours changes nothing. */
  upstreamLimit: says("rate[- ]?limited upstream", "upstream rate limit"),
  longContext: says("long context (requests?|tier|beta)", "extra usage is required for long context"),
  payloadTooLarge: says("request_too_large", "payload too large", "entity too large", "body too large"),
  timeout: says("timed? ?out", "deadline exceeded")
}

/** A model that may be silent for minutes before its first word, so that proxies cut it off. */
const reasons = says("^o\\d", "/o\\d", "gpt-5", "reason", "thinking", "deepseek-r", "qwq", "magistral")

const large = (size: ConversationSize): boolean =>
  size.tokens > 0.6 * size.contextWindow ||
  (size.contextWindow <= 256_000 && (size.tokens > 120_000 || size.messages > 200))

/** What the provider's own code says; codes mean the same with and without a status. */
const byCode = (code: string): ModelErrorReason | null => {
  if (/^(content_filter|content_policy_violation|moderation_blocked|refusal)$/.test(code))
    return "content_policy_blocked"
  if (/^(insufficient_quota|billing_error|insufficient_balance|billing_hard_limit_reached)$/.test(code))
    return "billing"
  if (/^(context_length_exceeded|string_above_max_length|exceed_context_size_error)$/.test(code))
    return "context_overflow"
  if (/^(model_not_found|model_not_found_error|invalid_model)$/.test(code)) return "model_not_found"
  if (/^(invalid_api_key|authentication_error)$/.test(code)) return "auth"
  if (/^(overloaded_error|overloaded|engine_overloaded|service_unavailable|slow_down|1305)$/.test(code))
    return "overloaded"
  if (/^(rate_limit_error|rate_limit_exceeded|rate_limited)$/.test(code)) return "rate_limit"
  if (code === "request_too_large") return "payload_too_large"
  if (code === "timeout_error") return "timeout"
  return null
}

/** Weaker names, asked only where no status says more. */
const byLooseCode = (code: string): ModelErrorReason | null => {
  if (/^(api_error|server_error|internal_error|internal_server_error)$/.test(code)) return "server_error"
  if (/^(invalid_request_error|invalid_prompt|bad_request)$/.test(code)) return "format_error"
  if (code === "not_found_error") return "model_not_found"
  if (code === "permission_error") return "auth"
  return null
}

const byMessage = (message: string): ModelErrorReason | null => {
  if (words.unsupportedParameter.test(message)) return "format_error"
  if (words.overflow.test(message)) return "context_overflow"
  if (words.contentPolicy.test(message)) return "content_policy_blocked"
  if (words.overloaded.test(message)) return "overloaded"
  if (words.rateLimit.test(message)) return "rate_limit"
  if (words.billing.test(message)) return "billing"
  if (words.modelNotFound.test(message)) return "model_not_found"
  if (words.payloadTooLarge.test(message)) return "payload_too_large"
  if (words.auth.test(message)) return "auth"
  if (words.timeout.test(message)) return "timeout"
  return null
}

const byStatus = (status: number, evidence: Evidence): ModelErrorReason => {
  const { message, size } = evidence
  switch (status) {
    case 401:
      return "auth"
    case 402:
      return words.usageLimit.test(message) && words.retry.test(message) ? "rate_limit" : "billing"
    case 403:
      if (words.contentPolicy.test(message)) return "content_policy_blocked"
      return words.billing.test(message) ? "billing" : "auth"
    case 404:
      if (words.providerPolicy.test(message)) return "provider_policy_blocked"
      if (words.billing.test(message)) return "billing"
      return words.modelNotFound.test(message) ? "model_not_found" : "unknown"
    case 408:
      return "timeout"
    case 413:
      return "payload_too_large"
    case 429:
      if (words.longContext.test(message)) return "context_overflow"
      return words.overloaded.test(message) || words.upstreamLimit.test(message) ? "overloaded" : "rate_limit"
    case 400:
    case 422:
      if (words.unsupportedParameter.test(message)) return "format_error"
      if (words.overflow.test(message) || words.longContext.test(message)) return "context_overflow"
      if (words.contentPolicy.test(message)) return "content_policy_blocked"
      if (words.modelNotFound.test(message)) return "model_not_found"
      if (words.billing.test(message)) return "billing"
      return "format_error"
    case 503:
    case 529:
      return "overloaded"
  }
  if (status >= 500) {
    if (words.overflow.test(message)) return "context_overflow"
    if (words.requestValidation.test(message)) return "format_error"
    if (status >= 520 && status <= 524 && large(size)) return "context_overflow"
    return words.overloaded.test(message) ? "overloaded" : "server_error"
  }
  return byMessage(message) ?? (status >= 400 ? "format_error" : "unknown")
}

/**
 * The reason of a failed call. Order of evidence: what the provider names itself, status, looser names, words, TLS,
 * the disconnect of a large conversation, transport.
 */
export const classify = (evidence: Evidence): ModelErrorReason => {
  const { code, message, status, transport } = evidence
  const named = code === null ? null : byCode(code.toLowerCase())
  if (named !== null) return named
  if (status !== null) return byStatus(status, evidence)
  const loose = code === null ? null : (byLooseCode(code.toLowerCase()) ?? byNumber(code, evidence))
  if (loose !== null && loose !== "format_error") return loose
  if (transport === null) return byMessage(message) ?? loose ?? "unknown"
  if (transport === "tls") return "transport"
  if (transport === "disconnect" && large(evidence.size)) return "context_overflow"
  if (transport === "disconnect" && reasons.test(evidence.model)) return "timeout"
  return transport === "timeout" ? "timeout" : "transport"
}

/** Some routers put the status of the provider behind them into the code. */
const byNumber = (code: string, evidence: Evidence): ModelErrorReason | null => {
  const status = /^[45]\d\d$/.test(code) ? Number(code) : null
  return status === null ? null : byStatus(status, evidence)
}

/** What may be done after a failure, before anything was said. */
export interface Verdict {
  /** The same backend may be asked again. */
  readonly retry: boolean
  /** Another key of the same provider may help. */
  readonly rotate: boolean
  /** How many tries of one backend before the next one is asked; null when no other may be. Without another one the retries go on. */
  readonly triesBeforeFallback: number | null
}

const always = Number.POSITIVE_INFINITY

const verdicts: { readonly [Reason in ModelErrorReason]: Verdict } = {
  auth: { retry: false, rotate: true, triesBeforeFallback: 1 },
  auth_permanent: { retry: false, rotate: true, triesBeforeFallback: 1 },
  billing: { retry: false, rotate: true, triesBeforeFallback: 1 },
  rate_limit: { retry: true, rotate: true, triesBeforeFallback: 1 },
  overloaded: { retry: true, rotate: false, triesBeforeFallback: 2 },
  timeout: { retry: true, rotate: false, triesBeforeFallback: 2 },
  server_error: { retry: true, rotate: false, triesBeforeFallback: always },
  transport: { retry: true, rotate: false, triesBeforeFallback: always },
  malformed_stream: { retry: true, rotate: false, triesBeforeFallback: always },
  unknown: { retry: true, rotate: false, triesBeforeFallback: always },
  model_not_found: { retry: false, rotate: false, triesBeforeFallback: 1 },
  content_policy_blocked: { retry: false, rotate: false, triesBeforeFallback: 1 },
  format_error: { retry: false, rotate: false, triesBeforeFallback: 1 },
  not_configured: { retry: false, rotate: false, triesBeforeFallback: 1 },
  provider_policy_blocked: { retry: false, rotate: false, triesBeforeFallback: null },
  context_overflow: { retry: false, rotate: false, triesBeforeFallback: null },
  payload_too_large: { retry: false, rotate: false, triesBeforeFallback: null }
}

export const verdict = (reason: ModelErrorReason): Verdict => verdicts[reason]

const minute = 60_000
const hour = 60 * minute

/**
 * Milliseconds for which a key is left alone after its failure (state-agent.md 3.9); 0: it is not. What the provider says
 * of its reset wins, up to a day. `alone`: there is no other key of the same backend, so that it is soon asked again, save without credit.
 */
export const cooldownMillis = (error: ModelError, alone: boolean): number =>
  Math.min(timeAlone(error, alone), 24 * hour)

const timeAlone = (error: ModelError, alone: boolean): number => {
  switch (error.reason) {
    case "auth":
      return alone ? minute : 5 * minute
    case "billing":
      return error.retryAfterMillis ?? hour
    case "rate_limit":
      return error.retryAfterMillis ?? (alone ? minute : hour)
    default:
      return 0
  }
}

/** The longest wait that a provider may ask for and get (milliseconds). */
export const longestRetryAfterMillis = 600_000

const firstBackoffMillis = 2_000
const longestBackoffMillis = 60_000
const overloadedBackoffMillis = [15_000, 30_000, 60_000, 120_000]

/**
 * Milliseconds before the next try of the same backend, where `retries` were made before; null when the provider asks
 * for more than {@link longestRetryAfterMillis}, so that waiting here is of no use. `random` is in [0, 1).
 */
export const backoffMillis = (error: ModelError, retries: number, random: number): number | null => {
  if (error.retryAfterMillis !== null)
    return error.retryAfterMillis > longestRetryAfterMillis ? null : error.retryAfterMillis
  const inAnswer = error.reason === "overloaded" && error.status === null
  const base = inAnswer
    ? (overloadedBackoffMillis[retries] ?? 120_000)
    : Math.min(firstBackoffMillis * 2 ** retries, longestBackoffMillis)
  return Math.round(base * (1 + random / 2))
}
