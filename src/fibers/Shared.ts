/**
 * The sharing combinators with their lookup or worker detached: who comes first does not lend his turn to the rest.
 * The raw ones are banned outside of `src/fibers`. A lookup that needs `CurrentTurn` does not compile.
 */
import type { Request, RequestResolver, Schedule, Scope } from "effect"
import type { Cause } from "effect"
import { Cache, Duration, Effect, Pool, RcMap, RequestResolver as Resolver, Resource } from "effect"
import { detached, type Detachable } from "./internal/leave.js"

/** Runs once; every caller gets the same result. */
export const cached = <A, E, R>(
  self: Effect.Effect<A, E, R> & Detachable<A, E, R>
): Effect.Effect<Effect.Effect<A, E, R>> => Effect.cached(detached<A, E, R>(self))

/** Runs at most once per `timeToLive`. */
export const cachedWithTTL = <A, E, R>(
  self: Effect.Effect<A, E, R> & Detachable<A, E, R>,
  timeToLive: Duration.DurationInput
): Effect.Effect<Effect.Effect<A, E>, never, R> => Effect.cachedWithTTL(detached<A, E, R>(self), timeToLive)

/** A keyed cache; the least recently used entry leaves at `capacity`. */
export const cache = <Key, A, E, R>(options: {
  readonly capacity: number
  readonly timeToLive: Duration.DurationInput
  readonly lookup: (key: Key) => Effect.Effect<A, E, R> & Detachable<A, E, R>
}): Effect.Effect<Cache.Cache<Key, A, E>, never, R> =>
  Cache.make({
    capacity: options.capacity,
    timeToLive: options.timeToLive,
    lookup: (key: Key) => detached<A, E, R>(options.lookup(key))
  })

/** A pool of at most `size` items, made on demand. */
export const pool = <A, E, R>(options: {
  readonly acquire: Effect.Effect<A, E, R> & Detachable<A, E, R>
  readonly size: number
}): Effect.Effect<Pool.Pool<A, E>, never, Scope.Scope | R> =>
  detached(Pool.make({ acquire: detached<A, E, R>(options.acquire), size: options.size }))

/** A keyed map of reference-counted resources; each lives while used and for `idleTimeToLive` after. */
export const rcMap = <Key, A, E, R>(options: {
  readonly lookup: (key: Key) => Effect.Effect<A, E, R> & Detachable<A, E, R>
  readonly idleTimeToLive?: Duration.DurationInput
  readonly capacity: number
}): Effect.Effect<RcMap.RcMap<Key, A, E | Cause.ExceededCapacityException>, never, Scope.Scope | R> =>
  detached(
    RcMap.make({
      lookup: (key: Key) => detached<A, E, R>(options.lookup(key)),
      capacity: options.capacity,
      idleTimeToLive: options.idleTimeToLive
    })
  )

/** A value refreshed by a worker on `policy`; the worker carries nobody. */
export const resource = <A, E, R, Out, R2>(
  acquire: Effect.Effect<A, E, R> & Detachable<A, E, R>,
  policy: Schedule.Schedule<Out, unknown, R2>
): Effect.Effect<Resource.Resource<A, E>, never, R | R2 | Scope.Scope> =>
  detached(Resource.auto(detached<A, E, R>(acquire), policy))

/**
 * A batched resolver. One run serves several callers, so it runs as nobody: what a request needs of its turn must be
 * in the request.
 */
export const resolver = <A extends Request.Request<unknown, unknown>, R>(
  run: (requests: ReadonlyArray<A>) => Effect.Effect<void, never, R> & Detachable<void, never, R>
): RequestResolver.RequestResolver<A, R> =>
  Resolver.makeBatched((requests: Array<A>) => detached<void, never, R>(run(requests)))
