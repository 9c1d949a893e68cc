/** A random way of a turn through the program: where it starts and what it goes through. */
import { FastCheck as fc } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Field from "../../../src/fibers/Field.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as arbitraries from "../support/arbitraries.js"

/** What must be seen at a point of the way. */
export interface Expected {
  readonly identity: SessionIdentity.SessionIdentity
  readonly marker: CronMarker.CronMarker
  readonly origin: DeliveryOrigin.DeliveryOrigin
  readonly depth: number
  readonly asyncDelivery: boolean
}

export const expectedOf = (turn: Turn.Turn): Expected => ({
  identity: turn.identity,
  marker: turn.marker,
  origin: turn.origin,
  depth: turn.depth,
  asyncDelivery: turn.asyncDelivery ?? true
})

/** What a delegate is to be, from the same four facts that the door is given: said here once more, independently of it. */
export const delegated = (from: Expected, child: Turn.Delegate): Expected => ({
  identity: SessionIdentity.fieldNames.reduce(
    (made, name) =>
      made.with(
        name,
        name === "source"
          ? Field.of("tool")
          : name === "sessionKey"
            ? Field.of(child.sessionKey)
            : name === "sessionId"
              ? Field.of(child.sessionId)
              : Field.cleared
      ),
    SessionIdentity.unset
  ),
  marker: from.marker,
  origin: from.origin._tag === "Live" ? { _tag: "Routing", address: from.origin.address } : from.origin,
  depth: from.depth + 1,
  asyncDelivery: false
})

export const kinds = [
  "fork",
  "forkIn",
  "all",
  "forEach",
  "zip",
  "stream",
  "stream pushed from a callback",
  "queue",
  "parcel over JSON",
  "cached",
  "cached with time to live",
  "cache",
  "pool",
  "resource map with an actor",
  "resource",
  "resolver",
  "late layer with a worker",
  "late layer from a memo map",
  "callback through a runner",
  "callback of a worker with a parcel",
  "captured step",
  "http",
  "rpc",
  "child process",
  "worker thread",
  "delegate",
  "race",
  "raceFirst",
  "timeout",
  "disconnect",
  "retry",
  "repeat",
  "schedule",
  "worker on a schedule",
  "session id",
  "stateless",
  "acquire and release"
] as const

export type Kind = (typeof kinds)[number] | "nested turn"

export interface Hop {
  readonly kind: Kind
  /** A number for what the hop may vary: concurrency, attempts, a key. */
  readonly n: number
  readonly nested: Journey | null
}

export interface Journey {
  readonly turn: Turn.Turn
  readonly hops: ReadonlyArray<Hop>
}

const hop: fc.Arbitrary<Hop> = fc.record({
  kind: fc.constantFrom(...kinds),
  n: fc.nat({ max: 3 }),
  nested: fc.constant(null)
})

const nestedHop: fc.Arbitrary<Hop> = fc.record({
  kind: fc.constant("nested turn" as const),
  n: fc.nat({ max: 3 }),
  nested: fc.record({ turn: arbitraries.turn, hops: fc.array(hop, { maxLength: 2 }) })
})

/** Up to 12 hops, long ways as likely as short ones. */
export const journey: fc.Arbitrary<Journey> = fc.record({
  turn: arbitraries.turn,
  hops: fc.integer({ min: 1, max: 12 }).chain((length) =>
    fc.array(fc.oneof({ weight: 18, arbitrary: hop }, { weight: 1, arbitrary: nestedHop }), {
      minLength: length,
      maxLength: length
    })
  )
})

/** One to three journeys that are under way at once. */
export const together: fc.Arbitrary<ReadonlyArray<Journey>> = fc.array(journey, { minLength: 1, maxLength: 3 })

export const delegations = (hops: ReadonlyArray<Hop>): number => hops.filter((at) => at.kind === "delegate").length
