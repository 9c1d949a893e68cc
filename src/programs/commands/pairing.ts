import * as Command from "@effect/cli/Command"
import { Effect, Schema } from "effect"
import { PairedUserView, PairingRequestView } from "../../services/api/Pairing.js"
import { Desk } from "../../services/operation/Desk.js"
import { desk } from "./desk.js"
import { failed } from "./failure.js"
import { answer, moment, plain, table } from "./output.js"
import { ownerOnly } from "./ownerOnly.js"
import { named } from "./named.js"

const platform = named("PLATFORM")

const nameOf = (user: { readonly userName: string | null; readonly userId: string }): string =>
  user.userName === null ? user.userId : `${plain(user.userName)} (${user.userId})`

const Listed = Schema.Struct({ pending: Schema.Array(PairingRequestView), paired: Schema.Array(PairedUserView) })

const list = Command.make("list", {}, () =>
  Effect.gen(function* () {
    const { pairing } = yield* Desk
    yield* answer(Listed, yield* pairing.list, ({ pending, paired }) => [
      "Waiting to be let in:",
      ...table(
        ["platform", "who", "until"],
        pending.map((request) => [request.platform, nameOf(request), moment(request.expiresAt)]),
        "  nobody"
      ),
      "",
      "Let in:",
      ...table(
        ["platform", "who", "since"],
        paired.map((user) => [user.platform, nameOf(user), moment(user.approvedAt)]),
        "  nobody"
      )
    ])
  })
).pipe(Command.withDescription("Who waits to be let in, and who was."), Command.provide(desk))

const approve = Command.make("approve", { platform, code: named("CODE") }, ({ platform, code }) =>
  Effect.gen(function* () {
    yield* ownerOnly("letting somebody in")
    const user = yield* Effect.provide(
      Effect.flatMap(Desk, ({ pairing }) => pairing.approve(platform, code)),
      desk
    )
    yield* answer(PairedUserView, user, (user) => [`${nameOf(user)} may now write to me on ${user.platform}.`])
  })
).pipe(Command.withDescription("Lets in whoever was shown this code."))

const Revoked = Schema.Struct({ platform: Schema.String, userId: Schema.String, revoked: Schema.Boolean })

const revoke = Command.make("revoke", { platform, userId: named("USER") }, ({ platform, userId }) =>
  Effect.gen(function* () {
    yield* ownerOnly("shutting somebody out")
    const revoked = yield* Effect.provide(
      Effect.flatMap(Desk, ({ pairing }) => pairing.revoke(platform, userId)),
      desk
    )
    if (!revoked) return yield* failed(`${userId} was not let in on ${platform}; \`hermes pairing list\` shows who was`)
    yield* answer(Revoked, { platform, userId, revoked }, () => [`${userId} may no longer write to me on ${platform}.`])
  })
).pipe(Command.withDescription("Shuts somebody out who was let in by a code; USER is the id."))

export const command = Command.make("pairing").pipe(
  Command.withDescription("Strangers who may write to the agent, by a code that they were shown."),
  Command.withSubcommands([list, approve, revoke])
)
