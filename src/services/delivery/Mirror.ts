import { Context, type Effect } from "effect"
import type { Address } from "../../fibers/DeliveryOrigin.js"
import type { Source } from "../conversation/InboundEvent.js"
import type { StateError } from "../state/StateError.js"

/** What was said to a chat without its own turn, and by whom: a job's name, another conversation. */
export interface Mirrored {
  readonly label: string
  readonly text: string
}

/**
 * Told as a person's turn: a second assistant's in a row would break the alternation that models expect. The label
 * keeps it from being taken for the person's own words.
 */
export const labelled = ({ label, text }: Mirrored): string =>
  `[${label.replace(/[\s[\]]+/g, " ").trim()} said in this chat; nobody has answered it yet]\n\n${text.trim()}`

/** Lets a conversation know what was said in its chat. It only appends, and wakes nobody (gateway.md 6.3). */
export class Mirror extends Context.Tag("hermes/delivery/Mirror")<
  Mirror,
  {
    /** Into the one open conversation of that place; false when there is none, or several and nobody guesses. `userId` decides between several people's. */
    readonly into: (place: Address, userId: string | null, said: Mirrored) => Effect.Effect<boolean, StateError>
    /** Into exactly the conversation that a message from `source` would find; made when there is none. */
    readonly seed: (source: Source, said: Mirrored) => Effect.Effect<void, StateError>
  }
>() {}
