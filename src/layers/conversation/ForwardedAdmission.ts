/**
 * The turn of a request that a `hermes` command sends from inside a turn (decision 29): the identity and the marker that
 * it forwards are bound again, so that what the request does is done as the turn that asked for it.
 *
 * It is a call, not a conversation: nobody answers a question there and nothing arrives later.
 */
import { Effect } from "effect"
import { type Environment, markerOf } from "../../fibers/AmbientEnvironment.js"
import * as CronMarker from "../../fibers/CronMarker.js"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import * as Presence from "../../fibers/Presence.js"
import * as SessionIdentity from "../../fibers/SessionIdentity.js"
import * as Turn from "../../fibers/Turn.js"
import { Ids } from "../../services/operation/Ids.js"

const addressAt = (
  environment: Environment,
  names: { readonly platform: string; readonly chatId: string; readonly threadId: string }
): DeliveryOrigin.Address | null => {
  const platform = environment[names.platform]
  const chatId = environment[names.chatId]
  return platform && chatId
    ? DeliveryOrigin.address({ platform, chatId, threadId: environment[names.threadId] || null })
    : null
}

/** Where a bare send of the turn goes: a cron run's own first target, or the chat it runs in, for routing only. */
const originOf = (environment: Environment, marker: CronMarker.CronMarker): DeliveryOrigin.DeliveryOrigin => {
  if (CronMarker.isCron(marker)) {
    const target = addressAt(environment, {
      platform: "HERMES_CRON_AUTO_DELIVER_PLATFORM",
      chatId: "HERMES_CRON_AUTO_DELIVER_CHAT_ID",
      threadId: "HERMES_CRON_AUTO_DELIVER_THREAD_ID"
    })
    return DeliveryOrigin.targets(target === null ? [] : [target])
  }
  const chat = addressAt(environment, SessionIdentity.environmentNames)
  return chat === null ? DeliveryOrigin.cleared : DeliveryOrigin.routing(chat)
}

const identityOf = (environment: Environment): SessionIdentity.SessionIdentity =>
  SessionIdentity.bind(
    Object.fromEntries(
      SessionIdentity.fieldNames.map((name) => [name, environment[SessionIdentity.environmentNames[name]]])
    )
  )

/** Runs a request as the turn that it was sent from. */
export const enter =
  (forwarded: Environment) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Turn.CurrentTurn> | Ids> =>
    Effect.flatMap(Ids, (ids) =>
      Effect.flatMap(ids.next("turn"), (id) => {
        const marker = markerOf(forwarded)
        const turn = new Turn.Turn({
          id: Turn.TurnId.make(id),
          parent: null,
          depth: 0,
          identity: identityOf(forwarded),
          marker: CronMarker.isCron(marker) ? marker : CronMarker.notCron,
          origin: originOf(forwarded, marker),
          presence: Presence.nobody(CronMarker.isCron(marker) ? "cron" : "unattended"),
          asyncDelivery: false,
          workingDirectory: null
        })
        return Turn.enter(turn)(self)
      })
    )
