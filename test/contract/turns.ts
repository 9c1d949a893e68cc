import * as CronMarker from "../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../src/fibers/DeliveryOrigin.js"
import * as Presence from "../../src/fibers/Presence.js"
import * as SessionIdentity from "../../src/fibers/SessionIdentity.js"
import * as Turn from "../../src/fibers/Turn.js"

/** A turn as the tests of stores need it: everything that is not said is that of a person's direct message. */
export const turn = (facts: {
  readonly id: string
  readonly parent?: string
  readonly depth?: number
  readonly chatId?: string
  readonly marker?: CronMarker.CronMarker
  readonly origin?: DeliveryOrigin.DeliveryOrigin
  readonly asyncDelivery?: boolean | null
}): Turn.Turn => {
  const chatId = facts.chatId ?? "1"
  return new Turn.Turn({
    id: Turn.TurnId.make(facts.id),
    parent: facts.parent === undefined ? null : Turn.TurnId.make(facts.parent),
    depth: facts.depth ?? (facts.parent === undefined ? 0 : 1),
    identity: SessionIdentity.bind({ platform: "telegram", chatId, chatType: "dm", sessionKey: `key-${chatId}` }),
    marker: facts.marker ?? CronMarker.notCron,
    origin: facts.origin ?? DeliveryOrigin.live(DeliveryOrigin.address({ platform: "telegram", chatId })),
    presence: Presence.human(`key-${chatId}`),
    asyncDelivery: facts.asyncDelivery === undefined ? true : facts.asyncDelivery,
    workingDirectory: null
  })
}
