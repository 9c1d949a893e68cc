/**
 * The marker, the origin and the identity over every mechanism, in random order and at once: what a turn carries at the
 * start is what it carries at the end, and nothing that outlives it carries it on.
 */
import type { HttpClient, HttpServer } from "@effect/platform"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, layer } from "@effect/vitest"
import { Cause, Data, Effect, Exit, FastCheck as fc, FiberRef, Layer, Logger, Option, Runtime, Schema } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import * as DeliveryOrigin from "../../../src/fibers/DeliveryOrigin.js"
import * as Field from "../../../src/fibers/Field.js"
import * as facts from "../../../src/fibers/internal/facts.js"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as Turn from "../../../src/fibers/Turn.js"
import { scaled } from "../../scale.js"
import { ChildProcess, childProcess, WorkerThread, workerThread } from "../support/elsewhere.js"
import { poisoned } from "../support/names.js"
import { FiberWatch, settle } from "../support/turns.js"
import { type Doors, doors, ParcelJson } from "./Doors.js"
import { delegations, type Expected, type Journey, kinds, type Kind, together } from "./Journey.js"
import { travel, type Way } from "./Walk.js"
import * as World from "./World.js"

type Edges = ChildProcess | WorkerThread | HttpServer.HttpServer | HttpClient.HttpClient

/** A fiber that outlives its journey carries somebody. */
class Kept extends Data.TaggedError("Kept")<{ readonly carried: ReadonlyArray<string | null> }> {
  override get message(): string {
    return `fibers that outlive the journey carry ${JSON.stringify(this.carried.filter((at) => at !== null))}`
  }
}

interface Figures {
  journeys: number
  fibers: number
  living: number
  readonly hops: Map<Kind, number>
}

const noFigures = (): Figures => ({ journeys: 0, fibers: 0, living: 0, hops: new Map() })

const checkLiving = (watch: FiberWatch): Effect.Effect<number> => {
  const { atBirth, now } = watch.living()
  const carried = [...atBirth, ...now]
  return carried.every((at) => at === null) ? Effect.succeed(now.length) : Effect.die(new Kept({ carried }))
}

/** All journeys at once, then a look at every fiber that is still there. */
const travelTogether = (
  under: Doors,
  world: World.World,
  worldWatch: FiberWatch,
  journeys: ReadonlyArray<Journey>,
  figures: Figures
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const watch = new FiberWatch()
    const ends: Array<readonly [Expected, Turn.Facts, number]> = []
    yield* Effect.scoped(
      Effect.gen(function* () {
        const scope = yield* Effect.scope
        const way: Way = {
          doors: under,
          world,
          scope,
          taken: (kind) => figures.hops.set(kind, (figures.hops.get(kind) ?? 0) + 1),
          arrived: (...end) => void ends.push(end)
        }
        yield* Effect.supervised(
          Effect.forEach(
            journeys,
            (journey) =>
              Effect.gen(function* () {
                const before = ends.length
                yield* travel(
                  { ...way, arrived: (...end) => checkEnd(journey, ...end, () => void ends.push(end)) },
                  journey
                )
                assert.isAbove(ends.length, before, "the journey has an end")
              }),
            { concurrency: "unbounded", discard: true }
          ),
          watch
        )
        yield* settle
        figures.living += (yield* checkLiving(watch)) + (yield* checkLiving(worldWatch))
      })
    )
    figures.journeys += journeys.length
    figures.fibers += watch.started
  })

/** What the property says, once more and by itself: from the journey's own turn to what was carried at the end. */
const checkEnd = (journey: Journey, expected: Expected, carried: Turn.Facts, depth: number, good: () => void): void => {
  assert.isTrue(CronMarker.same(carried.marker, journey.turn.marker), "the marker is the one at the start")
  assert.isTrue(
    DeliveryOrigin.continues(journey.turn.origin, carried.origin),
    "the origin continues the one at the start"
  )
  assert.deepStrictEqual(carried.identity, expected.identity, "the identity is the asked one")
  assert.strictEqual(depth, journey.turn.depth + delegations(journey.hops), "the depth counts the delegations")
  good()
}

