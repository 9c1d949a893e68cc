/**
 * What lives longer than any journey and is used by all of them: queues, shared computations, actors, callbacks, a
 * server. All of it is made inside of a turn that belongs to nobody here, so what kept its maker would show it.
 */
import { EventEmitter } from "node:events"
import { HttpBody, HttpClient, HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Rpc, RpcGroup, RpcTest } from "@effect/rpc"
import { Context, Deferred, Effect, Layer, Queue, Request, Resource, Schedule, Schema, type Scope } from "effect"
import { Parcel } from "../../../src/fibers/Parcel.js"
import * as Shared from "../../../src/fibers/Shared.js"
import * as Turn from "../../../src/fibers/Turn.js"
import * as TurnQueue from "../../../src/fibers/TurnQueue.js"
import { type Answer, ChildProcess, WorkerThread } from "../support/elsewhere.js"
import { fullTurn, marked, traces, type Traces } from "../support/turns.js"
import { type Doors, ParcelJson } from "./Doors.js"

/** What goes on inside of the turn that a parcel brings. */
export type Rest = Effect.Effect<void, never, Turn.CurrentTurn>

export interface World {
  /** Answers with what the worker of this thing shows of a turn. */
  readonly cached: Effect.Effect<Traces>
  readonly cachedWithTTL: Effect.Effect<Traces>
  readonly cache: (key: string) => Effect.Effect<Traces>
  readonly pool: Effect.Effect<Traces>
  readonly actor: (key: string) => Effect.Effect<Traces>
  readonly resource: Effect.Effect<Traces>
  readonly resolved: (key: string) => Effect.Effect<Traces>
  /** A layer with a worker that is built anew wherever it is provided, and one that is built once for all. */
  readonly lateLayer: Layer.Layer<Actor>
  readonly memoLayer: Effect.Effect<Context.Context<Actor>>
  /** Runs `rest` where the parcel arrives, and gives what is around it there. */
  readonly queued: (rest: Rest) => Effect.Effect<Traces, never, Turn.CurrentTurn>
  readonly calledBack: (rest: Rest) => Effect.Effect<Traces, never, Turn.CurrentTurn>
  readonly overHttp: (rest: Rest) => Effect.Effect<Traces, never, Turn.CurrentTurn>
  readonly overRpc: (rest: Rest) => Effect.Effect<Traces, never, Turn.CurrentTurn>
  readonly elsewhere: (place: "child process" | "worker thread", parcel: string) => Effect.Effect<Answer>
}

export class Actor extends Context.Tag("test/paths/Actor")<Actor, { readonly ask: Effect.Effect<Traces> }>() {}

class Ask extends Request.TaggedClass("test/paths/Ask")<Traces, never, { readonly key: string }> {}

const stranger = fullTurn("stranger")

const actor = (worker: Doors["worker"]) =>
  Effect.gen(function* () {
    const asks = yield* Queue.bounded<Deferred.Deferred<Traces>>(64)
    yield* worker(
      Effect.forever(
        Effect.flatMap(Queue.take(asks), (reply) => Effect.flatMap(traces, (seen) => Deferred.succeed(reply, seen)))
      )
    )
    const ask = Effect.gen(function* () {
      const reply = yield* Deferred.make<Traces>()
      yield* Queue.offer(asks, reply)
      return yield* Deferred.await(reply)
    })
    return { ask }
  })

