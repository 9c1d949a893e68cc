import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import { Effect } from "effect"
import { ChannelDirectory } from "../../services/adapter/ChannelDirectory.js"
import { Api } from "../../services/api/Api.js"
import { badGateway, notFound } from "../../services/api/ApiError.js"
import { Caller } from "../../services/api/Caller.js"
import { deliveryView, targetViews } from "../../services/api/Deliveries.js"
import { Delivery } from "../../services/delivery/Delivery.js"
import { Explain } from "../../services/delivery/Explain.js"
import { HomeChannels } from "../../services/delivery/HomeChannels.js"
import { Outbox } from "../../services/delivery/Outbox.js"
import { TargetResolver } from "../../services/delivery/TargetResolver.js"
import { Ids } from "../../services/operation/Ids.js"
import * as ForwardedAdmission from "../conversation/ForwardedAdmission.js"
import { answered } from "./Failures.js"

export const layer = HttpApiBuilder.group(Api, "deliveries", (handlers) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const resolver = yield* TargetResolver
    const explain = yield* Explain
    const delivery = yield* Delivery
    const directory = yield* ChannelDirectory
    const homes = yield* HomeChannels
    const ids = yield* Ids

    const send = (target: string, text: string) =>
      Effect.gen(function* () {
        const resolved = yield* resolver.resolve(target)
        const { deliveries, ok, problem } = yield* delivery.deliver({
          cause: { kind: "send_message", id: yield* ids.next("call") },
          address: resolved.address,
          text,
          via: resolved.via,
          transcriptId: null,
          replyToPerson: false
        })
        const [first, ...rest] = deliveries.map(deliveryView)
        if (first === undefined)
          return yield* Effect.fail(badGateway("nothing_sent", problem ?? "the message had nothing in it to send"))
        return { delivery: first, deliveries: [first, ...rest], ok, problem }
      })

    return handlers
      .handle("list", ({ urlParams: { state, limit } }) =>
        answered(
          Effect.map(outbox.list({ limit, ...(state === undefined ? {} : { state }) }), (rows) =>
            rows.map(deliveryView)
          )
        )
      )
      .handle("get", ({ path }) =>
        answered(
          Effect.flatMap(outbox.get(path.id), (row) =>
            row === null ? Effect.fail(notFound(`there is no delivery ${path.id}`)) : Effect.succeed(deliveryView(row))
          )
        )
      )
      .handle("explain", ({ path }) =>
        answered(
          Effect.catchTag(explain.story(path.id), "NothingKnown", (error) => Effect.fail(notFound(error.message)))
        )
      )
      .handle("send", ({ payload }) =>
        Effect.flatMap(Caller, (caller) => {
          const sending = send(payload.target, payload.text)
          return caller.insideTurn ? ForwardedAdmission.enter(caller.forwarded)(sending) : sending
        }).pipe(Effect.provideService(Ids, ids), answered)
      )
      .handle("targets", () =>
        answered(
          Effect.gen(function* () {
            return targetViews(yield* homes.all, yield* directory.list(null))
          })
        )
      )
  })
)
