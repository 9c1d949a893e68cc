/** The device authorization grant (RFC 8628): a person says yes in any browser, and nothing has to listen here. */
import { HttpClient } from "@effect/platform/HttpClient"
import { Clock, Data, Effect, Schema } from "effect"
import type { OAuthLogin } from "../../../services/credential/OAuthLogin.js"
import * as TokenEndpoint from "./TokenEndpoint.js"

/** What the person is shown. */
export interface Invitation {
  readonly userCode: string
  readonly address: string
  /** With the code in it; null where the server gives none. */
  readonly wholeAddress: string | null
  /** Epoch milliseconds. */
  readonly expiresAt: number
}

/** It ended without a login. */
export class LoginRefused extends Data.TaggedError("LoginRefused")<{
  readonly login: string
  readonly detail: string
}> {
  override get message(): string {
    return `logging in with ${this.login} did not work: ${this.detail}`
  }
}

const WebAddress = Schema.String.pipe(Schema.filter((text) => /^https?:\/\//i.test(text) && URL.canParse(text)))
/** Below zero too: what the server says is over is told. */
const Life = Schema.Union(Schema.Number, Schema.NumberFromString).pipe(Schema.filter((n) => !Number.isNaN(n)))

/** Some servers call the address by its older name. */
const Authorization = Schema.Struct({
  device_code: Schema.Redacted(Schema.NonEmptyString),
  user_code: Schema.NonEmptyString.pipe(Schema.maxLength(100)),
  verification_uri: Schema.optional(WebAddress),
  verification_url: Schema.optional(WebAddress),
  verification_uri_complete: Schema.optional(Schema.NullOr(WebAddress)),
  expires_in: TokenEndpoint.lenient(Life),
  interval: TokenEndpoint.lenient(TokenEndpoint.Seconds)
})

const longestMillis = 30 * 60_000
/** Where a server does not say it, or says something that makes no sense. */
const standardMillis = 10 * 60_000
const standardIntervalMillis = 5_000
const [shortestIntervalMillis, longestIntervalMillis] = [100, 60_000]

const refused = (login: OAuthLogin, detail: string) => new LoginRefused({ login: login.name, detail })

const words: { readonly [code: string]: string } = {
  access_denied: "it was declined in the browser",
  expired_token: "nobody said yes in time; try again",
  invalid_client: "the server does not know this client; check client_id and client_secret_env of the login",
  unauthorized_client: "the server does not let this client log in this way",
  invalid_scope: "the server does not know this scope; check scope of the login"
}

/** A server that speaks, and of something else: its address is the likely mistake. */
const isElsewhere = ({ code, kind, status }: TokenEndpoint.EndpointFailure): boolean =>
  code === null && (kind === "refused" || isJunk({ kind, status })) && status !== 429

/** Well received, and no answer. It is asked again: what stands before a server may have said it. */
const isJunk = ({ kind, status }: Pick<TokenEndpoint.EndpointFailure, "kind" | "status">): boolean =>
  kind === "unheard" && status !== null && status < 300

const mostJunk = 3

const detailOf = (failure: TokenEndpoint.EndpointFailure, setting: "device_url" | "token_url"): string => {
  const { code, detail } = failure
  const known = code === null ? undefined : words[code]
  if (known !== undefined) return `${known} (${detail})`
  return isElsewhere(failure) ? `${detail}; check ${setting} of the login` : detail
}

/** Asks until the person has said yes or no, or the time is over. */
const awaited = (
  client: HttpClient,
  login: OAuthLogin,
  fields: TokenEndpoint.Fields,
  expiresAt: number,
  intervalMillis: number
): Effect.Effect<TokenEndpoint.Tokens, LoginRefused> =>
  Effect.gen(function* () {
    let junk = 0
    for (let interval = intervalMillis; ;) {
      const left = expiresAt - (yield* Clock.currentTimeMillis)
      yield* Effect.sleep(Math.max(shortestIntervalMillis, Math.min(interval, left)))
      const answer = yield* Effect.either(TokenEndpoint.ask(client, login.tokenUrl, fields, TokenEndpoint.Tokens))
      if (answer._tag === "Right") return answer.right
      const failure = answer.left
      const { code, kind, status } = failure
      const passing = code === "authorization_pending" || code === "slow_down"
      junk = isJunk(failure) ? junk + 1 : 0
      if ((kind === "refused" && !passing && status !== 429) || junk === mostJunk)
        return yield* refused(login, detailOf(failure, "token_url"))
      if ((yield* Clock.currentTimeMillis) >= expiresAt) return yield* refused(login, words["expired_token"] ?? "")
      if (code === "slow_down") interval += 5_000
      else if (!passing) interval = Math.min(interval * 2, Math.max(longestIntervalMillis, intervalMillis))
    }
  })

/** Begins a login: what to show, and the tokens when the person has said yes. */
export const begin = (
  login: OAuthLogin
): Effect.Effect<
  { readonly invitation: Invitation; readonly tokens: Effect.Effect<TokenEndpoint.Tokens, LoginRefused> },
  LoginRefused,
  HttpClient
> =>
  Effect.gen(function* () {
    const client = yield* HttpClient
    const given = yield* TokenEndpoint.ask(
      client,
      login.deviceUrl,
      { client_id: login.clientId, client_secret: login.clientSecret, scope: login.scope },
      Schema.parseJson(Authorization)
    ).pipe(Effect.mapError((failure) => refused(login, detailOf(failure, "device_url"))))
    const address = given.verification_uri ?? given.verification_url
    if (address === undefined) return yield* refused(login, "the server does not say where to say yes")
    const life = typeof given.expires_in === "number" ? given.expires_in * 1_000 : standardMillis
    if (life <= 0)
      return yield* refused(login, `the server gives a code that is over already (expires_in ${given.expires_in})`)
    const expiresAt = (yield* Clock.currentTimeMillis) + Math.min(life, longestMillis)
    return {
      invitation: {
        userCode: given.user_code,
        address,
        wholeAddress: given.verification_uri_complete ?? null,
        expiresAt
      },
      tokens: awaited(
        client,
        login,
        {
          grant_type: "urn:ietf:params:oauth:grant-type:device_code",
          device_code: given.device_code,
          client_id: login.clientId,
          client_secret: login.clientSecret
        },
        expiresAt,
        Math.max(
          shortestIntervalMillis,
          Math.min(
            typeof given.interval === "number" ? given.interval * 1_000 : standardIntervalMillis,
            longestIntervalMillis
          )
        )
      )
    }
  })
