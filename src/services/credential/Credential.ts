/** What a login has given: an access token, the token that renews it once, and how both are (state-agent.md 3.9). Pure. */
import { Redacted, Schema } from "effect"
import type { OAuthLogin } from "./OAuthLogin.js"
import { isSamePlace } from "./OAuthLogin.js"

const Millis = Schema.transform(Schema.String, Schema.Number, {
  strict: true,
  decode: (text) => Date.parse(text),
  encode: (millis) => new Date(millis).toISOString()
}).pipe(Schema.filter(Number.isFinite))

/** Why a credential is never asked with again; `detail` holds no secret. */
export const Death = Schema.Struct({ reason: Schema.String, detail: Schema.String, at: Millis })
export type Death = typeof Death.Type

export const Credential = Schema.Struct({
  id: Schema.NonEmptyString,
  login: Schema.NonEmptyString,
  label: Schema.NonEmptyString,
  auth_type: Schema.Literal("oauth"),
  source: Schema.Literal("device_code"),
  /** The smallest is asked first. */
  priority: Schema.Int,
  /** Where its tokens go and where they are renewed: of the time of the login, so that later settings send them nowhere else. */
  base_url: Schema.NullOr(Schema.String),
  token_url: Schema.String,
  client_id: Schema.String,
  scope: Schema.NullOr(Schema.String),
  access_token: Schema.Redacted(Schema.NonEmptyString),
  refresh_token: Schema.NullOr(Schema.Redacted(Schema.NonEmptyString)),
  obtained_at: Millis,
  expires_at: Schema.NullOr(Millis),
  /** Set before the refresh token is spent, and taken away with what came of it: found again, the process died between. */
  renewing_since: Schema.NullOr(Millis),
  dead: Schema.NullOr(Death)
})
export type Credential = typeof Credential.Type

/** `auth.json`. What a newer program wrote is not touched by an older one. */
export const AuthFile = Schema.Struct({ version: Schema.Literal(1), credentials: Schema.Array(Credential) })

/** Refusals that no waiting changes: the token, or the whole family of it, is good no more. */
const terminal: ReadonlySet<string> = new Set([
  "token_invalidated",
  "token_revoked",
  "invalid_token",
  "invalid_grant",
  "unauthorized_client",
  "refresh_token_reused"
])

export const isTerminal = (reason: string): boolean => terminal.has(reason)

const earliestMillis = 60_000

/** Is it time to renew? A minute ahead, or a quarter of a short life; after a renewal that was cut off only when nothing else is left. */
export const isDue = ({ expires_at, obtained_at, renewing_since }: Credential, now: number): boolean => {
  if (expires_at === null) return false
  const ahead = renewing_since === null ? Math.min(earliestMillis, Math.max(0, expires_at - obtained_at) / 4) : 0
  return now >= expires_at - ahead
}

export const isOver = ({ expires_at }: Credential, now: number): boolean => expires_at !== null && now >= expires_at

/** Has somebody else changed the tokens? */
export const isOther = (one: Credential, other: Credential): boolean =>
  secretOf(one.access_token) !== secretOf(other.access_token) ||
  secretOf(one.refresh_token) !== secretOf(other.refresh_token)

const secretOf = (token: Redacted.Redacted | null): string | null => (token === null ? null : Redacted.value(token))

/** Those that a login may be asked with, in order: made with it, for the host that it is for. */
export const ofLogin = (all: ReadonlyArray<Credential>, login: OAuthLogin): ReadonlyArray<Credential> =>
  all
    .filter((one) => one.login === login.name && isSamePlace(one.base_url, login.baseUrl))
    .toSorted((a, b) => a.priority - b.priority)
