/** What became of a message that a command has sent out. */
import { Effect, Schema } from "effect"
import * as Copies from "../../layers/delivery/Copies.js"
import { DeliveryView, type SendResult } from "../../services/api/Deliveries.js"
import { failed } from "./failure.js"
import * as Listed from "./listed.js"
import { answer, moment } from "./output.js"

const Sent = Schema.Struct({ delivery: DeliveryView.pipe(Schema.pick(...Listed.delivery)) })

/** Says it; fails when the message neither arrived nor goes out later by itself. */
export const outcome = (sent: typeof SendResult.Type) =>
  Effect.gen(function* () {
    const obstacle = sent.obstacle ?? null
    yield* answer(Sent, sent, ({ delivery }) => [
      delivery.state === "sent"
        ? `Sent (${delivery.id})${delivery.reason === null ? "." : `: ${delivery.reason}`}`
        : `${delivery.state} (${delivery.id})${delivery.reason === null ? "" : `: ${delivery.reason}`}`,
      ...(delivery.state === "pending"
        ? [
            obstacle !== null
              ? `It waits ${Copies.maximumAgeMillis / 3_600_000} hours at most for what is in its way.`
              : sent.delivery.nextAttemptAt === null
                ? `It is tried again as soon as ${delivery.platform} is there.`
                : `It is tried again at ${moment(sent.delivery.nextAttemptAt)} or soon after.`
          ]
        : sent.ok && sent.problem !== null
          ? [sent.problem]
          : delivery.state === "unknown"
            ? [`\`hermes deliveries retry ${delivery.id}\` sends it once more, marked as a copy.`]
            : [])
    ])
    if (obstacle !== null) return yield* failed(`nothing leaves for ${sent.delivery.platform}: ${obstacle}`)
    if (!sent.ok)
      return yield* failed(
        sent.problem ?? `the message was not sent; see \`hermes deliveries show ${sent.delivery.id}\``
      )
  })
