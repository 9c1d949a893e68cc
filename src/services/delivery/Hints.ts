import { Context, type Effect } from "effect"
import type { StateError } from "../state/StateError.js"

/** What a person is told once and never again, such as that `/sethome` exists. */
export class Hints extends Context.Tag("hermes/delivery/Hints")<
  Hints,
  {
    /** True for the first who asks, ever; then it is his to tell. */
    readonly first: (name: string) => Effect.Effect<boolean, StateError>
  }
>() {}
