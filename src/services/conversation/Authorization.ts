import { Context, type Effect } from "effect"
import type { StateError } from "../state/StateError.js"
import type { Source } from "./InboundEvent.js"

export type Verdict =
  | { readonly _tag: "Allowed"; readonly rule: string }
  /** A stranger's direct message: offer a pairing code. */
  | { readonly _tag: "Pair" }
  | { readonly _tag: "Ignored"; readonly rule: string }

/** Who may talk to the agent; first rule that matches wins, deny by default (gateway.md 3.2). */
export class Authorization extends Context.Tag("hermes/conversation/Authorization")<
  Authorization,
  { readonly decide: (source: Source, authorizedUpstream: boolean) => Effect.Effect<Verdict, StateError> }
>() {}
