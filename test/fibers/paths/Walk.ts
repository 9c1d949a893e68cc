/** Walks a journey: at every hop it looks where the value is consumed, and dies with what was lost on the way. */
import { Data, Deferred, Effect, Equal, Option, Schedule, Schema, Scope, Stream } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as Capabilities from "../../../src/fibers/Capabilities.js"
import * as ChildEnvironment from "../../../src/fibers/ChildEnvironment.js"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Field from "../../../src/fibers/Field.js"
import { Parcel } from "../../../src/fibers/Parcel.js"
import * as Synchronous from "../../../src/fibers/Synchronous.js"
import * as Turn from "../../../src/fibers/Turn.js"
import type { Answer } from "../support/elsewhere.js"
import { fullTurn, noTraces, traces, type Traces } from "../support/turns.js"
import { type Doors, ParcelJson } from "./Doors.js"
import { delegated, type Expected, expectedOf, type Hop, type Journey, type Kind } from "./Journey.js"
import { Actor, type Rest, type World } from "./World.js"

/** A fact was not what it had to be. */
export class Lost extends Data.TaggedError("Lost")<{
  readonly at: string
  readonly fact: string
  readonly seen: unknown
  readonly expected: unknown
}> {
  override get message(): string {
    return `${this.at}: ${this.fact} is ${JSON.stringify(this.seen)} instead of ${JSON.stringify(this.expected)}`
  }
}

const lost = (at: string, fact: string, seen: unknown, expected: unknown) =>
  Effect.die(new Lost({ at, fact, seen, expected }))

/** The environment that this process was given: the poison that no turn may answer from where it is bound. */
export const ambient: AmbientEnvironment.Environment = {
  HERMES_SESSION_CHAT_ID: "of the process",
  HERMES_SESSION_THREAD_ID: "of the process",
  HERMES_CRON_SESSION: "1"
}

interface Carried {
  readonly identity: Expected["identity"]
  readonly marker: Expected["marker"]
  readonly origin: Expected["origin"]
}

const exported = (field: Field.Field): string | undefined => Field.encode(field)

/** Compares the facts and what the readers make of them. `origin` has to be the same place of the same kind. */
const compare = (
  at: string,
  expected: Expected,
  seen: Carried & {
    readonly depth: number
    readonly asyncDelivery: boolean
    readonly isCron: boolean
    readonly environment: AmbientEnvironment.Environment
  },
  cronByEnvironment: boolean
): Effect.Effect<void> => {
  const cron = expected.marker._tag === "Unset" ? cronByEnvironment : CronMarker.isCron(expected.marker)
  const checks: ReadonlyArray<readonly [fact: string, good: boolean, seen: unknown, expected: unknown]> = [
    ["identity", Equal.equals(seen.identity, expected.identity), seen.identity, expected.identity],
    ["marker", CronMarker.same(seen.marker, expected.marker), seen.marker, expected.marker],
    [
      "origin",
      seen.origin._tag === expected.origin._tag && DeliveryOrigin.continues(expected.origin, seen.origin),
      seen.origin,
      expected.origin
    ],
    ["depth", seen.depth === expected.depth, seen.depth, expected.depth],
    ["async delivery", seen.asyncDelivery === expected.asyncDelivery, seen.asyncDelivery, expected.asyncDelivery],
    ["isCron", seen.isCron === cron, seen.isCron, cron],
    [
      "a child's chat",
      seen.environment["HERMES_SESSION_CHAT_ID"] === exported(expected.identity.chatId),
      seen.environment["HERMES_SESSION_CHAT_ID"],
      exported(expected.identity.chatId)
    ],
    [
      "a child's marker",
      seen.environment["HERMES_CRON_SESSION"] === { Unset: undefined, NotCron: "", Cron: "1" }[expected.marker._tag],
      seen.environment["HERMES_CRON_SESSION"],
      expected.marker
    ]
  ]
  const wrong = checks.find(([, good]) => !good)
  return wrong === undefined ? Effect.void : lost(at, wrong[0], wrong[2], wrong[3])
}

/** Looks here, in this fiber. */
const look = (at: string, expected: Expected): Rest =>
  Effect.gen(function* () {
    const { identity, marker, origin } = yield* Turn.peek
    const current = yield* Turn.current
    yield* compare(
      at,
      expected,
      {
        identity,
        marker,
        origin,
        depth: current.depth,
        asyncDelivery: yield* Capabilities.asyncDeliverySupported,
        isCron: yield* AmbientEnvironment.isCron,
        environment: yield* ChildEnvironment.make({ home: "/home" })
      },
      true
    )
  }).pipe(Effect.provideService(AmbientEnvironment.AmbientEnvironment, ambient))

