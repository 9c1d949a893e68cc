import { Context, type Effect } from "effect"
import * as DeliveryOrigin from "../../fibers/DeliveryOrigin.js"
import type { StateError } from "../state/StateError.js"
import type { Arrival, InboundEvent, Source } from "./InboundEvent.js"

/** What became of an event; the adapter acknowledges it to its platform whatever it is. */
export type Receipt =
  | { readonly _tag: "Accepted"; readonly eventId: string; readonly sessionKey: string }
  | { readonly _tag: "Duplicate" }
  | { readonly _tag: "Ignored"; readonly rule: string }
  | { readonly _tag: "Paired" }
  /** Not stored: the conversation is full or the gateway drains. The person was told. */
  | { readonly _tag: "Refused"; readonly code: string; readonly text: string }

/** Where a live conversation is, as an address to answer to; null where there is none (a terminal, an API request). */
export const addressOf = (source: Source, messageId: string | null): DeliveryOrigin.Address | null =>
  source.platform === "" || source.platform === "api_server" || source.chatId === null
    ? null
    : DeliveryOrigin.address({
        platform: source.platform,
        chatId: source.chatId,
        threadId: source.threadId,
        anchor: messageId,
        scopeId: source.scopeId
      })

/** The one way in for everything that a person sends. */
export class Admission extends Context.Tag("hermes/conversation/Admission")<
  Admission,
  {
    /** Authorises, deduplicates and stores the event, then hands it to its conversation. Returns once it is safe to acknowledge. Runs as nobody, whoever calls. */
    readonly accept: (event: InboundEvent, arrival: Arrival) => Effect.Effect<Receipt, StateError>
    /** A button's value pressed by somebody: authorised again, then dispatched like the command it stands for. */
    readonly press: (event: InboundEvent, arrival: Arrival, value: string) => Effect.Effect<Receipt, StateError>
  }
>() {}
