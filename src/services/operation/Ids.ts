import { Context, type Effect } from "effect"

/** What an id names; its prefix makes an id readable in logs and in `hermes explain`. */
export type IdKind =
  | "session"
  | "turn"
  | "event"
  | "delivery"
  | "approval"
  | "delegation"
  | "lease"
  | "call"
  | "file"
  | "process"
  | "credential"

/** The one source of ids: sortable by time of making, unguessable, made from `Clock` and `Random` so that a run can be replayed. */
export class Ids extends Context.Tag("hermes/operation/Ids")<
  Ids,
  { readonly next: (kind: IdKind) => Effect.Effect<string> }
>() {}
