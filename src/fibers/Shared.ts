/**
 * The sharing combinators with their lookup or worker apart from whoever asks: who comes first lends his turn to nobody
 * and does not end the work of the others when he is interrupted. The raw ones are banned outside of `src/fibers`. A
 * lookup that needs `CurrentTurn` does not compile.
 */
import type { Cause, Request, RequestResolver, Schedule } from "effect"
import {
  Cache,
  Deferred,
  type Duration,
  Effect,
  Fiber,
  Option,
  Pool,
  RcMap,
  RequestResolver as Resolver,
  Resource,
  Scope
} from "effect"
import { detached, type Detachable, type DetachableNeeds } from "./internal/leave.js"

/** In a fiber that is nobody's child and carries nobody. */
const apart = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<Fiber.RuntimeFiber<A, E>, never, R> =>
  detached(Effect.forkDaemon(Effect.interruptible(self)))

/** Takes a scoped thing, and gives it back when the caller's scope closes, as nobody: what either starts is born clean. */
const leased = <A, E>(take: Effect.Effect<A, E, Scope.Scope>): Effect.Effect<A, E, Scope.Scope> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const own = yield* Scope.make()
      yield* Effect.addFinalizer((exit) => detached(Scope.close(own, exit)))
      return yield* restore(detached(Scope.extend(take, own)))
    })
  )

/** Runs once; every caller gets the same outcome. A caller that is interrupted leaves the run to the others. */
export const cached = <A, E, R>(
  self: Effect.Effect<A, E, R> & Detachable<A, E, R>
): Effect.Effect<Effect.Effect<A, E, R>> =>
  Effect.gen(function* () {
    const outcome = yield* Deferred.make<A, E>()
    const start = yield* Effect.once(apart<boolean, never, R>(Effect.intoDeferred<A, E, R>(self, outcome)))
    return Effect.zipRight(Effect.uninterruptible(start), Deferred.await(outcome))
  })

/** Runs at most once per `timeToLive`, a failure included. */
export const cachedWithTTL = <A, E, R>(
  self: Effect.Effect<A, E, R> & Detachable<A, E, R>,
  timeToLive: Duration.DurationInput
): Effect.Effect<Effect.Effect<A, E>, never, R> =>
  Effect.map(cache<null, A, E, R>({ capacity: 1, timeToLive, lookup: () => self }), (only) => only.get(null))

/** A keyed cache. */
export interface SharedCache<in Key, out A, out E = never> {
  /** The value of `key`, looked up when it is missing. A caller that is interrupted leaves the lookup to the others. */
  readonly get: (key: Key) => Effect.Effect<A, E>
  readonly invalidate: (key: Key) => Effect.Effect<void>
  readonly size: Effect.Effect<number>
}

/** A cache of at most `capacity` entries, of which older ones leave first; a failure is kept as long as a value. */
export const cache = <Key, A, E, R>(options: {
  readonly capacity: number
  readonly timeToLive: Duration.DurationInput
  readonly lookup: (key: Key) => Effect.Effect<A, E, R> & Detachable<A, E, R>
}): Effect.Effect<SharedCache<Key, A, E>, never, R> =>
  Effect.map(
    Cache.make({
      capacity: options.capacity,
      timeToLive: options.timeToLive,
      lookup: (key: Key) => detached(Effect.suspend((): Effect.Effect<A, E, R> => options.lookup(key)))
    }),
    (entries) => ({
      get: (key) =>
        Effect.flatMap(
          entries.getOptionComplete(key),
          Option.match({
            onNone: () => Effect.flatMap(apart(entries.get(key)), (fiber) => Effect.flatten(Fiber.await(fiber))),
            onSome: Effect.succeed
          })
        ),
      invalidate: (key) => entries.invalidate(key),
      size: entries.size
    })
  )

/** A pool of interchangeable items. */
export interface SharedPool<in out A, out E = never> {
  /** An item until the caller's scope closes; waits while all are taken. */
  readonly get: Effect.Effect<A, E, Scope.Scope>
  /** Takes an item out of the pool; another is made in its place. */
  readonly invalidate: (item: A) => Effect.Effect<void>
}

/** A pool of `size` items, made at once and again when they fail. */
export const pool = <A, E, R>(options: {
  readonly acquire: Effect.Effect<A, E, R> & Detachable<A, E, R>
  readonly size: number
}): Effect.Effect<SharedPool<A, E>, never, Scope.Scope | R> =>
  Effect.map(detached(Pool.make({ acquire: detached<A, E, R>(options.acquire), size: options.size })), (items) => ({
    get: leased(items.get),
    invalidate: (item) => detached(items.invalidate(item))
  }))

/** A keyed map of resources. */
export interface SharedMap<in Key, out A, out E = never> {
  /** The resource of `key`, made when it is missing and kept at least until the caller's scope closes. */
  readonly get: (key: Key) => Effect.Effect<A, E, Scope.Scope>
  /** Takes a resource out of the map; it is released when nobody uses it any more. */
  readonly invalidate: (key: Key) => Effect.Effect<void>
}

/** A map of reference-counted resources that refuses at `capacity`; each lives while used and for `idleTimeToLive` after. */
export const rcMap = <Key, A, E, R>(options: {
  readonly lookup: (key: Key) => Effect.Effect<A, E, R> & Detachable<A, E, R>
  readonly idleTimeToLive?: Duration.DurationInput
  readonly capacity: number
}): Effect.Effect<SharedMap<Key, A, E | Cause.ExceededCapacityException>, never, Scope.Scope | R> =>
  Effect.map(
    detached(
      RcMap.make({
        lookup: (key: Key) => detached(Effect.suspend((): Effect.Effect<A, E, R> => options.lookup(key))),
        capacity: options.capacity,
        idleTimeToLive: options.idleTimeToLive
      })
    ),
    (entries) => ({
      get: (key) => leased(RcMap.get(entries, key)),
      invalidate: (key) => detached(RcMap.invalidate(entries, key))
    })
  )

/**
 * A value refreshed by a worker on `policy`; the worker carries nobody. A refresh that fails is logged, leaves the last
 * value in place and does not end the worker.
 */
export const resource = <A, E, R, Out, R2>(
  acquire: Effect.Effect<A, E, R> & Detachable<A, E, R>,
  policy: Schedule.Schedule<Out, unknown, R2> & DetachableNeeds<R2>
): Effect.Effect<Resource.Resource<A, E>, never, R | R2 | Scope.Scope> =>
  detached(
    Effect.tap(Resource.manual(detached<A, E, R>(acquire)), (resource) =>
      Resource.refresh(resource).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("a shared value could not be refreshed", cause)),
        Effect.schedule<void, R2, Out>(policy),
        Effect.interruptible,
        Effect.forkScoped
      )
    )
  )

/**
 * A batched resolver. One run serves several callers, so it runs as nobody: what a request needs of its turn must be
 * in the request.
 */
export const resolver = <A extends Request.Request<unknown, unknown>, R>(
  run: (requests: ReadonlyArray<A>) => Effect.Effect<void, never, R> & Detachable<void, never, R>
): RequestResolver.RequestResolver<A, R> =>
  Resolver.makeBatched((requests: Array<A>) =>
    detached(Effect.suspend((): Effect.Effect<void, never, R> => run(requests)))
  )
