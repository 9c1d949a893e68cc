/** The logins and keys of the home as a person sees them. No secret is in it. */
import { Clock, Effect, Layer, Schema } from "effect"
import { seatOf } from "../../layers/models/Seats.js"
import * as AuthFile from "../../layers/node/AuthFile.js"
import * as Ids from "../../layers/node/Ids.js"
import type { Seat } from "../../services/agent/Cooldowns.js"
import { type Credential, isOver, ofLogin } from "../../services/credential/Credential.js"
import { CredentialStore } from "../../services/credential/CredentialStore.js"
import { again, type OAuthLogin } from "../../services/credential/OAuthLogin.js"
import * as Readable from "../../services/operation/Readable.js"
import { Settings } from "../../services/operation/Settings.js"
import { moment, table } from "./output.js"
import { settled } from "./settled.js"

/** ISO 8601 as it is printed. */
export const Time = Schema.transform(Schema.String, Schema.Number, {
  strict: true,
  decode: (text) => Date.parse(text),
  encode: (millis) => new Date(millis).toISOString()
})

export const LoginView = Schema.Struct({
  login: Schema.String,
  label: Schema.NullOr(Schema.String),
  provider: Schema.NullOr(Schema.String),
  baseUrl: Schema.NullOr(Schema.String),
  /**
   * `expired` is renewed when it is needed, `ended` cannot be. `none`: nobody has logged in. `unset`: the settings do not
   * name it any more, or for another host.
   */
  state: Schema.Literal("ok", "expired", "ended", "dead", "none", "unset"),
  /** Is it asked with? */
  usable: Schema.Boolean,
  detail: Schema.NullOr(Schema.String),
  since: Schema.NullOr(Time),
  expiresAt: Schema.NullOr(Time)
})
export type LoginView = typeof LoginView.Type

const states: { readonly [state in LoginView["state"]]: string } = {
  ok: "good",
  expired: "renewed when it is needed",
  ended: "over, and cannot be renewed",
  dead: "good no more",
  none: "nobody is logged in",
  unset: "not in the settings"
}

/** Who is logged in, for people. */
export const listed = (logins: ReadonlyArray<LoginView>, empty: string): ReadonlyArray<string> =>
  table(
    ["login", "label", "state", "until", "provider"],
    logins.map(({ expiresAt, label, login, provider, state }) => [
      login,
      label,
      states[state],
      moment(expiresAt),
      provider
    ]),
    empty
  )

const CooldownView = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  baseUrl: Schema.NullOr(Schema.String),
  /** A key's fingerprint, or the login and its credential. */
  credential: Schema.NullOr(Schema.String),
  /** Which of the keys in `.env`: `key 2` is NAME_2. */
  key: Schema.NullOr(Schema.String),
  reason: Schema.String,
  since: Time,
  until: Time
})

const stateOf = (one: Credential, login: OAuthLogin | undefined, now: number): LoginView["state"] => {
  if (login === undefined || ofLogin([one], login).length === 0) return "unset"
  if (one.dead !== null) return "dead"
  if (!isOver(one, now)) return "ok"
  return one.refresh_token === null ? "ended" : "expired"
}

const isUsable = (state: LoginView["state"]): boolean => state === "ok" || state === "expired"

const viewOf = (one: Credential, login: OAuthLogin | undefined, now: number): LoginView => ({
  login: one.login,
  label: one.label,
  provider: login?.provider ?? null,
  baseUrl: one.base_url === null ? null : Readable.address(one.base_url),
  state: stateOf(one, login, now),
  usable: isUsable(stateOf(one, login, now)),
  detail: one.dead?.detail ?? null,
  since: one.obtained_at,
  expiresAt: one.expires_at
})

/** Each credential, and each login that nobody has used yet. */
export const logins = Effect.gen(function* () {
  const settings = yield* Settings
  const all = yield* (yield* CredentialStore).read
  const now = yield* Clock.currentTimeMillis
  return [
    ...all.map((one) =>
      viewOf(
        one,
        settings.logins.find(({ name }) => name === one.login),
        now
      )
    ),
    ...settings.logins
      .filter(({ name }) => !all.some(({ login }) => login === name))
      .map(({ baseUrl, name, provider }): LoginView => ({
        login: name,
        label: null,
        provider,
        baseUrl: baseUrl === null ? null : Readable.address(baseUrl),
        state: "none",
        usable: false,
        detail: null,
        since: null,
        expiresAt: null
      }))
  ]
})

/** What of a login stands in the way, and what to do; null when nothing does. */
export const remedyOf = ({
  detail,
  label,
  login,
  state
}: LoginView): { readonly problem: string; readonly remedy: string } | null => {
  const called = label === null ? login : `${login} (${label})`
  switch (state) {
    case "dead":
      return {
        problem: `${called} is good no more and is not asked with: ${detail}`,
        remedy: `${again(login)} \`hermes auth revive ${login}\` tries the old one again.`
      }
    case "ended":
      return {
        problem: `${called} is over, and its server gave nothing to renew it with`,
        remedy: again(login)
      }
    case "unset":
      return {
        problem: `${called} is for a host that the settings do not name any more, so it is not used`,
        remedy: `correct oauth.${login}, or \`hermes auth logout ${login}\``
      }
    case "none":
    case "expired":
    case "ok":
      return null
  }
}

/** `auth.json` of the home that is meant, and its settings. */
export const store = AuthFile.layer.pipe(Layer.provideMerge(Layer.merge(Ids.layer, settled)))

export const All = Schema.Struct({ logins: Schema.Array(LoginView), cooldowns: Schema.Array(CooldownView) })
export type All = typeof All.Type

/** What a person calls the keys that cooldowns know by their fingerprints: their places in `.env`. */
const keyNames = Effect.map(
  Settings,
  ({ cron, fallbacks, model }) =>
    new Map(
      [model, ...fallbacks, ...cron.backends].flatMap((backend) =>
        [backend.apiKey, ...(backend.spareKeys ?? [])].flatMap((apiKey, index) => {
          const { credential } = seatOf({ ...backend, apiKey })
          return credential === null ? [] : [[credential, `key ${index + 1}`] as const]
        })
      )
    )
)

/** Few commands need the database, and it takes a while to load. */
const cooldowns = Effect.promise(() => import("./cooldowns.js"))

/** Lets seats be asked again that are left alone; answers how many. */
export const lift = (is: (seat: Seat) => boolean) => Effect.flatMap(cooldowns, (module) => module.lift(is))

export const all = Effect.gen(function* () {
  const { current } = yield* cooldowns
  const names = yield* keyNames
  return {
    logins: yield* logins,
    cooldowns: (yield* current).map(({ seat, ...rest }) => ({
      ...seat,
      ...rest,
      key: names.get(seat.credential ?? "") ?? null
    }))
  }
})

/** What is not asked with, why, until when, and what to do; nothing where all is well. */
export const problems = ({ cooldowns, logins }: All): ReadonlyArray<string> => [
  ...logins.flatMap((login) => {
    const found = remedyOf(login)
    return found === null ? [] : [found.problem, `  → ${found.remedy}`]
  }),
  ...(cooldowns.length === 0
    ? []
    : [
        "Left alone for a while (`hermes auth revive PROVIDER` lets them be asked at once):",
        ...table(
          ["model", "with", "because of", "until"],
          cooldowns.map((one) => [
            `${one.provider}/${one.model}`,
            one.key ?? one.credential,
            one.reason,
            moment(one.until)
          ]),
          ""
        )
      ])
]
