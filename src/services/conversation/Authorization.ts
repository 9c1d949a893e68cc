import { Context, Effect } from "effect"
import type { StateError } from "../state/StateError.js"
import type { InboxMessage } from "./Inbox.js"
import type { Source } from "./InboundEvent.js"

export type Verdict =
  /** `paired`: by a code alone, so that it can be taken back at any moment. */
  | { readonly _tag: "Allowed"; readonly rule: string; readonly paired?: boolean }
  /** A stranger's direct message: offer a pairing code. */
  | { readonly _tag: "Pair" }
  | { readonly _tag: "Ignored"; readonly rule: string }

/** Who may talk to the agent; first rule that matches wins, deny by default (gateway.md 3.2). */
export class Authorization extends Context.Tag("hermes/conversation/Authorization")<
  Authorization,
  { readonly decide: (source: Source, authorizedUpstream: boolean) => Effect.Effect<Verdict, StateError> }
>() {}

/**
 * May a message that was let in when it came begin its turn, or go on with it? Asked anew only of who was let in by a
 * code: whoever takes that back means what waits too.
 */
export const stands = (
  authorization: typeof Authorization.Service,
  { arrival, event }: Pick<InboxMessage, "arrival" | "event">
): Effect.Effect<boolean, StateError> =>
  arrival.paired === true
    ? Effect.map(authorization.decide(event.source, false), ({ _tag }) => _tag === "Allowed")
    : Effect.succeed(true)
