/** A way to log in with OAuth 2 instead of a key, as the owner has set it (`oauth` in `config.yaml`). Pure. */
import type { Redacted } from "effect"
import type { ModelBackend, Provider } from "../operation/Settings.js"

export interface OAuthLogin {
  /** What `hermes auth login` is told. */
  readonly name: string
  /** Whose API its tokens are for, and where; null is the provider's own address. */
  readonly provider: Provider
  readonly baseUrl: string | null
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted | null
  readonly deviceUrl: string
  readonly tokenUrl: string
  /** Where a login is ended (RFC 7009); null where it ends by itself alone. */
  readonly revokeUrl: string | null
  readonly scope: string | null
}

const originOf = (url: string | null): string | null => (url !== null && URL.canParse(url) ? new URL(url).origin : url)

/** Do both name the same host? A name that only looks alike is another one. */
export const isSamePlace = (one: string | null, other: string | null): boolean => originOf(one) === originOf(other)

/** The login whose tokens a backend is asked with: its own provider's, for its own host. */
export const of = (
  logins: ReadonlyArray<OAuthLogin>,
  { baseUrl, provider }: Pick<ModelBackend, "provider" | "baseUrl">
): OAuthLogin | undefined => logins.find((login) => login.provider === provider && isSamePlace(login.baseUrl, baseUrl))

/** What a person does about a login that is good no more. */
export const again = (name: string): string => `Log in with \`hermes auth login ${name}\`.`
