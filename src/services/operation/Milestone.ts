import { Context, Effect } from "effect"

/** A moment in the life of a run or a message after which something has, or has not, become true. */
export type MilestoneName =
  | "claim.before"
  | "claim.inside"
  | "claim.after"
  | "run.started"
  | "agent.before"
  | "output.before"
  | "output.saved"
  | "delivery.sending"
  | "delivery.settled"
  | "record.inside"
  | "record.after"
  | "reply.before"
  | "reply.written"
  | "send.before"
  | "send.answered"
  | "send.settled"

/** Where a test may end the process, to see what the next one finds. In the program that people run it does nothing. */
export class Milestone extends Context.Reference<Milestone>()("hermes/operation/Milestone", {
  defaultValue: () => ({ reach: (_: MilestoneName): Effect.Effect<void> => Effect.void })
}) {}
