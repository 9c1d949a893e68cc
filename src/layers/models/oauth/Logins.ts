/** What a person does with logins: a new one, an end, and another try. Each change is made while nobody else may make one. */
import { HttpClient } from "@effect/platform/HttpClient"
import { Clock, Effect, Schema } from "effect"
import type { Credential } from "../../../services/credential/Credential.js"
import { CredentialStore } from "../../../services/credential/CredentialStore.js"
import { isSamePlace, type OAuthLogin } from "../../../services/credential/OAuthLogin.js"
import { Ids } from "../../../services/operation/Ids.js"
import * as TokenEndpoint from "./TokenEndpoint.js"

/** Of a login, all of its credentials or the one of a label. */
export interface Meant {
  readonly login: string
  readonly label: string | null
}

const isMeant =
  ({ label, login }: Meant) =>
  (credential: Credential): boolean =>
    credential.login === login && (label === null || credential.label === label)

/** Keeps what was given, in the place of what the same login and label had. A file that is damaged is begun anew: its copy is beside it. */
export const keep = (login: OAuthLogin, label: string, tokens: TokenEndpoint.Tokens) =>
  Effect.gen(function* () {
    const store = yield* CredentialStore
    const id = yield* (yield* Ids).next("credential")
    const now = yield* Clock.currentTimeMillis
    return yield* store.held((file) =>
      Effect.gen(function* () {
        const all = yield* Effect.catchIf(
          file.read,
          (error) => error.reason === "corrupt",
          () => Effect.succeed<ReadonlyArray<Credential>>([])
        )
        const before = all.find(isMeant({ login: login.name, label }))
        const priorities = all.filter((one) => one.login === login.name).map(({ priority }) => priority)
        const credential: Credential = {
          id: before?.id ?? id,
          login: login.name,
          label,
          auth_type: "oauth",
          source: "device_code",
          priority: before?.priority ?? Math.max(-1, ...priorities) + 1,
          base_url: login.baseUrl,
          token_url: login.tokenUrl,
          client_id: login.clientId,
          scope: tokens.scope ?? login.scope,
          access_token: tokens.access_token,
          refresh_token: tokens.refresh_token ?? null,
          obtained_at: now,
          expires_at: TokenEndpoint.expiryOf(tokens, now),
          renewing_since: null,
          dead: null
        }
        yield* file.write([...all.filter((one) => one.id !== credential.id), credential])
        return credential
      })
    )
  })

/** Takes them out of the file; answers which. */
export const remove = (meant: Meant) =>
  Effect.flatMap(CredentialStore, (store) =>
    store.held((file) =>
      Effect.gen(function* () {
        const all = yield* file.read
        const gone = all.filter(isMeant(meant))
        if (gone.length > 0) yield* file.write(all.filter((one) => !gone.includes(one)))
        return gone
      })
    )
  )

/** Tells the server that what it gave is to be good no more; false where it does not take that, or gives no address for it. */
export const ended = (login: OAuthLogin | undefined, credential: Credential) =>
  Effect.gen(function* () {
    // Its server is the one that it was made at, whatever the settings say since.
    if (login === undefined || login.revokeUrl === null || !isSamePlace(login.tokenUrl, credential.token_url))
      return false
    const client = yield* HttpClient
    const fields = {
      token: credential.refresh_token ?? credential.access_token,
      token_type_hint: credential.refresh_token === null ? "access_token" : "refresh_token",
      client_id: credential.client_id,
      client_secret: login.clientSecret
    }
    return yield* TokenEndpoint.ask(client, login.revokeUrl, fields, Schema.String).pipe(
      Effect.as(true),
      Effect.catchAll(({ detail }) =>
        Effect.as(
          Effect.logWarning("a login could not be ended at its server").pipe(
            Effect.annotateLogs({ login: login.name, detail })
          ),
          false
        )
      )
    )
  })

/** Lets those be asked with again that were given up; answers which. */
export const revive = (meant: Meant) =>
  Effect.flatMap(CredentialStore, (store) =>
    store.held((file) =>
      Effect.gen(function* () {
        const all = yield* file.read
        const dead = all.filter((one) => isMeant(meant)(one) && (one.dead !== null || one.renewing_since !== null))
        if (dead.length > 0)
          yield* file.write(all.map((one) => (dead.includes(one) ? { ...one, dead: null, renewing_since: null } : one)))
        return dead
      })
    )
  )
