/** The agent cannot answer for its owner (decision 29): what only the owner may do is refused inside a turn. */
import { Effect } from "effect"
import { startedInsideTurn } from "../../fibers/AmbientEnvironment.js"
import { type Ended, failed } from "./failure.js"
import { Invocation } from "./invocation.js"

/** Fails when this command was started inside a turn of an agent, and says why. */
export const ownerOnly = (what: string): Effect.Effect<void, Ended, Invocation> =>
  Effect.flatMap(Invocation, ({ environment }) =>
    startedInsideTurn(environment)
      ? failed(
          `${what} is for the owner: it is refused here, because this command was started inside a turn of the agent (a HERMES_SESSION_* or HERMES_CRON_SESSION variable is set)`
        )
      : Effect.void
  )