/** Runs the property against a world of its own made of these doors. */
const property = (under: Doors, runs: number, figures: Figures, seed?: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const worldWatch = new FiberWatch()
      const world = yield* Effect.supervised(World.make(under), worldWatch)
      const runtime = yield* Effect.runtime<never>()
      return yield* Effect.promise(() =>
        fc.check(
          fc.asyncProperty(together, async (journeys) => {
            const exit = await Runtime.runPromiseExit(runtime)(
              Effect.timeoutFail(travelTogether(under, world, worldWatch, journeys, figures), {
                duration: "20 seconds",
                onTimeout: () => new Error("the journey does not end")
              })
            )
            if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
          }),
          { numRuns: runs, endOnFailure: true, ...(seed === undefined ? {} : { seed }) }
        )
      )
    })
  )

const edges: Layer.Layer<Edges> = Layer.mergeAll(
  childProcess(poisoned("foreign")),
  workerThread(poisoned("foreign")),
  Layer.orDie(NodeHttpServer.layerTest)
)

/** For a machine that does other things as well: the counts are what matters, not the time. */
const patience = { timeout: 600_000 }

const quiet = Logger.remove(Logger.defaultLogger)

/** Puts the facts of a raw binding around `self`, which no door would do. */
const rawly = (turn: Turn.Turn) => Turn.enter(turn)

const delegateAs =
  (change: (child: Turn.Turn, parent: Turn.Turn) => Turn.Turn): Doors["delegate"] =>
  (child) =>
  (self) =>
    Effect.flatMap(Turn.current, (parent) =>
      Turn.delegate(child)(Effect.flatMap(Turn.current, (made) => rawly(change(made, parent))(self)))
    )

const changed = (turn: Turn.Turn, over: Partial<Turn.Turn>) => new Turn.Turn({ ...turn, ...over })

