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

const guarded = /^(?:approvals|security)\.|(?:^|\.)(?:allowed_users|allow_all_users|group_allowed_chats|allowed_hosts)$/
/** They widen what the agent may see or do, which is an allowlist by another name. */
const widening: ReadonlySet<string> = new Set(["terminal.env_passthrough", "agent.disabled_toolsets"])

/** May only the owner change this setting? Approvals, security and every allowlist. */
export const isOwnersSetting = (path: string): boolean => guarded.test(path) || widening.has(path)
