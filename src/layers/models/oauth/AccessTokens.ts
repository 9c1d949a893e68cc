/**
 * Tokens of logins, renewed once however many ask (state-agent.md 3.9). A refresh token can be spent once, and a server
 * that sees it twice ends the whole login. So whoever renews holds `auth.json`, looks what is there now, writes down that
 * the token is about to be spent, spends it, and writes what came of it. Readers wait for nobody.
 */
import { HttpClient } from "@effect/platform/HttpClient"
import { Clock, Effect, Layer, Redacted, Schedule } from "effect"
import * as Shared from "../../../fibers/Shared.js"
import {
  AccessTokens,
  LoginNeeded,
  type TokenError,
  TokenUnavailable
} from "../../../services/credential/AccessTokens.js"
import {
  type Credential,
  isDue,
  isOther,
  isOver,
  isTerminal,
  ofLogin
} from "../../../services/credential/Credential.js"
import { CredentialStore, type HeldFile } from "../../../services/credential/CredentialStore.js"
import type { OAuthLogin } from "../../../services/credential/OAuthLogin.js"
import { Redactor } from "../../../services/delivery/Redactor.js"
import * as TokenEndpoint from "./TokenEndpoint.js"

/** So long does the end of the program wait for renewals on their way: a token that is spent and not written down is lost. */
const lastWaitMillis = 10_000

/** 0.1, 0.2, 0.4 … s: six seconds in all. */
const savingAgain = Schedule.intersect(Schedule.exponential("100 millis"), Schedule.recurs(6))

const cutOff =
  "an earlier renewal was cut off before its answer was written down, so the tokens that the server gave then are lost"

const sameToken = (one: Redacted.Redacted, other: Redacted.Redacted | null): boolean =>
  other !== null && Redacted.value(one) === Redacted.value(other)

const unavailable = (login: OAuthLogin, failure: TokenEndpoint.EndpointFailure): TokenUnavailable => {
  const { detail, retryAfterMillis, status } = failure
  const reason =
    status === 429
      ? "limited"
      : failure.kind === "unsent"
        ? "unreachable"
        : failure.kind === "refused"
          ? "refused"
          : status === null
            ? "silent"
            : "failing"
  return new TokenUnavailable({ login: login.name, reason, detail, retryAfterMillis })
}

