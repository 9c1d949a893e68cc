// Every banned way to share, by its usual name.
import { Effect, Cache, ScopedCache, Pool, KeyedPool, RcMap, RcRef, Resource, Reloadable, RequestResolver, Request, Deferred, ScopedRef, LayerMap, Layer, Stream } from "effect"

export const uses = [
  Effect.cached, // expect: no-raw-sharing
  Effect.cachedWithTTL, // expect: no-raw-sharing
  Effect.cachedInvalidateWithTTL, // expect: no-raw-sharing
  Effect.cachedFunction, // expect: no-raw-sharing
  Effect.once, // expect: no-raw-sharing
  Effect.cacheRequestResult, // expect: no-raw-sharing
  Effect.withRequestCache, // expect: no-raw-sharing
  Effect.withRequestCaching, // expect: no-raw-sharing
  Cache.make, // expect: no-raw-sharing
  Cache.makeWith, // expect: no-raw-sharing
  ScopedCache.make, // expect: no-raw-sharing
  ScopedCache.makeWith, // expect: no-raw-sharing
  Pool.make, // expect: no-raw-sharing
  Pool.makeWithTTL, // expect: no-raw-sharing
  KeyedPool.make, // expect: no-raw-sharing
  KeyedPool.makeWith, // expect: no-raw-sharing
  KeyedPool.makeWithTTL, // expect: no-raw-sharing
  KeyedPool.makeWithTTLBy, // expect: no-raw-sharing
  RcMap.make, // expect: no-raw-sharing
  RcRef.make, // expect: no-raw-sharing
  Resource.auto, // expect: no-raw-sharing
  Resource.manual, // expect: no-raw-sharing
  Reloadable.auto, // expect: no-raw-sharing
  Reloadable.autoFromConfig, // expect: no-raw-sharing
  Reloadable.manual, // expect: no-raw-sharing
  Reloadable.reload, // expect: no-raw-sharing
  Reloadable.reloadFork, // expect: no-raw-sharing
  RequestResolver.make, // expect: no-raw-sharing
  RequestResolver.makeBatched, // expect: no-raw-sharing
  RequestResolver.makeWithEntry, // expect: no-raw-sharing
  RequestResolver.fromFunctionBatched, // expect: no-raw-sharing
  Request.makeCache, // expect: no-raw-sharing
  Deferred.complete, // expect: no-raw-sharing
  Deferred.completeWith, // expect: no-raw-sharing
  ScopedRef.set, // expect: no-raw-sharing
  ScopedRef.fromAcquire, // expect: no-raw-sharing
  LayerMap.make, // expect: no-raw-sharing
  LayerMap.fromRecord, // expect: no-raw-sharing
  LayerMap.Service, // expect: no-raw-sharing
  Layer.memoize, // expect: no-raw-sharing
  Layer.makeMemoMap, // expect: no-raw-sharing
  Layer.buildWithMemoMap, // expect: no-raw-sharing
  Layer.setRequestCache, // expect: no-raw-sharing
  Stream.share, // expect: no-raw-sharing
  Stream.broadcast, // expect: no-raw-sharing
  Stream.broadcastDynamic, // expect: no-raw-sharing
  Stream.broadcastedQueues, // expect: no-raw-sharing
  Stream.broadcastedQueuesDynamic, // expect: no-raw-sharing
  Stream.distributedWith, // expect: no-raw-sharing
  Stream.distributedWithDynamic, // expect: no-raw-sharing
  Stream.toPubSub, // expect: no-raw-sharing
  Stream.toQueue, // expect: no-raw-sharing
  Stream.toQueueOfElements // expect: no-raw-sharing
]
