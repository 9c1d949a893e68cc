/** What stands for a backend with its credential where it is written down: never the credential itself. */
import { Redacted } from "effect"
import { createHash } from "node:crypto"
import type { Seat } from "../../services/agent/Cooldowns.js"
import type { ModelBackend } from "../../services/operation/Settings.js"

/** Enough to tell keys apart, and too little to find one by. */
const fingerprint = (key: Redacted.Redacted): string =>
  `key:${createHash("sha256").update(Redacted.value(key)).digest("hex").slice(0, 12)}`

/** Without a name, a password or a query, which may be secrets. */
const placeOf = (baseUrl: string): string => {
  if (!URL.canParse(baseUrl)) return baseUrl
  const { origin, pathname } = new URL(baseUrl)
  return `${origin}${pathname}`.replace(/\/+$/, "")
}

export const seatOf = ({ apiKey, baseUrl, model, provider }: ModelBackend): Seat => ({
  provider,
  model,
  baseUrl: baseUrl === null ? null : placeOf(baseUrl),
  credential: apiKey === null ? null : fingerprint(apiKey)
})