/** Gives `rest` a number while it waits to be run by who gets the number in a message. */
const makeWaiting = () => {
  const rests = new Map<number, Rest>()
  let last = 0
  return {
    run: (id: number): Rest => rests.get(id) ?? Effect.dieMessage("nobody waits for this message"),
    with: <A, E, R>(rest: Rest, use: (id: number) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.acquireUseRelease(
        Effect.sync(() => {
          const id = (last += 1)
          rests.set(id, rest)
          return id
        }),
        use,
        (id) => Effect.sync(() => rests.delete(id))
      )
  }
}

export const make = (
  doors: Doors
): Effect.Effect<
  World,
  never,
  Scope.Scope | ChildProcess | WorkerThread | HttpServer.HttpServer | HttpClient.HttpClient
> =>
  Effect.gen(function* () {
    const childProcess = yield* ChildProcess
    const workerThread = yield* WorkerThread
    const http = yield* HttpClient.HttpClient
    const waiting = makeWaiting()

    /** What arrives: a look around, then the rest in the parcel's turn. Its outcome comes back whole. */
    const arrived = (parcel: Parcel<string>, id: number) =>
      Effect.gen(function* () {
        const around = yield* traces
        const exit = yield* Parcel.open(parcel, () => Effect.exit(waiting.run(id)))
        return { around, exit }
      })

    const queue = yield* TurnQueue.make<Deferred.Deferred<void> & { readonly rest: Rest }>(256)
    let aroundQueue: Traces | null = null
    const consumer = queue.consume((item) =>
      Effect.flatMap(Effect.exit(item.rest), (exit) => Deferred.done(item, exit))
    )
    yield* marked(stranger)(
      doors.worker(
        Effect.zipRight(
          Effect.map(traces, (seen) => {
            aroundQueue = seen
          }),
          // each item may wait for items that it offers itself
          Effect.all(
            Array.from({ length: 64 }, () => consumer),
            { concurrency: "unbounded", discard: true }
          )
        )
      )
    )

    const events = new EventEmitter()
    const runner = yield* marked(stranger)(Turn.workerRunner())
    events.on("message", (json: string, id: number, reply: (seen: Effect.Effect<Traces>) => void) => {
      const handled = Effect.flatMap(Effect.orDie(Schema.decode(ParcelJson)(json)), (parcel) => arrived(parcel, id))
      void runner
        .exit(handled)
        .then((exit) => reply(Effect.flatMap(exit, ({ around, exit: inside }) => Effect.as(inside, around))))
    })

    const Message = Schema.Struct({ id: Schema.Number, parcel: Parcel.schema(Schema.String) })
    const outcomes = new Map<number, Effect.Effect<Traces>>()
    const received = ({ id, parcel }: typeof Message.Type) =>
      Effect.map(arrived(parcel, id), ({ around, exit }) => {
        outcomes.set(id, Effect.as(exit, around))
      })
    const outcome = (id: number): Effect.Effect<Traces> => {
      const found = outcomes.get(id)
      outcomes.delete(id)
      return found ?? Effect.dieMessage("the message was not handled")
    }

    yield* marked(stranger)(
      Turn.detach(
        HttpServer.serveEffect(
          HttpRouter.empty.pipe(
            HttpRouter.post(
              "/",
              Effect.flatMap(HttpServerRequest.schemaBodyJson(Message), (message) =>
                Effect.as(received(message), HttpServerResponse.empty())
              )
            )
          )
        )
      )
    )

    const group = RpcGroup.make(Rpc.make("Receive", { payload: Message }))
    const rpc = yield* marked(stranger)(
      Turn.detach(Effect.provide(RpcTest.makeClient(group), group.toLayer({ Receive: received })))
    )

    const memo = yield* Layer.makeMemoMap
    const scope = yield* Effect.scope
    const memoLayer = Layer.scoped(Actor, actor(doors.worker))

    const cached = yield* doors.cached(traces)
    const cachedWithTTL = yield* marked(stranger)(Shared.cachedWithTTL(traces, "20 millis"))
    const cache = yield* marked(stranger)(
      Shared.cache({ capacity: 3, timeToLive: "1 minute", lookup: (_: string) => traces })
    )
    const pool = yield* marked(stranger)(Shared.pool({ size: 2, acquire: traces }))
    const actors = yield* marked(stranger)(
      Shared.rcMap({ capacity: 64, idleTimeToLive: "5 millis", lookup: (_: string) => actor(doors.worker) })
    )
    const resource = yield* marked(stranger)(Shared.resource(traces, Schedule.spaced("2 millis")))
    const resolver = Shared.resolver((requests: ReadonlyArray<Ask>) =>
      Effect.flatMap(traces, (seen) =>
        Effect.forEach(requests, (request) => Request.succeed(request, seen), { discard: true })
      )
    )

    return {
      cached,
      cachedWithTTL,
      cache: cache.get,
      pool: Effect.scoped(Effect.tap(pool.get, pool.invalidate)),
      actor: (key) => Effect.scoped(Effect.flatMap(actors.get(key), ({ ask }) => ask)).pipe(Effect.orDie),
      resource: Resource.get(resource),
      resolved: (key) =>
        Effect.map(
          Effect.all(
            [Effect.request(new Ask({ key }), resolver), Effect.request(new Ask({ key: `${key}'` }), resolver)],
            {
              batching: true
            }
          ),
          ([seen]) => seen
        ),
      lateLayer: Layer.fresh(Layer.scoped(Actor, actor(doors.worker))),
      memoLayer: Layer.buildWithMemoMap(memoLayer, memo, scope),
      queued: (rest) =>
        Effect.gen(function* () {
          const done = yield* Deferred.make<void>()
          const offered = yield* queue.offer(Object.assign(done, { rest }))
          if (!offered) return yield* Effect.dieMessage("the queue is full")
          yield* Deferred.await(done)
          return aroundQueue ?? (yield* Effect.dieMessage("the consumer never ran"))
        }),
      calledBack: (rest) =>
        waiting.with(rest, (id) =>
          Effect.gen(function* () {
            const json = yield* Effect.orDie(Effect.flatMap(Parcel.pack("value"), Schema.encode(ParcelJson)))
            return yield* Effect.async<Traces>((resume) => {
              setImmediate(() => events.emit("message", json, id, resume))
            })
          })
        ),
      overHttp: (rest) =>
        waiting.with(rest, (id) =>
          Effect.gen(function* () {
            const parcel = yield* Parcel.pack("value")
            const body = yield* Effect.orDie(HttpBody.jsonSchema(Message)({ id, parcel }))
            yield* Effect.orDie(Effect.scoped(http.post("/", { body })))
            return yield* outcome(id)
          })
        ),
      overRpc: (rest) =>
        waiting.with(rest, (id) =>
          Effect.gen(function* () {
            yield* rpc.Receive({ id, parcel: yield* Parcel.pack("value") })
            return yield* outcome(id)
          })
        ),
      elsewhere: (place, parcel) =>
        (place === "child process" ? childProcess : workerThread).ask({ what: "open", parcel })
    }
  })
