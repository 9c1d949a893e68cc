/**
 * Where answers go: the live chat, the routing-only origin that a delegate chains from its parent, or a job's own
 * targets (gateway.md 1.12, decision 8).
 */
import { Data, Schema } from "effect"

/** A place on a platform. `anchor` is the message to reply to and `scopeId` the tenant; neither is part of the address's identity. */
export const Address = Schema.Struct({
  platform: Schema.String,
  chatId: Schema.String,
  threadId: Schema.NullOr(Schema.String),
  anchor: Schema.NullOr(Schema.String),
  scopeId: Schema.NullOr(Schema.String)
})
export type Address = typeof Address.Type

export const address = (fields: {
  readonly platform: string
  readonly chatId: string
  readonly threadId?: string | null
  readonly anchor?: string | null
  readonly scopeId?: string | null
}): Address =>
  Data.struct({
    platform: fields.platform,
    chatId: fields.chatId,
    threadId: fields.threadId ?? null,
    anchor: fields.anchor ?? null,
    scopeId: fields.scopeId ?? null
  })

export const Unset = Schema.TaggedStruct("Unset", {})
export const Cleared = Schema.TaggedStruct("Cleared", {})
export const Live = Schema.TaggedStruct("Live", { address: Address })
export const Routing = Schema.TaggedStruct("Routing", { address: Address })
export const Targets = Schema.TaggedStruct("Targets", { addresses: Schema.NonEmptyArray(Address) })

export const schema = Schema.Union(Unset, Cleared, Live, Routing, Targets)
export type DeliveryOrigin = typeof schema.Type

export const unset: DeliveryOrigin = Data.struct({ _tag: "Unset" as const })
export const cleared: DeliveryOrigin = Data.struct({ _tag: "Cleared" as const })
export const live = (at: Address): DeliveryOrigin => Data.struct({ _tag: "Live" as const, address: at })
export const routing = (at: Address): DeliveryOrigin => Data.struct({ _tag: "Routing" as const, address: at })

/** A cron run's origin: the list of its resolved targets, cleared when there are none (decision 8). */
export const targets = (addresses: ReadonlyArray<Address>): DeliveryOrigin => {
  const [first, ...rest] = addresses
  return first === undefined ? cleared : Data.struct({ _tag: "Targets" as const, addresses: [first, ...rest] as const })
}

/** The same place: platform, chat and thread agree. */
export const sameAddress = (a: Address, b: Address): boolean =>
  a.platform === b.platform && a.chatId === b.chatId && a.threadId === b.threadId

/** The one address that an answer or a bare send may go to; null when there is none. */
export const chat = (origin: DeliveryOrigin): Address | null =>
  origin._tag === "Live" || origin._tag === "Routing" ? origin.address : null

/** "Same origin" of decision 8: the same places; live may have become routing-only and never the reverse. */
export const continues = (parent: DeliveryOrigin, child: DeliveryOrigin): boolean => {
  switch (parent._tag) {
    case "Unset":
    case "Cleared":
      return child._tag === parent._tag
    case "Live":
      return (child._tag === "Live" || child._tag === "Routing") && sameAddress(parent.address, child.address)
    case "Routing":
      return child._tag === "Routing" && sameAddress(parent.address, child.address)
    case "Targets":
      return (
        child._tag === "Targets" &&
        child.addresses.length === parent.addresses.length &&
        parent.addresses.every((at, index) => {
          const other = child.addresses[index]
          return other !== undefined && sameAddress(at, other)
        })
      )
  }
}

/** What a delegate inherits: the same place, for routing only. A job's targets and an absent origin stay what they are. */
export const chained = (parent: DeliveryOrigin): DeliveryOrigin =>
  parent._tag === "Live" ? routing(parent.address) : parent
