import { Context, type Effect } from "effect"
import type { StateError } from "../state/StateError.js"
import type { GatewayAddress } from "./GatewayAddress.js"

/** This gateway as the other programs of its home find it, from the moment at which it can be asked. */
export class Presence extends Context.Tag("hermes/operation/Presence")<
  Presence,
  {
    /** The gateway before left its address behind: it did not end by itself. */
    readonly unclean: boolean
    /** The start is over: from now on the end is this gateway's own, and only `withdraw` takes the address away. */
    readonly begin: Effect.Effect<GatewayAddress, StateError>
  }
>() {}
