import { Context } from "effect"

/**
 * The lease under which this process's turns and events stand; null for the gateway, which holds the home's lock instead.
 * A gateway that boots leaves alone what stands under a lease that is alive (decision 14).
 */
export class Owner extends Context.Reference<Owner>()("hermes/state/Owner", {
  defaultValue: (): string | null => null
}) {}
