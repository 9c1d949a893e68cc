// @effect-diagnostics *:off
/**
 * What must not compile, checked by `tsc` in `npm run check`: an expected error that does not come is an error. Nothing
 * here is run.
 */
import { Context, Effect, Layer, ManagedRuntime, type Request, Schedule, Schema } from "effect"
import type { FileSystem } from "@effect/platform"
import type { AmbientEnvironment } from "../../src/fibers/AmbientEnvironment.js"
import * as ChildEnvironment from "../../src/fibers/ChildEnvironment.js"
import * as CronMarker from "../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../src/fibers/DeliveryOrigin.js"
import * as Nursery from "../../src/fibers/Nursery.js"
import { Parcel } from "../../src/fibers/Parcel.js"
import * as SessionIdentity from "../../src/fibers/SessionIdentity.js"
import * as Shared from "../../src/fibers/Shared.js"
import * as Turn from "../../src/fibers/Turn.js"
import * as TurnQueue from "../../src/fibers/TurnQueue.js"
import * as WorkingDirectory from "../../src/fibers/WorkingDirectory.js"
import { A } from "./support/turns.js"

declare const runnable: <X, E>(self: Effect.Effect<X, E>) => void
declare const child: Turn.Delegate
declare const id: Turn.TurnId

class Service extends Context.Tag("test/Service")<Service, { readonly answer: number }>() {}
const needsTurn = Effect.map(Turn.current, (turn) => turn.id)
const needsBoth = Effect.zip(needsTurn, Service)

// ---- who needs the turn says so, and does not run outside of one

// @ts-expect-error CurrentTurn is missing: nothing reads the turn outside of one
runnable(Turn.current)
// @ts-expect-error a fork is bound to the turn that asks, so somebody must ask
runnable(Turn.fork(Effect.void))
// @ts-expect-error a parcel has a turn in it
runnable(Parcel.pack("value"))
// @ts-expect-error only a turn can delegate
runnable(Turn.delegate(child)(Effect.void))
// @ts-expect-error a runner is fixed to the turn that asks
runnable(Turn.runner())
// @ts-expect-error only a turn has a session id to move
runnable(Turn.withSessionId("id")(Effect.void))
// @ts-expect-error who offers to a queue offers his turn with it
runnable(Effect.flatMap(TurnQueue.make<string>(1), (queue) => queue.offer("value")))
// inside of a turn all of them run
runnable(Turn.enter(A)(Effect.zip(needsTurn, Turn.delegate(child)(Turn.fork(Parcel.pack("value"))))))
// a consumer brings each item's turn, so its handler may need one
runnable(Effect.flatMap(TurnQueue.make<string>(1), (queue) => queue.consume(() => needsTurn)))

// ---- what outlives a turn, or belongs to several, must not need one

// @ts-expect-error a worker carries nobody: it cannot need the turn
runnable(Effect.scoped(Turn.forkWorker(needsTurn)))
// @ts-expect-error nor can one that begins for certain
runnable(Effect.scoped(Effect.flatMap(Nursery.make, (nursery) => Turn.forkCertain(nursery)(needsTurn))))
// @ts-expect-error nor can it with other needs beside
void Turn.forkWorker(needsBoth)
// @ts-expect-error who leaves the turn cannot need it
void Turn.detach(needsTurn)
// @ts-expect-error who is explicitly nobody cannot need the turn
void Turn.cleared(needsTurn)
// @ts-expect-error a cached value is computed for all, so for no turn
void Shared.cached(needsTurn)
// @ts-expect-error the same with a time to live
void Shared.cachedWithTTL(needsTurn, "1 minute")
// @ts-expect-error a cache's lookup serves whoever comes
void Shared.cache({ capacity: 1, timeToLive: "1 minute", lookup: (_: string) => needsTurn })
// @ts-expect-error a pool's items are lent to all
void Shared.pool({ size: 1, acquire: needsTurn })
// @ts-expect-error a keyed resource outlives the turn that made it
void Shared.rcMap({ capacity: 1, lookup: (_: string) => needsBoth })
// @ts-expect-error a refreshed value has a worker
void Shared.resource(needsTurn, Schedule.forever)
const policy = Schedule.mapEffect(Schedule.forever, () => needsTurn)
// @ts-expect-error so has its policy, which runs in that worker
void Shared.resource(Effect.void, policy)
// @ts-expect-error a batch belongs to several turns
void Shared.resolver((_: ReadonlyArray<Request.Request<string>>) => Effect.asVoid(needsTurn))
// @ts-expect-error a worker's callbacks have no turn: only the workerless needs are given
void Effect.map(Turn.workerRunner<Turn.CurrentTurn>(), (runner) => runner.fork(needsTurn))
// without the need each of them is fine
runnable(
  Effect.scoped(
    Effect.all([
      Turn.forkWorker(Effect.void),
      Turn.detach(Effect.void),
      Turn.cleared(Turn.enter(A)(needsTurn)),
      Shared.cached(Effect.succeed(1)),
      Shared.pool({ size: 1, acquire: Effect.succeed(1) })
    ])
  )
)

