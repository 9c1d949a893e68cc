import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Schema } from "effect"
import { DeliveryView } from "../../services/api/Deliveries.js"
import { DeliveryState } from "../../services/delivery/Outbox.js"
import { Desk } from "../../services/operation/Desk.js"
import { desk } from "./desk.js"
import * as Listed from "./listed.js"
import { limit } from "./options.js"
import { answer, brief, moment, plain, table } from "./output.js"
import { ownerOnly } from "./ownerOnly.js"
import { outcome } from "./sent.js"
import { named } from "./named.js"

const place = ({ platform, chatId, threadId }: DeliveryView): string =>
  threadId === null ? `${platform}:${chatId}` : `${platform}:${chatId}:${threadId}`

const state = Options.choice("state", DeliveryState.literals).pipe(
  Options.withDescription("Only those in this state."),
  Options.optional
)

const list = Command.make("list", { limit: limit(50, 500), state }, ({ limit, state }) =>
  Effect.gen(function* () {
    const { deliveries } = yield* Desk
    const rows = yield* deliveries.list({ limit, ...(state._tag === "Some" ? { state: state.value } : {}) })
    yield* answer(Schema.Array(DeliveryView.pipe(Schema.pick(...Listed.delivery))), rows, (rows) =>
      table(
        ["id", "to", "state", "made", "text"],
        rows.map((row) => [row.id, place(row), row.state, moment(row.createdAt), brief(row.text, 50)]),
        "Nothing was sent yet."
      )
    )
  })
).pipe(Command.withDescription("What was sent or waits to be sent, newest first."), Command.provide(desk))

const show = Command.make("show", { id: named("ID") }, ({ id }) =>
  Effect.gen(function* () {
    const { deliveries } = yield* Desk
    yield* answer(DeliveryView, yield* deliveries.get(id), (row) => [
      `${row.id}: ${row.state}${row.reason === null ? "" : ` (${row.reason})`}`,
      `to ${place(row)}, picked by ${row.via}; caused by ${row.cause.kind} ${row.cause.id}`,
      `part ${row.part} of ${row.parts}; attempts: ${row.attempts}; message there: ${row.platformMessageId ?? "-"}`,
      `made ${moment(row.createdAt)}, settled ${moment(row.settledAt)}${row.resendOf === null ? "" : `, a copy of ${row.resendOf}`}`,
      "",
      plain(row.text)
    ])
  })
).pipe(Command.withDescription("One delivery in full."), Command.provide(desk))

const retry = Command.make("retry", { id: named("ID") }, ({ id }) =>
  Effect.gen(function* () {
    yield* ownerOnly("deliveries retry")
    const { deliveries } = yield* Desk
    yield* outcome(yield* deliveries.resend(id))
  })
).pipe(
  Command.withDescription(
    "Sends once more what failed or is in doubt (`unknown`), as a new message; one in doubt says that it may be there already. Each has one such copy."
  ),
  Command.provide(desk)
)

export const command = Command.make("deliveries").pipe(
  Command.withDescription("The outbox: every message out, and what became of it."),
  Command.withSubcommands([list, show, retry])
)