/** Broken doors; each has to be found. */
const mutants: ReadonlyArray<readonly [name: string, broken: Partial<Doors>]> = [
  ["a delegate drops the marker", { delegate: delegateAs((made) => changed(made, { marker: CronMarker.unset })) }],
  [
    "a delegate is always explicitly not cron",
    { delegate: delegateAs((made) => changed(made, { marker: CronMarker.notCron })) }
  ],
  [
    "a delegate is over-marked",
    { delegate: delegateAs((made) => changed(made, { marker: CronMarker.cron({ job: "j", run: "r" }) })) }
  ],
  [
    "a delegate drops the origin",
    { delegate: delegateAs((made) => changed(made, { origin: DeliveryOrigin.cleared })) }
  ],
  [
    "a delegate's origin is live again",
    {
      delegate: delegateAs((made) =>
        changed(made, made.origin._tag === "Routing" ? { origin: DeliveryOrigin.live(made.origin.address) } : {})
      )
    }
  ],
  [
    "a delegate has its parent's identity",
    { delegate: delegateAs((made, parent) => changed(made, { identity: parent.identity })) }
  ],
  [
    "a delegate has its parent's platform",
    {
      delegate: delegateAs((made, parent) =>
        changed(made, { identity: made.identity.with("platform", parent.identity.platform) })
      )
    }
  ],
  ["a delegate is not counted", { delegate: delegateAs((made, parent) => changed(made, { depth: parent.depth })) }],
  ["a delegate may deliver later", { delegate: delegateAs((made) => changed(made, { asyncDelivery: true })) }],
  [
    "a turn does not put the outer one back",
    {
      enter: (turn) => (self) =>
        Effect.zipLeft(Turn.enter(turn)(self), FiberRef.set(facts.identityRef, SessionIdentity.cleared))
    }
  ],
  [
    "a turn binds only what it has, over the outer one",
    {
      enter: (turn) => (self) =>
        Effect.flatMap(FiberRef.get(facts.identityRef), (outer) => {
          const missing = SessionIdentity.fieldNames.filter((name) => turn.identity[name]._tag === "Cleared")
          const identity = missing.reduce((made, name) => made.with(name, outer[name]), turn.identity)
          return Turn.enter(changed(turn, { identity }))(self)
        })
    }
  ],
  [
    "a turn leaves the marker as it was",
    {
      enter: (turn) => (self) =>
        Effect.flatMap(FiberRef.get(facts.markerRef), (marker) => Turn.enter(changed(turn, { marker }))(self))
    }
  ],
  [
    "a session id stays after its scope",
    {
      withSessionId: (id) => (self) =>
        Effect.zipRight(
          FiberRef.update(facts.identityRef, (identity) => identity.with("sessionId", Field.of(id))),
          Turn.withSessionId(id)(self)
        )
    }
  ],
  [
    "a stateless declaration is lost in what it starts",
    { stateless: (self) => Effect.locally(self, facts.asyncDeliveryRef, Option.some(false)) }
  ],
  [
    "a fork starts as nobody",
    {
      fork: (self) =>
        Effect.flatMap(Turn.current, () => Turn.fork(Effect.locally(self, facts.markerRef, CronMarker.unset)))
    }
  ],
  [
    "a runner is one for all, captured by who came first",
    (() => {
      let first: Turn.Runner<Turn.CurrentTurn> | null = null
      return { runner: Effect.map(Turn.runner(), (own) => (first ??= own)) }
    })()
  ],
  [
    "a row keeps no marker",
    {
      overJson: (parcel) =>
        Schema.encode(ParcelJson)(parcel).pipe(
          Effect.map((json) =>
            JSON.stringify({ ...JSON.parse(json), turn: { ...JSON.parse(json).turn, marker: { _tag: "Unset" } } })
          ),
          Effect.flatMap(Schema.decode(ParcelJson))
        )
    }
  ],
  ["a worker is a bare fork", { worker: (self) => Effect.forkScoped(self) }],
  [
    "a worker is a fork of the turn",
    { worker: (self) => Effect.flatMap(Effect.scope, (scope) => Effect.forkIn(self, scope)) }
  ],
  ["a shared value is computed by who comes first", { cached: (self) => Effect.cached(self) }]
]

layer(edges, { excludeTestServices: true, timeout: "2 minutes" })("random ways", (it) => {
  it.effect(
    "carry their marker, origin and identity to the end, and no worker holds a turn",
    () =>
      Effect.gen(function* () {
        const figures = noFigures()
        const runs = scaled(1000, 60)
        const details = yield* property(doors, runs, figures)
        if (details.failed) {
          assert.fail(`seed ${details.seed}, path ${details.counterexamplePath}: ${fc.defaultReportMessage(details)}`)
        }
        assert.isAtLeast(figures.journeys, runs)
        for (const kind of [...kinds, "nested turn"] as const) {
          assert.isAtLeast(figures.hops.get(kind) ?? 0, 5, `${kind} was taken`)
        }
        assert.isAbove(figures.fibers, figures.journeys)
        assert.isAbove(figures.living, 0, "there were workers to look at")
      }).pipe(Effect.provide(quiet)),
    patience
  )

  describe("a broken door is found (negative controls)", () => {
    for (const [name, broken] of mutants) {
      it.effect(
        name,
        () =>
          Effect.gen(function* () {
            const runs = scaled(1000, 60)
            const details = yield* property({ ...doors, ...broken }, runs, noFigures())
            assert.isTrue(details.failed, `not found in ${runs} runs`)
            const message = String(details.errorInstance ?? details.error)
            assert.match(message, /Lost|Kept|TurnMismatch|instead of|outlive|another|expected/)
          }).pipe(Effect.provide(quiet)),
        patience
      )
    }
  })
})
