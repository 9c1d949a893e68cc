import { Context, type Effect, type Redacted, Schema } from "effect"
import type { AuthFileUnusable } from "./CredentialStore.js"
import type { Credential } from "./Credential.js"
import { again, type OAuthLogin } from "./OAuthLogin.js"

/** No token can be had until somebody logs in: nobody has, or what they got is good no more. */
export class LoginNeeded extends Schema.TaggedError<LoginNeeded>()("LoginNeeded", {
  login: Schema.String,
  detail: Schema.String
}) {
  /** What to do comes first: the rest may be cut off where there is little room. */
  override get message(): string {
    return `${again(this.login)} ${this.detail}`
  }
}

/** The server of the login gave no token this time; what is stored is as good as before. */
export class TokenUnavailable extends Schema.TaggedError<TokenUnavailable>()("TokenUnavailable", {
  login: Schema.String,
  reason: Schema.Literal("unreachable", "silent", "limited", "failing", "refused"),
  detail: Schema.String,
  retryAfterMillis: Schema.NullOr(Schema.Number)
}) {
  override get message(): string {
    return `the login ${this.login} could not be renewed: ${this.detail}`
  }
}

export type TokenError = LoginNeeded | TokenUnavailable | AuthFileUnusable

/** The tokens that models are asked with where a login stands in the place of a key. */
export class AccessTokens extends Context.Tag("hermes/credential/AccessTokens")<
  AccessTokens,
  {
    /** Those of a login in order, dead ones too. */
    readonly credentials: (login: OAuthLogin) => Effect.Effect<ReadonlyArray<Credential>, AuthFileUnusable>
    /**
     * The token of a credential (null: the first of the login), renewed first where its time is near, or where it is the
     * one that was `refused`. However many ask, in however many processes, it is renewed once. Who is interrupted leaves
     * a renewal to its end: its refresh token is spent.
     */
    readonly token: (
      login: OAuthLogin,
      credential: string | null,
      refused: Redacted.Redacted | null
    ) => Effect.Effect<Redacted.Redacted, TokenError>
  }
>() {}