// ---- a delegate cannot leave out, or bring, what the door carries

// @ts-expect-error a delegate has a session of its own
void Turn.delegate({ id })(Effect.void)
// @ts-expect-error the marker is not a parameter, so it cannot be another one
void Turn.delegate({ ...child, marker: CronMarker.notCron })(Effect.void)
// @ts-expect-error nor is the origin
void Turn.delegate({ id, sessionKey: "k", sessionId: "s", origin: DeliveryOrigin.unset })(Effect.void)
// @ts-expect-error nor the presence, nor the directory
void Turn.delegate({ id, sessionKey: "k", sessionId: "s", presence: A.presence, workingDirectory: "/" })(Effect.void)
// @ts-expect-error nor the parent's chat
void Turn.delegate({ id, sessionKey: "k", sessionId: "s", platform: "telegram" })(Effect.void)
// @ts-expect-error a turn lacks none of its facts
void new Turn.Turn({ id, parent: null, depth: 0, identity: SessionIdentity.unset, presence: A.presence })
// @ts-expect-error an id is made by its schema, not by a cast from text
void Turn.delegate({ id: "text", sessionKey: "k", sessionId: "s" })(Effect.void)

// ---- a parcel is packed or decoded, never made up

// @ts-expect-error the constructor is private
void new Parcel(A, "value")
// @ts-expect-error an object that looks like one is none
const forged: Parcel<string> = { turn: A, value: "value" }
// @ts-expect-error what is inside is not readable: only opening gives it, in its turn
void (forged satisfies Parcel<string>).turn
// @ts-expect-error opening needs a parcel, not its JSON
void Parcel.open({ turn: A, value: "value" }, () => Effect.void)
void Schema.decodeUnknown(Parcel.schema(Schema.String))({})

// ---- a running child is opaque: yielding it would be a join

declare const fiber: Turn.TurnFiber<number, string>
// @ts-expect-error a TurnFiber is no Effect
runnable(fiber)
void Effect.gen(function* () {
  // @ts-expect-error it has no iterator, so it cannot be yielded
  yield* fiber
  const result: number = yield* Turn.result(fiber)
  return result
})
// @ts-expect-error nor is it a Fiber that could be joined
void Effect.fromFiber(fiber)
// @ts-expect-error it cannot be made up
const madeUp: Turn.TurnFiber<number> = {}
void madeUp
// @ts-expect-error its result has its type
const wrong: Effect.Effect<string, string> = Turn.result(fiber)
void wrong

// ---- a layer that reads a turn cannot be launched, nor run programs

const readsTurn = Layer.effect(
  Service,
  Effect.map(Turn.current, (turn) => ({ answer: turn.depth }))
)
// @ts-expect-error the layer still needs CurrentTurn: a service is built for all turns
runnable(Layer.launch(readsTurn))
// @ts-expect-error nor can a runtime be made of it
void ManagedRuntime.make(readsTurn)
// @ts-expect-error a layer with a worker that needs the turn does not even compile
void Layer.scopedDiscard(Turn.forkWorker(needsTurn))
runnable(Effect.scoped(Layer.build(Layer.scopedDiscard(Turn.forkWorker(Effect.never)))))

// ---- facts are bound by doors only

// @ts-expect-error an identity is made of fields, not of texts
void new SessionIdentity.SessionIdentity({ platform: "telegram" })
// @ts-expect-error a field that does not exist is refused
void SessionIdentity.bind({ chat: "1" })
// @ts-expect-error a cron marker says of which job and run
void CronMarker.cron({ job: "j" })

// ---- the bridge and the readers say that they need the environment at start

// @ts-expect-error the environment comes from a program, not from `process.env`
runnable(ChildEnvironment.make({ home: "/home" }))
// @ts-expect-error a child without an agent home does not exist
void ChildEnvironment.make({})
void (WorkingDirectory.forAgent("/") satisfies Effect.Effect<string, never, AmbientEnvironment | FileSystem.FileSystem>)
