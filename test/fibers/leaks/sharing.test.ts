/**
 * What one fiber runs for several: A comes first, B second. Through a door nobody's facts are in there; the raw
 * combinator in its place gives B what A lent, and the assertions of the door fail on it (negative control).
 */
import {
  Cache,
  Context,
  Deferred,
  Effect,
  Exit,
  Fiber,
  FiberRef,
  FiberRefs,
  KeyedPool,
  Layer,
  Mailbox,
  Pool,
  PubSub,
  Queue,
  RateLimiter,
  RcMap,
  RcRef,
  Request,
  RequestResolver,
  Resource,
  Runtime,
  Schedule,
  Scope,
  ScopedCache,
  ScopedRef,
  Stream,
  SubscriptionRef,
  SynchronizedRef,
  TestClock
} from "effect"
import { dataLoader } from "@effect/experimental/RequestResolver"
import { assert, describe, it } from "@effect/vitest"
import * as facts from "../../../src/fibers/internal/facts.js"
import { Parcel } from "../../../src/fibers/Parcel.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Shared from "../../../src/fibers/Shared.js"
import * as Turn from "../../../src/fibers/Turn.js"
import { A, B, chatOf, FiberWatch, marked, noTraces, settle, traces, type Traces } from "../support/turns.js"

const inA = marked(A)
const inB = marked(B)
const chat = Effect.map(Turn.peek, chatOf)
const asked = Effect.zipRight(Turn.current, chat)
const awaited = <X, E>(fiber: Fiber.Fiber<X, E>) => Effect.flatten(Fiber.await(fiber))

const leaks = (seen: Traces): boolean => seen.chat === "A-chatId"

/** Watches every fiber that `self` starts and gives those that still run at its end, with whom they carry. */
const watched = <X, E, R>(self: Effect.Effect<X, E, R>) =>
  Effect.suspend(() => {
    const watch = new FiberWatch()
    return Effect.map(Effect.supervised(self, watch), (value) => [value, watch.living()] as const)
  })

describe("a consumer that was forked in A handles what B offers", () => {
  type Source = readonly [
    name: string,
    make: Effect.Effect<
      {
        readonly take: Effect.Effect<Parcel<null>>
        readonly offer: (item: Parcel<null>) => Effect.Effect<unknown>
      },
      never,
      Scope.Scope
    >
  ]

  const sources: ReadonlyArray<Source> = [
    [
      "Queue",
      Effect.map(Queue.bounded<Parcel<null>>(4), (queue) => ({
        take: Queue.take(queue),
        offer: (item) => Queue.offer(queue, item)
      }))
    ],
    [
      "Mailbox",
      Effect.map(Mailbox.make<Parcel<null>>(4), (mailbox) => ({
        take: Effect.orDie(mailbox.take),
        offer: (item) => mailbox.offer(item)
      }))
    ],
    [
      "PubSub",
      Effect.gen(function* () {
        const hub = yield* PubSub.bounded<Parcel<null>>(4)
        const subscription = yield* PubSub.subscribe(hub)
        return { take: Queue.take(subscription), offer: (item) => PubSub.publish(hub, item) }
      })
    ],
    [
      "SubscriptionRef.changes",
      Effect.gen(function* () {
        const ref = yield* SubscriptionRef.make<Parcel<null> | null>(null)
        const changes = Stream.filter(ref.changes, (item) => item !== null)
        return {
          take: Effect.flatMap(Stream.runHead(changes), Effect.orDie),
          offer: (item) => SubscriptionRef.set(ref, item)
        }
      })
    ]
  ]

  const handled = (
    make: Source[1],
    start: (consumer: Effect.Effect<void>) => Effect.Effect<unknown, never, Scope.Scope>
  ) =>
    Effect.gen(function* () {
      const source = yield* make
      const seen = yield* Deferred.make<readonly [around: Traces, inside: string | null]>()
      const consumer = Effect.flatMap(source.take, (parcel) =>
        Effect.gen(function* () {
          const around = yield* traces
          const inside = yield* Parcel.open(parcel, () => asked)
          yield* Deferred.succeed(seen, [around, inside])
        })
      )
      yield* inA(start(consumer))
      yield* settle
      yield* inB(Effect.flatMap(Parcel.pack(null), source.offer))
      return yield* Deferred.await(seen)
    })

  for (const [name, make] of sources) {
    it.scoped(`door: ${name} with Turn.forkWorker and Parcel`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* handled(make, Turn.forkWorker), [noTraces, "B"])
      })
    )
    it.scoped(`raw: ${name} (negative control)`, () =>
      Effect.gen(function* () {
        const [around] = yield* handled(make, Effect.forkScoped)
        assert.isTrue(leaks(around))
      })
    )
  }

  it.scoped("raw: an effect in a queue with B's context has B's tag and the worker's facts: a defect, no answer", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.bounded<Effect.Effect<unknown>>(4)
      const worker = yield* Turn.forkWorker(Effect.exit(Effect.flatten(Queue.take(queue))))
      yield* inB(
        Effect.flatMap(Effect.context<Turn.CurrentTurn>(), (context) =>
          Queue.offer(queue, Effect.provide(Turn.current, context))
        )
      )
      const exit = yield* Turn.result(worker)
      assert.isTrue(Exit.isFailure(exit) && String(exit.cause).includes("TurnMismatch"))
    })
  )

  it.scoped("raw: with B's fiber refs set, the worker stays B for ever (negative control)", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.bounded<FiberRefs.FiberRefs>(4)
      const worker = yield* Turn.forkWorker(
        Effect.zipRight(Effect.flatMap(Queue.take(queue), Effect.setFiberRefs), chat)
      )
      yield* inB(Effect.flatMap(Effect.getFiberRefs, (refs) => Queue.offer(queue, refs)))
      assert.strictEqual(yield* Turn.result(worker), "B")
    })
  )
})

