/** What a provider says about an error: many shapes, all read into a message, a code and a wait. */
import { Option, Schema } from "effect"
import * as Nesting from "../../services/operation/Nesting.js"

const Code = Schema.Union(Schema.String, Schema.Number)
const Inner = Schema.Struct({
  message: Schema.optional(Schema.NullOr(Schema.String)),
  type: Schema.optional(Schema.NullOr(Schema.String)),
  code: Schema.optional(Schema.NullOr(Code)),
  metadata: Schema.optional(
    Schema.NullOr(
      Schema.Struct({ raw: Schema.optional(Schema.Unknown), provider_name: Schema.optional(Schema.Unknown) })
    )
  )
})
const Body = Schema.Struct({
  error: Schema.optional(Schema.Union(Schema.String, Inner)),
  message: Schema.optional(Schema.Unknown),
  detail: Schema.optional(Schema.Unknown),
  type: Schema.optional(Schema.NullOr(Schema.String)),
  code: Schema.optional(Schema.NullOr(Code))
})
const decodeBody = Schema.decodeUnknownOption(Body)
const decodeJson = Schema.decodeUnknownOption(Schema.parseJson())

export interface ProviderError {
  readonly message: string
  readonly code: string | null
}

const vague = new Set(["error", "invalid_request_error", "server_error", "api_error", "invalid_request", "null"])

/** The more telling of the two names: `{type: "invalid_request_error", code: "context_length_exceeded"}`. */
const nameOf = (code: string | number | null | undefined, type: string | null | undefined): string | null => {
  const codeText = code === null || code === undefined ? null : String(code)
  if (codeText !== null && !/^\d+$/.test(codeText) && !vague.has(codeText)) return codeText
  return type ?? codeText
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : Nesting.json(value)

/** Reads an error document that is already JSON; null when it speaks of no error. */
export const fromJson = (value: unknown): ProviderError | null => {
  const decoded = decodeBody(value)
  if (Option.isNone(decoded)) return null
  const { code, detail, error, message, type } = decoded.value
  if (typeof error === "string") return { message: error, code: nameOf(code, type) }
  if (error !== undefined) {
    const raw = textOf(error.metadata?.raw)
    return {
      message: [error.message ?? "", raw].filter((part) => part !== "").join(": "),
      code: nameOf(error.code, error.type)
    }
  }
  const said = textOf(message ?? detail)
  return said === "" ? null : { message: said, code: nameOf(code, type) }
}

/** Reads the body of an error status, which may be anything. */
export const fromText = (text: string): ProviderError =>
  Option.match(decodeJson(text), {
    onNone: () => ({ message: text, code: null }),
    onSome: (value) => fromJson(Array.isArray(value) ? value[0] : value) ?? { message: text, code: null }
  })

const units: { readonly [unit: string]: number } = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** `7m12s`, `1.5s`, `20ms`: as some providers write a wait. */
const spelled = (text: string): number | null => {
  let total: number | null = null
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)(?![a-z])/g))
    total = (total ?? 0) + Number(amount) * (units[unit ?? "s"] ?? 1_000)
  return total
}

/** Headers first, then the message. */
const saidMillis = (
  headers: Readonly<Record<string, string | undefined>>,
  message: string,
  nowMillis: number
): number | null => {
  const exact = Number(headers["retry-after-ms"] ?? Number.NaN)
  if (Number.isFinite(exact) && exact >= 0) return exact
  const header = headers["retry-after"]?.trim() ?? ""
  if (/^\d+(\.\d+)?$/.test(header)) return Number(header) * 1_000
  const date = header === "" ? Number.NaN : Date.parse(header)
  if (!Number.isNaN(date)) return Math.max(0, date - nowMillis)
  const said =
    /(?:try again|retry|resets?|wait)[^.]{0,40}?\b(?:in|after)\s+([\d.]+\s*(?:ms|s|m|h|d)(?:[\d.smh\s]*))/i.exec(
      message
    )?.[1]
  return said === undefined ? null : spelled(said)
}

/** No limit lasts longer than the month that it is counted for: what says so is nonsense. */
const longestMillis = 31 * 86_400_000

/** How long to wait before the next try, a month at most; null when nothing is said. */
export const retryAfterMillis = (...said: Parameters<typeof saidMillis>): number | null => {
  const millis = saidMillis(...said)
  return millis === null ? null : Math.min(millis, longestMillis)
}
