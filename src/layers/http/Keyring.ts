/** The home's key and the page's cookie: made from it, checked against it in constant time. */
import { Clock, Effect, Redacted } from "effect"
import { createHmac, hash, timingSafeEqual } from "node:crypto"

const cookieLifetimeMillis = 30 * 24 * 3_600_000

const digest = (text: string): Buffer => hash("sha256", text, "buffer")

export interface Keyring {
  readonly isKey: (candidate: string) => boolean
  /** A cookie's value that is good for 30 days and for as long as the key stays. */
  readonly mint: Effect.Effect<{ readonly value: string; readonly expiresAt: number }>
  readonly isCookie: (candidate: string) => Effect.Effect<boolean>
}

export const make = (key: Redacted.Redacted): Keyring => {
  const secret = Redacted.value(key)
  const expected = digest(secret)
  const sign = (expires: string): Buffer => createHmac("sha256", secret).update(`page:${expires}`).digest()
  const same = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

  return {
    isKey: (candidate) => secret !== "" && same(digest(candidate), expected),
    mint: Effect.map(Clock.currentTimeMillis, (now) => {
      const expiresAt = now + cookieLifetimeMillis
      const expires = expiresAt.toString(36)
      return { value: `${expires}.${sign(expires).toString("base64url")}`, expiresAt }
    }),
    isCookie: (candidate) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const [expires, signature, ...rest] = candidate.split(".")
        if (secret === "" || expires === undefined || signature === undefined || rest.length > 0) return false
        const genuine = same(Buffer.from(signature, "base64url"), sign(expires))
        return genuine && Number.parseInt(expires, 36) > now
      })
  }
}