class Actor extends Context.Tag("test/Actor")<
  Actor,
  { readonly ask: Effect.Effect<Traces>; readonly here: Effect.Effect<string | null> }
>() {}

/** A service with a background fiber that answers what it is asked, as an actor of a session has. */
const actor = (start: (loop: Effect.Effect<void>) => Effect.Effect<unknown, never, Scope.Scope>) =>
  Effect.gen(function* () {
    const asks = yield* Queue.bounded<Deferred.Deferred<Traces>>(4)
    yield* start(
      Effect.forever(
        Effect.flatMap(Queue.take(asks), (reply) => Effect.flatMap(traces, (seen) => Deferred.succeed(reply, seen)))
      )
    )
    const ask = Effect.gen(function* () {
      const reply = yield* Deferred.make<Traces>()
      yield* Queue.offer(asks, reply)
      return yield* Deferred.await(reply)
    })
    return { ask, here: chat }
  })

describe("a layer with a worker that is built late, inside of A", () => {
  const doorLayer = Layer.scoped(Actor, actor(Turn.forkWorker))
  const rawLayer = Layer.scoped(Actor, actor(Effect.forkScoped))

  const usedByB = (layer: Layer.Layer<Actor>) =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const context = yield* inA(Layer.buildWithScope(layer, scope))
      return yield* inB(
        Effect.provide(
          Effect.flatMap(Actor, ({ ask }) => ask),
          context
        )
      )
    })

  const usedByBFromMemo = (layer: Layer.Layer<Actor>) =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const memo = yield* Layer.makeMemoMap
      yield* inA(Layer.buildWithMemoMap(layer, memo, scope))
      const context = yield* inB(Layer.buildWithMemoMap(layer, memo, scope))
      return yield* Effect.flatMap(Effect.provide(Actor, context), ({ ask }) => ask)
    })

  it.scoped("door: Turn.forkWorker in the layer", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* usedByB(doorLayer), noTraces)
      assert.deepStrictEqual(yield* usedByBFromMemo(doorLayer), noTraces)
      const provided = yield* inA(
        Effect.provide(
          Effect.flatMap(Actor, ({ ask }) => ask),
          doorLayer
        )
      )
      assert.deepStrictEqual(provided, noTraces)
    })
  )

  it.scoped("door: Turn.detach around the build, for a layer of somebody else", () =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const context = yield* inA(Turn.detach(Layer.buildWithScope(rawLayer, scope)))
      const seen = yield* inB(
        Effect.provide(
          Effect.flatMap(Actor, ({ ask }) => ask),
          context
        )
      )
      assert.deepStrictEqual(seen, noTraces)
    })
  )

  it.scoped("raw: a bare fork in the layer, also through a MemoMap (negative control)", () =>
    Effect.gen(function* () {
      assert.isTrue(leaks(yield* usedByB(rawLayer)))
      assert.isTrue(leaks(yield* usedByBFromMemo(rawLayer)))
    })
  )

  it.scoped("a method of a service that was built in A runs in B's turn when B calls it", () =>
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const context = yield* inA(Layer.buildWithScope(doorLayer, scope))
      assert.strictEqual(
        yield* inB(
          Effect.provide(
            Effect.flatMap(Actor, ({ here }) => here),
            context
          )
        ),
        "B"
      )
    })
  )

  it.effect("raw: a layer that sets a ref leaves it set in its user (negative control: why nothing is ever set)", () =>
    inB(
      Effect.gen(function* () {
        const setting = Layer.effectDiscard(
          FiberRef.set(facts.identityRef, SessionIdentity.bind({ chatId: "of the layer" }))
        )
        yield* Effect.provide(Effect.void, setting)
        assert.strictEqual(yield* chat, "of the layer")
      })
    )
  )
})