/** Looks at what came back from another process. */
const lookAt = (at: string, expected: Expected, answer: Answer): Effect.Effect<void> => {
  const { inside, outside, turn } = answer
  if (inside === undefined || turn === undefined || outside === undefined)
    return lost(at, "the answer", answer, "whole")
  if (outside.identity.chatId._tag !== "Unset") return lost(at, "the place", outside.identity, "nobody")
  return compare(
    at,
    expected,
    {
      ...inside,
      depth: turn.depth,
      asyncDelivery: turn.asyncDelivery ?? true,
      environment: inside.childEnvironment
    },
    false
  )
}

/** Nobody's: a worker or a shared computation shows no turn. Spans and annotations of its own it may have. */
const nobodys = (at: string, seen: Traces): Effect.Effect<void> =>
  (["chat", "marker", "origin", "tag"] as const).every((name) => seen[name] === noTraces[name])
    ? Effect.void
    : lost(at, "a worker", seen, "nobody")

export interface Way {
  readonly doors: Doors
  readonly world: World
  /** Where forks and workers of this journey live. */
  readonly scope: Scope.Scope
  /** Told of every hop that was taken. */
  readonly taken: (kind: Kind) => void
  /** Told what was carried at the end. */
  readonly arrived: (expected: Expected, carried: Carried, depth: number) => void
}

const uniqueId = (() => {
  let last = 0
  return () => (last += 1)
})()

/** The whole journey, from its entry to what is there after it. */
export const travel = (way: Way, journey: Journey): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* way.doors.enter(journey.turn)(walk(way, journey.hops, expectedOf(journey.turn)))
    yield* Effect.flatMap(traces, (seen) => nobodys("after the journey", seen))
  })

const walk = (way: Way, hops: ReadonlyArray<Hop>, expected: Expected): Rest => {
  const [hop, ...left] = hops
  if (hop === undefined) {
    return Effect.gen(function* () {
      yield* look("the end", expected)
      const { depth } = yield* Turn.current
      way.arrived(expected, yield* Turn.peek, depth)
    })
  }
  return look(`before ${hop.kind}`, expected).pipe(
    Effect.zipRight(
      Effect.suspend(() => {
        way.taken(hop.kind)
        return take(way, hop, expected, (next = expected) => walk(way, left, next))
      })
    ),
    Effect.zipRight(look(`after ${hop.kind}`, expected))
  )
}

