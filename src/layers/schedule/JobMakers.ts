/** Who makes a job: what the turn that asks for it says about the chat it is in. */
import { Effect } from "effect"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import { JobOrigin } from "../../services/schedule/Job.js"
import type { JobMaker } from "../../services/schedule/Jobs.js"

/** The owner, away from any chat. */
export const nobody: JobMaker = { origin: null, createdBy: null }

/** Where the turn's own words go; of a scheduled run its first target. */
const placeOf = (origin: DeliveryOrigin.DeliveryOrigin): DeliveryOrigin.Address | null =>
  origin._tag === "Targets" ? (origin.addresses[0] ?? null) : DeliveryOrigin.chat(origin)

/** The origin is captured, never the live sender: what comes later goes there by its own delivery. */
export const ofTurn: Effect.Effect<JobMaker, never, Turn.CurrentTurn> = Effect.map(
  Turn.current,
  ({ identity, marker, origin }) => {
    const place = placeOf(origin)
    const platform = Field.valueOrNull(identity.platform)
    const userId = Field.valueOrNull(identity.userId)
    const isThere = place !== null && platform === place.platform && Field.valueOrNull(identity.chatId) === place.chatId
    return {
      origin:
        place === null
          ? null
          : new JobOrigin({
              platform: place.platform,
              chatId: place.chatId,
              chatName: isThere ? Field.valueOrNull(identity.chatName) : null,
              chatType: isThere ? Field.valueOrNull(identity.chatType) : null,
              threadId: place.threadId,
              userId: isThere ? userId : null,
              scopeId: place.scopeId
            }),
      createdBy:
        marker._tag === "Cron" ? marker.createdBy : platform === null || userId === null ? null : { platform, userId }
    }
  }
)