/** A computes first and B gets it: what did the computation see, and what runs on afterwards? */
type Sharing = readonly [
  name: string,
  door: Effect.Effect<Effect.Effect<Traces, unknown>, never, Scope.Scope>,
  raw: Effect.Effect<Effect.Effect<Traces, unknown>, never, Scope.Scope>
]

const never = "1 hour"

const sharings: ReadonlyArray<Sharing> = [
  ["cached", Shared.cached(traces), Effect.cached(traces)],
  ["cachedWithTTL", Shared.cachedWithTTL(traces, never), Effect.cachedWithTTL(traces, never)],
  [
    "cache",
    Effect.map(Shared.cache({ capacity: 4, timeToLive: never, lookup: (_: string) => traces }), (all) => all.get("k")),
    Effect.map(Cache.make({ capacity: 4, timeToLive: never, lookup: (_: string) => traces }), (all) => all.get("k"))
  ],
  [
    "pool",
    // made in A, because its items are made when it is
    Effect.map(inA(Shared.pool({ size: 1, acquire: traces })), (pool) => Effect.scoped(pool.get)),
    Effect.map(inA(Pool.make({ size: 1, acquire: traces })), (pool) => Effect.scoped(Pool.get(pool)))
  ],
  [
    "rcMap",
    Effect.map(Shared.rcMap({ capacity: 4, idleTimeToLive: never, lookup: (_: string) => traces }), (map) =>
      Effect.scoped(map.get("k"))
    ),
    Effect.map(RcMap.make({ capacity: 4, idleTimeToLive: never, lookup: (_: string) => traces }), (map) =>
      Effect.scoped(RcMap.get(map, "k"))
    )
  ],
  [
    "rcMap with an actor in it, the actor of a session",
    Effect.map(
      Shared.rcMap({ capacity: 4, idleTimeToLive: never, lookup: (_: string) => actor(Turn.forkWorker) }),
      (map) => Effect.scoped(Effect.flatMap(map.get("k"), ({ ask }) => ask))
    ),
    Effect.map(
      RcMap.make({ capacity: 4, idleTimeToLive: never, lookup: (_: string) => actor(Effect.forkScoped) }),
      (map) => Effect.scoped(Effect.flatMap(RcMap.get(map, "k"), ({ ask }) => ask))
    )
  ],
  [
    "rcMap with somebody else's bare fork in it",
    Effect.map(
      Shared.rcMap({ capacity: 4, idleTimeToLive: never, lookup: (_: string) => actor(Effect.forkScoped) }),
      (map) => Effect.scoped(Effect.flatMap(map.get("k"), ({ ask }) => ask))
    ),
    Effect.map(
      RcMap.make({ capacity: 4, idleTimeToLive: never, lookup: (_: string) => actor(Effect.forkScoped) }),
      (map) => Effect.scoped(Effect.flatMap(RcMap.get(map, "k"), ({ ask }) => ask))
    )
  ],
  [
    "resource, refreshed",
    Effect.map(inA(Shared.resource(traces, Schedule.spaced("1 minute"))), (resource) =>
      Effect.zipRight(TestClock.adjust("1 minute"), Resource.get(resource))
    ),
    Effect.map(inA(Resource.auto(traces, Schedule.spaced("1 minute"))), (resource) =>
      Effect.zipRight(TestClock.adjust("1 minute"), Resource.get(resource))
    )
  ]
]

