import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Layer, Option, Schema } from "effect"
import * as DeviceLogin from "../../layers/models/oauth/DeviceLogin.js"
import * as Logins from "../../layers/models/oauth/Logins.js"
import { Settings } from "../../services/operation/Settings.js"
import * as Credentials from "./credentials.js"
import { failed, usage } from "./failure.js"
import { answer, moment, note } from "./output.js"
import { ownerOnly } from "./ownerOnly.js"
import { named } from "./named.js"

const list = Command.make("list", {}, () =>
  Effect.gen(function* () {
    const all = yield* Credentials.all
    yield* answer(Credentials.All, all, ({ logins, ...rest }) => {
      const told = Credentials.problems({ logins, ...rest })
      return [
        ...Credentials.listed(logins, "No logins are set up: `oauth` in config.yaml names them. Keys stand in .env."),
        ...(told.length === 0 ? [] : ["", ...told])
      ]
    })
  })
).pipe(
  Command.withDescription("Who is logged in where, and which keys are left alone for a while. No secrets."),
  Command.provide(Credentials.store)
)

const label = Options.text("label").pipe(Options.withDescription("Which of several accounts."))

const LoggedIn = Schema.Struct({
  login: Schema.String,
  label: Schema.String,
  expiresAt: Schema.NullOr(Credentials.Time)
})

const loginNamed = (name: string) =>
  Effect.gen(function* () {
    const { logins } = yield* Settings
    const login = logins.find((one) => one.name === name)
    if (login !== undefined) return login
    return yield* usage(
      logins.length === 0
        ? "no logins are set up: `oauth` in config.yaml names them (docs/models.md)"
        : `there is no login "${name}"; there is ${logins.map((one) => one.name).join(", ")}`
    )
  })

const login = Command.make(
  "login",
  { name: named("LOGIN"), label: label.pipe(Options.withDefault("default")) },
  ({ label, name }) =>
    Effect.gen(function* () {
      yield* ownerOnly("a login")
      yield* Effect.gen(function* () {
        const login = yield* loginNamed(name)
        const { invitation, tokens } = yield* DeviceLogin.begin(login)
        yield* note(
          [
            `Open ${invitation.wholeAddress ?? invitation.address} and say yes there.`,
            `The code is ${invitation.userCode}, good until ${moment(invitation.expiresAt)}.`
          ].join("\n")
        )
        const given = yield* tokens
        // The server has given them once: whatever happens now, they are kept.
        const kept = yield* Effect.uninterruptible(Logins.keep(login, label, given))
        yield* answer(LoggedIn, { login: name, label, expiresAt: kept.expires_at }, () => [
          `Logged in with ${name}${label === "default" ? "" : ` as ${label}`}.`,
          ...(kept.refresh_token === null && kept.expires_at !== null
            ? [`The server gave nothing to renew it with: it ends at ${moment(kept.expires_at)}.`]
            : []),
          ...(kept.priority === 0
            ? []
            : ["A running gateway asks with it from its next turn on, while the others are at a limit."])
        ])
      }).pipe(Effect.provide(Layer.merge(Credentials.store, FetchHttpClient.layer)))
    })
).pipe(Command.withDescription("Logs in with OAuth in a browser, here or on any other device."))

const Changed = Schema.Struct({ login: Schema.String, labels: Schema.Array(Schema.String) })

const LoggedOut = Schema.Struct({ ...Changed.fields, endedAtServer: Schema.Boolean })

const logout = Command.make("logout", { name: named("LOGIN"), label: Options.optional(label) }, ({ label, name }) =>
  Effect.gen(function* () {
    yield* ownerOnly("an end of a login")
    const gone = yield* Logins.remove({ login: name, label: Option.getOrNull(label) })
    if (gone.length === 0) return yield* failed(`nobody is logged in with ${name}; \`hermes auth list\` shows who is`)
    const { logins } = yield* Settings
    const login = logins.find((one) => one.name === name)
    const endedAtServer = (yield* Effect.forEach(gone, (one) => Logins.ended(login, one))).every((ended) => ended)
    const labels = gone.map((one) => one.label)
    yield* answer(LoggedOut, { login: name, labels, endedAtServer }, () => [
      `Logged out of ${name} (${labels.join(", ")}), ${endedAtServer ? "here and at its server" : "here: at its server it ends by itself, or where you revoke it"}.`
    ])
  }).pipe(Effect.provide(Layer.merge(Credentials.store, FetchHttpClient.layer)))
).pipe(Command.withDescription("Forgets a login, and ends it at its server where that is set up (revoke_url)."))

const Revived = Schema.Struct({ name: Schema.String, labels: Schema.Array(Schema.String), cooldowns: Schema.Int })

const revive = Command.make("revive", { name: named("NAME"), label: Options.optional(label) }, ({ label, name }) =>
  Effect.gen(function* () {
    yield* ownerOnly("reviving a login")
    const revived = yield* Effect.provide(
      Logins.revive({ login: name, label: Option.getOrNull(label) }),
      Credentials.store
    )
    const cooldowns = yield* Credentials.lift(
      ({ credential, provider }) => provider === name || (credential?.startsWith(`login:${name}/`) ?? false)
    )
    if (revived.length + cooldowns === 0)
      return yield* failed(`nothing of "${name}" was given up or left alone; \`hermes auth list\` shows what is`)
    yield* answer(Revived, { name, labels: revived.map((one) => one.label), cooldowns }, ({ cooldowns, labels }) => [
      ...(labels.length === 0 ? [] : [`${name} (${labels.join(", ")}) is asked with again.`]),
      ...(cooldowns === 0
        ? []
        : [`${cooldowns} that ${cooldowns === 1 ? "was" : "were"} left alone may be asked at once.`])
    ])
  })
).pipe(
  Command.withDescription("Lets what was given up or is left alone be asked again: a login, or a provider's keys.")
)

export const command = Command.make("auth").pipe(
  Command.withDescription("Logins in the place of keys, and which keys are left alone for a while."),
  Command.withSubcommands([list, login, logout, revive])
)
