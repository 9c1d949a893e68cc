/**
 * The approval context of a turn: which conversation may be asked, or why nobody can be (gateway.md 5.2, decision 28).
 *
 * It is one of the four things that a delegate gets from its parent (decision 7).
 */
import { Data, Schema } from "effect"

/** A person reads the conversation `sessionKey` and can answer there. */
export const Human = Schema.TaggedStruct("Human", { sessionKey: Schema.String })
/** Nobody is there to ask; `kind` selects the setting that decides (`cron_mode`, `single_query_mode`, `unattended_mode`). */
export const Nobody = Schema.TaggedStruct("Nobody", { kind: Schema.Literal("cron", "single_query", "unattended") })

export const schema = Schema.Union(Human, Nobody)
export type Presence = typeof schema.Type

export const human = (sessionKey: string): Presence => Data.struct({ _tag: "Human" as const, sessionKey })
export const nobody = (kind: "cron" | "single_query" | "unattended"): Presence =>
  Data.struct({ _tag: "Nobody" as const, kind })
