import { Context, type Effect } from "effect"

/** That this process is the gateway of its home, as the home's database says. */
export class GatewayLease extends Context.Tag("hermes/operation/GatewayLease")<
  GatewayLease,
  {
    /** Succeeds once another gateway has taken the home: nothing of it is this process's any more. Seen within a minute. */
    readonly lost: Effect.Effect<void>
  }
>() {}