const take = (way: Way, hop: Hop, expected: Expected, onwards: (next?: Expected) => Rest): Rest => {
  const { doors, world } = way
  const rest = onwards()
  const here = look(`in ${hop.kind}`, expected)
  const concurrency = hop.n === 0 ? "unbounded" : hop.n
  /** Asks something shared, which must be nobody's, then goes on. */
  const shared = (seen: Effect.Effect<Traces>): Rest =>
    Effect.zipRight(
      Effect.flatMap(seen, (at) => nobodys(hop.kind, at)),
      rest
    )
  switch (hop.kind) {
    case "fork":
      return Effect.flatMap(doors.fork(rest), Turn.result)
    case "forkIn":
      return Effect.flatMap(Turn.forkIn(way.scope)(rest), Turn.result)
    case "all":
      return Effect.all([here, rest, here], { concurrency, discard: true })
    case "forEach":
      return Effect.forEach([0, 1, 2], (index) => (index === 1 ? rest : here), { concurrency, discard: true })
    case "zip":
      return Effect.asVoid(Effect.zip(here, rest, { concurrent: true }))
    case "stream":
      return Stream.make(0, 1, 2).pipe(
        Stream.mapEffect((index) => (index === 1 ? rest : here), { concurrency }),
        Stream.buffer({ capacity: 2 }),
        Stream.runDrain
      )
    case "stream pushed from a callback":
      return Stream.asyncPush<number>((emit) =>
        Effect.sync(() => {
          setImmediate(() => {
            emit.single(0)
            emit.end()
          })
        })
      ).pipe(
        Stream.mapEffect(() => rest),
        Stream.runDrain
      )
    case "queue":
      return Effect.flatMap(world.queued(rest), (seen) => nobodys(hop.kind, seen))
    case "parcel over JSON":
      return Effect.gen(function* () {
        const parcel = yield* Effect.orDie(Effect.flatMap(Parcel.pack("value"), doors.overJson))
        const opened = Parcel.open(parcel, () => rest)
        // in a fiber that carries nobody, or one of somebody else
        yield* hop.n % 2 === 0 ? Turn.detach(opened) : doors.enter(fullTurn("other"))(opened)
      })
    case "cached":
      return shared(world.cached)
    case "cached with time to live":
      return shared(world.cachedWithTTL)
    case "cache":
      return shared(world.cache(`key ${uniqueId() % 7}`))
    case "pool":
      return shared(world.pool)
    case "resource map with an actor":
      return shared(world.actor(`key ${hop.n}`))
    case "resource":
      return shared(world.resource)
    case "resolver":
      return shared(world.resolved(`key ${uniqueId()}`))
    case "late layer with a worker":
      return Effect.provide(
        Effect.flatMap(Actor, ({ ask }) => shared(ask)),
        world.lateLayer
      )
    case "late layer from a memo map":
      return Effect.flatMap(world.memoLayer, (context) =>
        Effect.provide(
          Effect.flatMap(Actor, ({ ask }) => shared(ask)),
          context
        )
      )
    case "callback through a runner":
      return Effect.flatMap(doors.runner, (runner) =>
        hop.n % 2 === 0
          ? Effect.async<void>((resume) => {
              setImmediate(() => void runner.exit(rest).then(resume))
            })
          : Turn.result(runner.fork(rest))
      )
    case "callback of a worker with a parcel":
      return Effect.flatMap(world.calledBack(rest), (seen) => nobodys(hop.kind, seen))
    case "captured step":
      return Effect.gen(function* () {
        const services = yield* Effect.context<Turn.CurrentTurn>()
        const step = yield* Synchronous.capture(services)(here)
        const worker = yield* Turn.forkWorker(Effect.suspend(step)).pipe(Effect.provideService(Scope.Scope, way.scope))
        yield* Turn.result(worker)
        yield* rest
      })
    case "http":
      return Effect.flatMap(world.overHttp(rest), (seen) => nobodys(hop.kind, seen))
    case "rpc":
      return Effect.asVoid(world.overRpc(rest))
    case "child process":
    case "worker thread": {
      const place = hop.kind
      return Effect.gen(function* () {
        const parcel = yield* Effect.orDie(Effect.flatMap(Parcel.pack("value"), Schema.encode(ParcelJson)))
        const answer = yield* world.elsewhere(place, parcel)
        yield* lookAt(place, expected, answer)
        const back = yield* Effect.orDie(Schema.decodeUnknown(ParcelJson)(answer.parcel))
        yield* Turn.detach(Parcel.open(back, () => rest))
      })
    }
    case "delegate": {
      const id = uniqueId()
      const child = { id: Turn.TurnId.make(`child-${id}`), sessionKey: `child-key-${id}`, sessionId: `child-${id}` }
      return doors.delegate(child)(onwards(delegated(expected, child)))
    }
    case "race":
      // a race waits for a success, and a journey that fails has none
      return Effect.flatten(Effect.race(Effect.exit(rest), Effect.never))
    case "raceFirst":
      return Effect.raceFirst(Effect.never, rest)
    case "timeout":
      return Effect.orDie(Effect.timeout(rest, "1 hour"))
    case "disconnect":
      return Effect.disconnect(rest)
    case "retry": {
      let failures = hop.n
      const attempt = Effect.suspend(() => (failures-- > 0 ? Effect.zipRight(here, Effect.fail("again")) : rest))
      return Effect.orDie(Effect.retry(attempt, Schedule.recurs(5)))
    }
    case "repeat":
      return Effect.zipRight(Effect.repeat(here, Schedule.recurs(hop.n)), rest)
    case "schedule":
      return Effect.zipRight(Effect.schedule(here, Schedule.recurs(hop.n)), rest)
    case "worker on a schedule":
      return Effect.gen(function* () {
        const seen = yield* Deferred.make<Traces>()
        const report = Effect.flatMap(traces, (at) => Deferred.succeed(seen, at))
        yield* doors
          .worker(Effect.schedule(report, Schedule.spaced("1 millis")))
          .pipe(Effect.provideService(Scope.Scope, way.scope))
        yield* shared(Deferred.await(seen))
      })
    case "session id": {
      const sessionId = hop.n === 0 ? "" : `moved-${uniqueId()}`
      const identity = expected.identity.with("sessionId", Field.of(sessionId))
      return doors.withSessionId(sessionId)(onwards({ ...expected, identity }))
    }
    case "stateless":
      return doors.stateless(onwards({ ...expected, asyncDelivery: false }))
    case "acquire and release":
      return Effect.acquireUseRelease(
        here,
        () => rest,
        () => here
      )
    case "nested turn": {
      const inner = Option.getOrThrow(Option.fromNullable(hop.nested))
      const nested = { ...way, arrived: () => undefined }
      return doors
        .enter(inner.turn)(walk(nested, inner.hops, expectedOf(inner.turn)))
        .pipe(Effect.zipRight(here), Effect.zipRight(rest))
    }
  }
}
