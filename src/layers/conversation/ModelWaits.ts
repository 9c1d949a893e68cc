/** Tells a person that the model has trouble and is asked again: once for each backend of a turn, and only where they would notice. */
import { Effect } from "effect"
import type { ModelWait } from "../../services/agent/ModelRoute.js"
import * as ModelProblem from "../../services/agent/ModelProblem.js"
import * as Notice from "../../services/delivery/Notice.js"
import type { NoticePlace, Notifier } from "../../services/delivery/Notifier.js"

/** Shorter waits pass before anybody has read of them. */
const worthTellingMillis = 5_000

/** For one turn. */
export const make = (
  notifier: typeof Notifier.Service,
  place: NoticePlace
): ((wait: ModelWait) => Effect.Effect<void>) => {
  const told = new Set<string>()
  return ({ backend, error, millis }) =>
    Effect.suspend(() => {
      const name = `${backend.provider}/${backend.model}`
      if (millis < worthTellingMillis || told.has(name)) return Effect.void
      told.add(name)
      return notifier.tell(
        { ...place, about: `${place.about}:${name}` },
        Notice.runWaiting({ trouble: ModelProblem.inBrief(error), millis })
      )
    })
}
