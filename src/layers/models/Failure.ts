/** From what was seen of a failed call to a `ModelError` without secrets. */
import { Option, Redacted, Schema } from "effect"
import { classify, type ConversationSize, type TransportFailure } from "../../services/agent/ModelEvidence.js"
import {
  type BackendName,
  ModelError,
  type ModelErrorReason,
  type ModelRequest
} from "../../services/agent/ModelRoute.js"

/** Whose call it was. */
export interface CallOrigin {
  readonly backend: BackendName
  readonly contextWindow: number
  /** Takes the backend's secrets out of a text. */
  readonly scrub: (text: string) => string
}

const longestDetail = 500

const keyShapes = /\b(sk|pk|rk|gsk|xai|key|AIza)[-_][\w-]{8,}|\bBearer\s+\S+/gi

/** Removes the keys, and whatever else looks like one: providers echo keys in their errors. */
export const scrubber = (...apiKeys: ReadonlyArray<Redacted.Redacted | null>): ((text: string) => string) => {
  const keys = apiKeys.flatMap((key) => (key === null ? [] : [Redacted.value(key)])).filter((key) => key.length >= 6)
  return (text) =>
    keys.reduce((scrubbed, key) => scrubbed.replaceAll(key, "[redacted]"), text).replace(keyShapes, "[redacted]")
}

const frame = /^\s*(at .+(:\d+:\d+|<anonymous>|native)\)?$|File ".+", line \d+)/

/** Some servers send their stack with their error, which helps nobody here. Of Python's the error itself comes last. */
const withoutStack = (text: string): string => {
  const lines = text.split("\n").filter((line) => line.trim() !== "" && !frame.test(line))
  const traceback = lines.findIndex((line) => /^\s*Traceback \(most recent call last\)/.test(line))
  return (traceback === -1 ? lines : [...lines.slice(0, traceback), ...lines.slice(traceback + 1).slice(-1)]).join("\n")
}

/** A text as a detail: one line, short, without markup of an error page or somebody's stack. */
export const detailOf = (text: string, scrub: CallOrigin["scrub"]): string => {
  const title = /<title[^>]*>([^<]{1,200})/i.exec(text)?.[1]
  const plain = /^\s*</.test(text) ? `an HTML page${title === undefined ? "" : `: ${title}`}` : withoutStack(text)
  const line = scrub(plain.replace(/[\s\p{Cc}]+/gu, " ").trim())
  return line.length > longestDetail ? `${line.slice(0, longestDetail)}…` : line
}

/** An estimate: four characters a token. */
export const sizeOf = (request: ModelRequest, contextWindow: number): ConversationSize => {
  let characters = request.systemPrompt.length
  for (const message of request.messages) {
    characters += message.text.length
    if (message._tag === "assistant") for (const call of message.toolCalls) characters += call.arguments.length
  }
  return { messages: request.messages.length, tokens: Math.ceil(characters / 4), contextWindow }
}

export interface Seen {
  readonly message: string
  readonly status?: number | null
  readonly code?: string | null
  readonly transport?: TransportFailure
  readonly retryAfterMillis?: number | null
}

const error = (origin: CallOrigin, reason: ModelErrorReason, seen: Seen): ModelError =>
  new ModelError({
    reason,
    provider: origin.backend.provider,
    detail: detailOf(seen.message, origin.scrub),
    status: seen.status ?? null,
    retryAfterMillis: seen.retryAfterMillis ?? null
  })

/** The error that the evidence speaks for. */
export const judged = (origin: CallOrigin, request: ModelRequest, seen: Seen): ModelError =>
  error(
    origin,
    classify({
      model: origin.backend.model,
      status: seen.status ?? null,
      code: seen.code ?? null,
      message: seen.message,
      transport: seen.transport ?? null,
      size: sizeOf(request, origin.contextWindow)
    }),
    seen
  )

/** An error whose reason is known. */
export const certain = (origin: CallOrigin, reason: ModelErrorReason, message: string): ModelError =>
  error(origin, reason, { message })

const Cause = Schema.Struct({
  code: Schema.optional(Schema.String),
  message: Schema.optional(Schema.String),
  cause: Schema.optional(Schema.Unknown),
  errors: Schema.optional(Schema.Array(Schema.Unknown))
})
const decodeCause = Schema.decodeUnknownOption(Cause)

const transportOf = (code: string): TransportFailure | null => {
  if (/^(ENOTFOUND|EAI_\w+)$/.test(code)) return "dns"
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|EACCES)$/.test(code)) return "connect"
  if (/TIMEDOUT|TIMEOUT/.test(code)) return "timeout"
  if (/^(ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_ABORTED|HPE_\w+)$/.test(code)) return "disconnect"
  return /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO_/.test(code) ? "tls" : null
}

const saidOf: { readonly [Kind in TransportFailure]: string } = {
  connect: "the connection was refused",
  dns: "the name of the server is not known",
  tls: "the server's certificate was not accepted",
  disconnect: "the connection was closed before the answer was complete",
  timeout: "no connection or no answer in time"
}

/** What a failed connection says of itself, however deep its cause lies. */
export const transportFailure = (
  cause: unknown
): { readonly transport: TransportFailure; readonly message: string } => {
  const pending: Array<unknown> = [cause]
  for (let steps = 0; pending.length > 0 && steps < 16; steps++) {
    const decoded = decodeCause(pending.shift())
    if (Option.isNone(decoded)) continue
    const { code, cause: deeper, errors } = decoded.value
    const transport = code === undefined ? null : transportOf(code)
    if (transport !== null) return { transport, message: `${saidOf[transport]} (${code})` }
    if (deeper !== undefined) pending.push(deeper)
    if (errors !== undefined) pending.push(...errors)
  }
  return { transport: "disconnect", message: saidOf.disconnect }
}
