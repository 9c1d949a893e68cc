/** A setting as it may be read by whoever looks over a shoulder or at a pasted text: without the secrets in it. Pure. */
import * as Redactor from "../delivery/Redactor.js"

const { text: redacted } = Redactor.make([])

/** Who it is asked as, in an address, whether there is a password or a token alone. */
const userOfAddress = /(\b[a-z][a-z0-9+.-]{0,40}:\/\/)[^\s/?#]*@/gi

/** An address, or any other text, without what lets somebody in. */
export const address = (text: string): string => redacted(text.replace(userOfAddress, `$1${Redactor.mark}@`))

/** What a child or a server outside is given by name; a variable of `.env` in its place says nothing. */
const given = (values: unknown): unknown =>
  typeof values === "object" && values !== null
    ? Object.fromEntries(
        Object.entries(values).map(([name, value]) => [
          name,
          typeof value === "string" && /^\$\{\w+\}$/.test(value) ? value : Redactor.mark
        ])
      )
    : Redactor.mark

/** The value of a setting, however deep a secret stands in it. */
export const setting = (value: unknown): unknown => {
  if (typeof value === "string") return address(value)
  if (Array.isArray(value)) return value.map(setting)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      name === "env" || name === "headers" ? given(inner) : setting(inner)
    ])
  )
}