const make = Effect.gen(function* () {
  const store = yield* CredentialStore
  const client = yield* HttpClient
  const redactor = yield* Redactor
  const onTheirWay = new Map<string, Effect.Effect<Redacted.Redacted, TokenError>>()

  /** What it holds is taken out of every text from now on. */
  const known = <C extends Credential>(credential: C): C => {
    redactor.learn(
      [credential.access_token, credential.refresh_token].flatMap((one) => (one === null ? [] : [Redacted.value(one)]))
    )
    return credential
  }

  const needed = (login: OAuthLogin, detail: string) => new LoginNeeded({ login: login.name, detail })

  const chosen = (all: ReadonlyArray<Credential>, login: OAuthLogin, id: string | null) => {
    const own = ofLogin(all, login)
    // Who has logged out and in again since has another one.
    const one = own.find((credential) => credential.id === id) ?? own[0]
    if (one === undefined)
      return needed(
        login,
        all.some((other) => other.login === login.name)
          ? `The login ${login.name} was made for another address than it is set to now.`
          : `Nobody is logged in with ${login.name}.`
      )
    return one.dead === null
      ? Effect.succeed(known(one))
      : needed(login, `The login ${login.name} (${one.label}) is good no more: ${one.dead.detail}.`)
  }

  const put = (file: HeldFile, credential: Credential) =>
    Effect.flatMap(file.read, (all) =>
      file.write(all.map((other) => (other.id === credential.id ? credential : other)))
    )

  const buried = (file: HeldFile, login: OAuthLogin, credential: Credential, reason: string, detail: string) =>
    Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      yield* put(file, { ...credential, renewing_since: null, dead: { reason, detail, at } })
      yield* Effect.logError("a login is good no more").pipe(
        Effect.annotateLogs({ login: login.name, label: credential.label, reason, detail })
      )
      return yield* needed(login, `The login ${login.name} (${credential.label}) is good no more: ${detail}.`)
    })

  /** The refresh token is spent here, and nowhere else. */
  const renew = (file: HeldFile, login: OAuthLogin, before: Credential, refreshToken: Redacted.Redacted) =>
    Effect.gen(function* () {
      const since = yield* Clock.currentTimeMillis
      yield* put(file, { ...before, renewing_since: since })
      const answer = yield* Effect.either(
        TokenEndpoint.ask(
          client,
          before.token_url,
          {
            grant_type: "refresh_token",
            refresh_token: refreshToken,
            client_id: before.client_id,
            client_secret: login.clientSecret
          },
          TokenEndpoint.Tokens
        )
      )
      if (answer._tag === "Right") {
        const tokens = answer.right
        const now = yield* Clock.currentTimeMillis
        const after = known<Credential>({
          ...before,
          access_token: tokens.access_token,
          // A server that gives no new one leaves the old one good (RFC 6749 §6).
          refresh_token: tokens.refresh_token ?? refreshToken,
          obtained_at: now,
          expires_at: TokenEndpoint.expiryOf(tokens, now),
          renewing_since: null
        })
        // The old ones are good for nothing any more: a disk that refuses is asked again before they are given up.
        yield* put(file, after).pipe(
          Effect.retry(savingAgain),
          Effect.catchAll((error) =>
            Effect.logError("a renewed login could not be stored and is lost at the end of its token", error)
          )
        )
        yield* Effect.logInfo("a login was renewed").pipe(
          Effect.annotateLogs({ login: login.name, label: before.label })
        )
        return after.access_token
      }
      const failure = answer.left
      // Somebody who does not keep to the lock may have been faster: what he got is as good.
      const now = (yield* file.read).find((other) => other.id === before.id)
      if (now !== undefined && now.dead === null && isOther(now, before)) return known(now).access_token
      if (failure.code !== null && isTerminal(failure.code))
        return yield* buried(
          file,
          login,
          before,
          before.renewing_since === null ? failure.code : "renewal_cut_off",
          before.renewing_since === null ? failure.detail : cutOff
        )
      // Where it is not known whether the token was spent, the mark stays and says so if it is refused next time.
      if (failure.kind !== "unheard") yield* put(file, before)
      return yield* unavailable(login, failure)
    })

  const renewed = (login: OAuthLogin, id: string, refused: Redacted.Redacted | null) =>
    store.held((file) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const credential = yield* chosen(yield* file.read, login, id)
        // Another process, or another turn, has been here since.
        if (!isDue(credential, now) && !sameToken(credential.access_token, refused)) return credential.access_token
        if (credential.refresh_token === null)
          return yield* buried(
            file,
            login,
            credential,
            "expired",
            "its token has ended, and there is none to renew it with"
          )
        return yield* renew(file, login, credential, credential.refresh_token)
      })
    )

  /** The one that is on its way, or a new one. */
  const oneRenewal = (login: OAuthLogin, id: string, refused: Redacted.Redacted | null) =>
    Effect.suspend(() => {
      const running = onTheirWay.get(id)
      if (running !== undefined) return running
      return Effect.flatMap(
        Shared.cached(
          Effect.ensuring(
            renewed(login, id, refused),
            Effect.sync(() => onTheirWay.delete(id))
          )
        ),
        (started) => {
          onTheirWay.set(id, started)
          return started
        }
      )
    })

  yield* Effect.addFinalizer(() =>
    Effect.forEach([...onTheirWay.values()], Effect.exit, { concurrency: "unbounded", discard: true }).pipe(
      Effect.timeoutOption(lastWaitMillis)
    )
  )

  return AccessTokens.of({
    credentials: (login) => Effect.map(store.read, (all) => ofLogin(all, login)),
    token: (login, id, refused) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const credential = yield* chosen(yield* store.read, login, id)
        const wanted = sameToken(credential.access_token, refused)
        if (!wanted && !isDue(credential, now)) return credential.access_token
        return yield* oneRenewal(login, credential.id, refused).pipe(
          Effect.catchAll((error) =>
            // What was only to be renewed ahead of its time is good yet.
            error._tag === "LoginNeeded" || wanted || isOver(credential, now)
              ? Effect.fail(error)
              : Effect.succeed(credential.access_token)
          )
        )
      })
  })
})

export const layer: Layer.Layer<AccessTokens, never, CredentialStore | HttpClient | Redactor> = Layer.scoped(
  AccessTokens,
  make
)

/** For routes that no home stands behind: nobody is logged in. */
export const layerNone: Layer.Layer<AccessTokens> = Layer.succeed(AccessTokens, {
  credentials: () => Effect.succeed([]),
  token: (login) => new LoginNeeded({ login: login.name, detail: `Nobody is logged in with ${login.name}.` })
})
