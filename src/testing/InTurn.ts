/** Work under test inside a turn of its own, as admission would have entered it. */
import type { Effect } from "effect"
import * as CronMarker from "../fibers/CronMarker.js"
import * as DeliveryOrigin from "../fibers/DeliveryOrigin.js"
import * as Presence from "../fibers/Presence.js"
import * as SessionIdentity from "../fibers/SessionIdentity.js"
import * as Turn from "../fibers/Turn.js"

/** Whose turn it is. */
export interface Whose {
  readonly platform: string
  readonly chatId: string
  readonly userId: string
  /** Of a scheduled job: nobody is there to be asked. */
  readonly cron?: boolean
}

const somebody: Whose = { platform: "telegram", chatId: "1", userId: "1" }

/** Runs `self` in a turn of `whose`, whose answers go to that chat. For tests: a program admits through `Admission.accept`. */
export const inTurn =
  (whose: Partial<Whose> = {}) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, Turn.CurrentTurn>> => {
    const { chatId, cron = false, platform, userId } = { ...somebody, ...whose }
    const sessionKey = `test:${platform}:${chatId}`
    const turn = new Turn.Turn({
      id: Turn.TurnId.make(`turn_${platform}_${chatId}`),
      parent: null,
      depth: 0,
      identity: SessionIdentity.bind({ platform, chatId, userId, sessionKey, sessionId: `session_${chatId}` }),
      marker: cron ? CronMarker.cron({ job: "test", run: "test", createdBy: null }) : CronMarker.notCron,
      origin: DeliveryOrigin.live(DeliveryOrigin.address({ platform, chatId })),
      presence: cron ? Presence.nobody("cron") : Presence.human(sessionKey),
      asyncDelivery: true,
      workingDirectory: null
    })
    return Turn.enter(turn)(self)
  }
