import { Context, type Effect, Schema } from "effect"
import { Instant } from "../operation/Instant.js"
import type { StateError } from "../state/StateError.js"
import { shortened } from "../operation/Shortened.js"

/** What a passage is about. */
export const PassageKind = Schema.Literal("message", "session", "job", "run", "turn", "call", "approval", "delivery")

/** One thing that happened, in the order in which it did, as a person would tell it. */
export const Passage = Schema.Struct({
  at: Schema.NullOr(Instant),
  kind: PassageKind,
  /** What to ask about for more. */
  id: Schema.NullOr(Schema.String),
  text: Schema.String
}).annotations({ identifier: "Passage" })
export type Passage = typeof Passage.Type

/** Why something happened and what became of it: from the message or job that caused it to the platform's answer. */
export const Story = Schema.Struct({
  id: Schema.String,
  kind: PassageKind,
  passages: Schema.Array(Passage)
}).annotations({ identifier: "Story" })
export type Story = typeof Story.Type

/** Nothing here has that id. */
export class NothingKnown extends Schema.TaggedError<NothingKnown>()("NothingKnown", { id: Schema.String }) {
  override get message(): string {
    return `nothing here has the id "${shortened(this.id)}"; a delivery's begins with dlv_, a run's with run_, a turn's with trn_, an approval's with apr_, a message's with evt_; \`hermes deliveries list\` and \`hermes cron runs\` show them`
  }
}

/** The story of one delivery, run, turn, approval or message, from rows and nothing else. */
export class Explain extends Context.Tag("hermes/delivery/Explain")<
  Explain,
  { readonly story: (id: string) => Effect.Effect<Story, NothingKnown | StateError> }
>() {}