describe("a computation that A came to first", () => {
  for (const [name, door, raw] of sharings) {
    it.scoped(`door: Shared, ${name}`, () =>
      Effect.gen(function* () {
        const [seen, living] = yield* watched(
          Effect.gen(function* () {
            const shared = yield* door
            const first = yield* inA(shared)
            const second = yield* inB(shared)
            yield* settle
            return [first, second]
          })
        )
        assert.deepStrictEqual(seen, [noTraces, noTraces])
        assert.isTrue(
          living.atBirth.every((carried) => carried === null),
          "no fiber that lives on was born in a turn"
        )
        assert.isTrue(
          living.now.every((carried) => carried === null),
          "nor is in one"
        )
      })
    )

    it.scoped(`raw: ${name} (negative control)`, () =>
      Effect.gen(function* () {
        const shared = yield* raw
        yield* inA(shared)
        assert.isTrue(leaks(yield* inB(shared)))
      })
    )
  }

  it.scoped("raw: the idle timer of an RcMap is a child of the turn that gave the item back (negative control)", () =>
    Effect.gen(function* () {
      const [, living] = yield* watched(
        Effect.gen(function* () {
          const map = yield* RcMap.make({ capacity: 4, idleTimeToLive: never, lookup: (_: string) => chat })
          yield* inA(Effect.scoped(RcMap.get(map, "k")))
          yield* settle
        })
      )
      assert.include(living.now, "A-chatId")
    })
  )

  it.scoped("door: an item goes back as nobody, whoever closes the scope", () =>
    Effect.gen(function* () {
      const released: Array<Traces> = []
      const lookup = (_: string) =>
        Effect.flatMap(Effect.scope, (scope) =>
          Scope.addFinalizer(
            scope,
            Effect.map(traces, (seen) => void released.push(seen))
          )
        )
      const map = yield* Shared.rcMap({ capacity: 4, lookup })
      yield* inA(Effect.scoped(map.get("k")))
      const pool = yield* Shared.pool({ size: 1, acquire: lookup("") })
      const item = yield* inA(Effect.scoped(pool.get))
      yield* inB(pool.invalidate(item))
      assert.deepStrictEqual(released, [noTraces, noTraces])
    })
  )
})

class Ask extends Request.TaggedClass("Ask")<Traces, never, { readonly key: string }> {}

describe("a batch of requests", () => {
  const answerAll = (requests: ReadonlyArray<Ask>) =>
    Effect.flatMap(traces, (seen) =>
      Effect.forEach(requests, (request) => Request.succeed(request, seen), { discard: true })
    )
  const ask = (resolver: RequestResolver.RequestResolver<Ask>) =>
    Effect.all([Effect.request(new Ask({ key: "1" }), resolver), Effect.request(new Ask({ key: "2" }), resolver)], {
      batching: true,
      concurrency: "unbounded"
    })

  it.effect("door: Shared.resolver runs as nobody", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* inA(ask(Shared.resolver(answerAll))), [noTraces, noTraces])
    })
  )

  it.effect("raw: one run has one caller's facts, whatever was bound for each (negative control)", () =>
    Effect.gen(function* () {
      const resolver = RequestResolver.makeBatched(answerAll)
      const [first] = yield* inA(ask(resolver))
      assert.isTrue(first !== undefined && leaks(first))
      const each = yield* inA(
        Effect.all([ask(resolver), Turn.enter(B)(ask(resolver))], { batching: true, concurrency: "unbounded" })
      )
      const chats = each.flat().map((seen) => seen.chat)
      assert.notDeepEqual(chats, ["A-chatId", "A-chatId", "B", "B"])
    })
  )

  it.scopedLive("raw: a data loader has the facts of who made it (negative control: banned)", () =>
    Effect.gen(function* () {
      const loader = yield* inA(dataLoader(RequestResolver.makeBatched(answerAll), { window: "1 millis" }))
      const [first] = yield* inB(ask(loader))
      assert.strictEqual(first?.chat, "A-chatId")
    })
  )
})

