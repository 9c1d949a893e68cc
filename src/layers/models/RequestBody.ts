/** The body of a request to a model. */
import * as HttpBody from "@effect/platform/HttpBody"

/** JSON writes half of a surrogate pair as an escape, and nothing else of these; a backslash of a text is written as two. */
const backslash = /\\(?:\\|u(d[89a-f][0-9a-f]{2}))/g

/**
 * A payload as JSON that every reader of UTF-8 takes. Half of a surrogate pair becomes U+FFFD: a text that was cut in the
 * middle of a character, a tool's answer or an order of its own, and a provider refuses the whole request for it, now and
 * in each turn that follows.
 */
export const textOf = (payload: unknown): string => {
  const text = JSON.stringify(payload)
  return text.includes("\\ud")
    ? text.replace(backslash, (found, half) => (half === undefined ? found : "\ufffd"))
    : text
}

export const of = (payload: unknown): HttpBody.HttpBody => HttpBody.text(textOf(payload), "application/json")
