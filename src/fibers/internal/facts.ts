/**
 * The private FiberRefs. Nothing outside `src/fibers` imports this file (a lint rule holds it), and inside it they are
 * only ever bound with `Effect.locally`: a `FiberRef.set` would leak upwards out of `Effect.all` and `Effect.race`.
 *
 * `join: (parent) => parent` keeps a joined fiber from giving its facts to whoever joins it.
 */
import { FiberRef, GlobalValue, Option } from "effect"
import * as CronMarker from "../CronMarker.js"
import * as DeliveryOrigin from "../DeliveryOrigin.js"
import * as Field from "../Field.js"
import * as SessionIdentity from "../SessionIdentity.js"

const makeRef = <A>(name: string, initial: A): FiberRef.FiberRef<A> =>
  GlobalValue.globalValue(Symbol.for(`hermes-effect/fibers/${name}`), () =>
    FiberRef.unsafeMake(initial, { join: (parent) => parent })
  )

export const identityRef = makeRef<SessionIdentity.SessionIdentity>("SessionIdentity", SessionIdentity.unset)
export const markerRef = makeRef<CronMarker.CronMarker>("CronMarker", CronMarker.unset)
export const originRef = makeRef<DeliveryOrigin.DeliveryOrigin>("DeliveryOrigin", DeliveryOrigin.unset)

/** None: never declared, which reads as supported (gateway.md 1.8). */
export const asyncDeliveryRef = makeRef<Option.Option<boolean>>("AsyncDelivery", Option.none())

/** The directory pinned by the turn (gateway.md 1.6). */
export const workingDirectoryRef = makeRef<Field.Field>("WorkingDirectory", Field.unset)

/** Which turn the facts belong to and how deep it was delegated; null outside of any turn. */
export const turnRef = makeRef<{ readonly id: string; readonly depth: number } | null>("Turn", null)

const latch = GlobalValue.globalValue(Symbol.for("hermes-effect/fibers/engaged"), () => ({ engaged: false }))

/** Has this process ever bound a turn? The one piece of module state, and it only ever goes from false to true (gateway.md 1.5). */
export const isEngaged = (): boolean => latch.engaged

export const engage = (): void => {
  latch.engaged = true
}

/** For tests of the never-engaged rows only: the latch has no way back in a program. */
export const unsafeDisengage = (): void => {
  latch.engaged = false
}