describe("raw sharing without a door is banned, because B gets what A computed (negative controls)", () => {
  const shared: ReadonlyArray<readonly [string, Effect.Effect<Effect.Effect<string | null>, never, Scope.Scope>]> = [
    [
      "Effect.cachedFunction",
      Effect.map(
        Effect.cachedFunction((_: string) => chat),
        (all) => all("k")
      )
    ],
    [
      "ScopedCache",
      Effect.map(ScopedCache.make({ capacity: 4, timeToLive: never, lookup: (_: string) => chat }), (all) =>
        Effect.scoped(all.get("k"))
      )
    ],
    ["RcRef", Effect.map(RcRef.make({ acquire: chat, idleTimeToLive: never }), (ref) => Effect.scoped(RcRef.get(ref)))],
    [
      "KeyedPool",
      Effect.map(KeyedPool.make({ acquire: (_: string) => chat, size: 1 }), (pool) =>
        Effect.scoped(KeyedPool.get(pool, "k"))
      )
    ],
    [
      "Deferred.complete",
      Effect.map(Deferred.make<string | null>(), (deferred) =>
        Effect.zipRight(Deferred.complete(deferred, chat), Deferred.await(deferred))
      )
    ],
    [
      "ScopedRef.set",
      Effect.map(
        ScopedRef.make<string | null | undefined>(() => undefined),
        (ref) =>
          Effect.flatMap(ScopedRef.get(ref), (held) =>
            held === undefined
              ? Effect.zipRight(
                  ScopedRef.set(ref, chat),
                  Effect.map(ScopedRef.get(ref), (seen) => seen ?? null)
                )
              : Effect.succeed(held)
          )
      )
    ],
    [
      "SynchronizedRef.updateEffect",
      Effect.map(SynchronizedRef.make<string | null | undefined>(undefined), (ref) =>
        Effect.map(
          SynchronizedRef.updateAndGetEffect(ref, (held) => (held === undefined ? chat : Effect.succeed(held))),
          (seen) => seen ?? null
        )
      )
    ]
  ]

  for (const [name, make] of shared) {
    it.scoped(`raw: ${name}`, () =>
      Effect.gen(function* () {
        const value = yield* make
        yield* inA(value)
        assert.strictEqual(yield* inB(value), "A-chatId")
      })
    )
  }

  it.effect("raw: Deferred.completeWith is run again by each who awaits", () =>
    Effect.gen(function* () {
      const deferred = yield* Deferred.make<string | null>()
      yield* inA(Deferred.completeWith(deferred, chat))
      assert.strictEqual(yield* inB(Deferred.await(deferred)), "B")
      assert.isNull(yield* Deferred.await(deferred))
    })
  )

  it.scoped("raw: a runtime that is captured in A and kept", () =>
    Effect.gen(function* () {
      const runtime = yield* inA(Effect.runtime<never>())
      assert.strictEqual(yield* inB(awaited(Runtime.runFork(runtime)(chat))), "A-chatId")
    })
  )
})

describe("clean without a door: the caller's own fiber does the work", () => {
  it.scoped("a semaphore and a rate limiter", () =>
    Effect.gen(function* () {
      const semaphore = yield* Effect.makeSemaphore(1)
      const limiter = yield* inA(RateLimiter.make({ limit: 100, interval: "1 second" }))
      yield* inA(semaphore.withPermits(1)(limiter(Effect.void)))
      assert.strictEqual(yield* inB(semaphore.withPermits(1)(asked)), "B")
      assert.strictEqual(yield* inB(limiter(asked)), "B")
    })
  )

  it.effect("a finalizer is its acquirer's, whoever closes the scope; a raw one is the closer's", () =>
    Effect.gen(function* () {
      const seen: Array<string | null> = []
      const note = Effect.map(chat, (at) => void seen.push(at))
      const scope = yield* Scope.make()
      yield* inA(
        Scope.extend(
          Effect.zipRight(
            Effect.addFinalizer(() => note),
            Effect.acquireRelease(Effect.void, () => note)
          ),
          scope
        )
      )
      yield* inA(Scope.addFinalizer(scope, note))
      yield* inB(Scope.close(scope, Exit.void))
      assert.deepStrictEqual(seen, ["B", "A-chatId", "A-chatId"])
    })
  )

  it.effect("the clean-up of A's fiber is A's although B interrupts it", () =>
    Effect.gen(function* () {
      const seen: Array<string | null> = []
      const scope = yield* Scope.make()
      const fiber = yield* inA(
        Turn.forkIn(scope)(Effect.onInterrupt(Effect.never, () => Effect.map(asked, (at) => void seen.push(at))))
      )
      yield* settle
      yield* inB(Turn.interrupt(fiber))
      assert.deepStrictEqual(seen, ["A-chatId"])
    })
  )
})
