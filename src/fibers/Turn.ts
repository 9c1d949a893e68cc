/**
 * A turn: one piece of work, with the three facts that decide whether it can be trusted — who it is for, why it runs
 * and where its answer goes — and the doors through which work enters, forks, delegates and leaves.
 *
 * No fact can be bound alone. A door carries all three or removes all three.
 */
import type { Scope } from "effect"
import {
  Context,
  Data,
  Effect,
  Equal,
  Exit,
  Fiber,
  FiberId,
  FiberRef,
  FiberRefs,
  Option,
  Runtime,
  Schema
} from "effect"
import * as CronMarker from "./CronMarker.js"
import * as DeliveryOrigin from "./DeliveryOrigin.js"
import * as Field from "./Field.js"
import { binding, locallyAll } from "./internal/bind.js"
import { CurrentTurn } from "./internal/current.js"
import * as facts from "./internal/facts.js"
import * as leave from "./internal/leave.js"
import * as nurseries from "./internal/nursery.js"
import type { Nursery } from "./Nursery.js"
import * as Presence from "./Presence.js"
import * as SessionIdentity from "./SessionIdentity.js"

export { CurrentTurn }

export const TurnId = Schema.NonEmptyString.pipe(Schema.brand("hermes/TurnId"))
export type TurnId = typeof TurnId.Type

/**
 * A turn as a value: the same thing in memory, in a row and in a message to another process.
 *
 * Constructed by admission, the job runner and `Parcel` only (a lint rule holds it).
 */
export class Turn extends Schema.Class<Turn>("hermes/Turn")({
  id: TurnId,
  /** The turn that delegated this one. A nested turn for another chat is nobody's child (decision 8). */
  parent: Schema.NullOr(TurnId),
  /** 0 for a turn that nobody delegated; the parent's depth + 1 for a delegate. */
  depth: Schema.NonNegativeInt,
  identity: SessionIdentity.schema,
  marker: CronMarker.schema,
  origin: DeliveryOrigin.schema,
  presence: Presence.schema,
  /** May a result that arrives after this turn wake a new one? Null: never declared, which reads as yes (gateway.md 1.8). */
  asyncDelivery: Schema.NullOr(Schema.Boolean),
  /** The directory this turn is pinned to; null pins none (gateway.md 1.6). */
  workingDirectory: Schema.NullOr(Schema.String)
}) {}

/** The tag and the refs disagree: a context or a fiber of another turn got in. Always a defect, never an answer (decision 9). */
export class TurnMismatch extends Schema.TaggedError<TurnMismatch>()("TurnMismatch", {
  turn: TurnId,
  fact: Schema.Literal("identity", "marker", "origin", "turn")
}) {
  override get message(): string {
    return `turn ${this.turn} was asked for in a fiber that carries another ${this.fact}`
  }
}

/** What a fiber carries, for log lines, spans and tests. What *needs* to know the turn asks {@link current}. */
export interface Facts {
  readonly identity: SessionIdentity.SessionIdentity
  readonly marker: CronMarker.CronMarker
  readonly origin: DeliveryOrigin.DeliveryOrigin
}

/** Reads the three facts of this fiber; answers anywhere, with unset facts in a worker. */
export const peek: Effect.Effect<Facts> = Effect.withFiberRuntime((fiber) => Effect.succeed(carriedBy(fiber)))

const carriedBy = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Facts => ({
  identity: fiber.getFiberRef(facts.identityRef),
  marker: fiber.getFiberRef(facts.markerRef),
  origin: fiber.getFiberRef(facts.originRef)
})

/** The three facts in a fiber's refs: for a `Logger`, which is given the refs of the fiber that logs and runs in none. */
export const peekIn = (refs: FiberRefs.FiberRefs): Facts => ({
  identity: FiberRefs.getOrDefault(refs, facts.identityRef),
  marker: FiberRefs.getOrDefault(refs, facts.markerRef),
  origin: FiberRefs.getOrDefault(refs, facts.originRef)
})

/** Has this process ever bound a turn (gateway.md 1.5)? Goes from false to true once and stays. */
export const engaged: Effect.Effect<boolean> = Effect.sync(facts.isEngaged)

/** The facts first, because they say more; the id catches an earlier turn of the same conversation. */
const mismatch = (turn: Turn, carried: Facts, id: string | undefined): Option.Option<TurnMismatch["fact"]> =>
  turn.identity !== carried.identity && !Equal.equals(turn.identity, carried.identity)
    ? Option.some("identity")
    : turn.marker !== carried.marker && !CronMarker.same(turn.marker, carried.marker)
      ? Option.some("marker")
      : turn.origin !== carried.origin && !sameOrigin(turn.origin, carried.origin)
        ? Option.some("origin")
        : turn.id !== id
          ? Option.some("turn")
          : Option.none()

const sameOrigin = (a: DeliveryOrigin.DeliveryOrigin, b: DeliveryOrigin.DeliveryOrigin): boolean =>
  a._tag === b._tag && DeliveryOrigin.continues(a, b)

/** The turn of this fiber. Dies with {@link TurnMismatch} instead of answering with somebody else's. */
export const current: Effect.Effect<Turn, never, CurrentTurn> = Effect.withFiberRuntime((fiber) =>
  verified(Context.unsafeGet(fiber.getFiberRef(FiberRef.currentContext), CurrentTurn), fiber)
)

const verified = (turn: Turn, fiber: Fiber.RuntimeFiber<unknown, unknown>): Effect.Effect<Turn> =>
  Option.match(mismatch(turn, carriedBy(fiber), fiber.getFiberRef(facts.turnRef)?.id), {
    onNone: () => Effect.succeed(turn),
    onSome: (fact) => Effect.die(new TurnMismatch({ turn: turn.id, fact }))
  })

/** The turn of this fiber, or none outside of any; dies as {@link current} does. */
export const currentOption: Effect.Effect<Option.Option<Turn>> = Effect.withFiberRuntime((fiber) => {
  const turn = Context.getOption(fiber.getFiberRef(FiberRef.currentContext), CurrentTurn)
  return Option.isNone(turn) ? Effect.succeed(turn) : Effect.as(verified(turn.value, fiber), turn)
})

/**
 * The choke point: binds all three facts, the capability and the directory from its own argument, whatever the fiber
 * held before, and restores exactly that afterwards, also after a failure or an interruption (seed: turn entry; A→B→A).
 *
 * For admission, the job runner and `Parcel` only.
 */
export const enter =
  (turn: Turn) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, CurrentTurn>> =>
    locallyAll((context) => {
      facts.engage()
      return [
        binding(FiberRef.currentContext, Context.add(context, CurrentTurn, turn)),
        binding(facts.identityRef, turn.identity),
        binding(facts.markerRef, turn.marker),
        binding(facts.originRef, turn.origin),
        binding(facts.asyncDeliveryRef, Option.fromNullable(turn.asyncDelivery)),
        binding(facts.workingDirectoryRef, Field.bound(turn.workingDirectory)),
        binding(facts.turnRef, { id: turn.id, depth: turn.depth })
      ]
    })(self as Effect.Effect<A, E, Exclude<R, CurrentTurn>>)

/**
 * Explicitly nobody: what admission wraps every handler in, so that a late finalizer reads nobody and a late child
 * process gets empty strings (decision 5). The type refuses an effect that still needs a turn.
 */
export const cleared = <A, E, R>(self: Effect.Effect<A, E, R> & leave.Detachable<A, E, R>): Effect.Effect<A, E, R> =>
  leave.cleared<A, E, R>(self)

/**
 * Moves the session id, the one field that may move inside a turn (rotation, `/new`, a delegate's construction), for
 * as long as `self` runs. It never touches the process environment (seed: `scoped_current_session_id`).
 */
export const withSessionId =
  (sessionId: string) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, CurrentTurn> | CurrentTurn> =>
    Effect.flatMap(current, (turn) => {
      const identity = turn.identity.with("sessionId", Field.of(sessionId))
      return Effect.provideService(
        self,
        CurrentTurn,
        new Turn({ ...turn, identity }, { disableValidation: true })
      ).pipe(Effect.locally(facts.identityRef, identity))
    })

const TurnFiberTypeId: unique symbol = Symbol.for("hermes-effect/TurnFiber")

/** A running child of a turn. Opaque and no Effect: it cannot be yielded, which would be a join. */
export interface TurnFiber<out A, out E = never> {
  readonly [TurnFiberTypeId]: { readonly _A: (_: never) => A; readonly _E: (_: never) => E }
}

class Running<A, E> extends Data.Class<{ readonly fiber: Fiber.RuntimeFiber<A, E> }> implements TurnFiber<A, E> {
  readonly [TurnFiberTypeId] = { _A: (_: never): A => _, _E: (_: never): E => _ }
}

const opaque = <A, E>(fiber: Fiber.RuntimeFiber<A, E>): TurnFiber<A, E> => new Running({ fiber })
const runtimeFiber = <A, E>(fiber: TurnFiber<A, E>): Fiber.RuntimeFiber<A, E> => (fiber as Running<A, E>).fiber

/** A child fiber bound to the turn that asked, not to whichever fiber happens to run it. It ends with its parent fiber. */
export const fork = <A, E, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<TurnFiber<A, E>, never, Exclude<R, CurrentTurn> | CurrentTurn> =>
  // A child has all that its parent has, and `current` has made sure that this is the turn's.
  Effect.zipRight(current, Effect.map(Effect.fork(self as Effect.Effect<A, E, Exclude<R, CurrentTurn>>), opaque))

/** As {@link fork}, but living as long as `scope`: for work that may outlast the fiber that asked for it. */
export const forkIn =
  (scope: Scope.Scope) =>
  <A, E, R>(
    self: Effect.Effect<A, E, R>
  ): Effect.Effect<TurnFiber<A, E>, never, Exclude<R, CurrentTurn> | CurrentTurn> =>
    Effect.zipRight(
      current,
      Effect.map(Effect.forkIn(self as Effect.Effect<A, E, Exclude<R, CurrentTurn>>, scope), opaque)
    )

/**
 * Lives as long as `nursery`: bound to the turn of the fiber that asks where there is one, as {@link forkIn}, and else a
 * worker that carries nobody. For what serves both.
 */
export const forkApart =
  (nursery: Nursery) =>
  <A, E>(self: Effect.Effect<A, E>): Effect.Effect<TurnFiber<A, E>> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(currentOption, (turn) => {
        const fork = nurseries.fork(nursery)(restore(self))
        return Effect.map(
          Option.isSome(turn) ? fork : leave.detached<Fiber.RuntimeFiber<A, E>, never, never>(fork),
          opaque
        )
      })
    )

/** The outcome of a fiber and nothing else of it: a join would copy its whole context over the caller's. */
export const result = <A, E>(fiber: TurnFiber<A, E>): Effect.Effect<A, E> =>
  Effect.flatten(Fiber.await(runtimeFiber(fiber)))

/** The exit of a fiber. */
export const exit = <A, E>(fiber: TurnFiber<A, E>): Effect.Effect<Exit.Exit<A, E>> => Fiber.await(runtimeFiber(fiber))

/** Interrupts a fiber and waits until it has ended. */
export const interrupt = <A, E>(fiber: TurnFiber<A, E>): Effect.Effect<Exit.Exit<A, E>> =>
  Fiber.interrupt(runtimeFiber(fiber))

/** Signals a fiber to end without waiting for it. */
export const interruptSoon = <A, E>(fiber: TurnFiber<A, E>): Effect.Effect<void> =>
  Fiber.interruptAsFork(runtimeFiber(fiber), FiberId.none)

/** What a delegate brings of its own. Marker, origin, presence and directory are not here: the door carries them. */
export interface Delegate {
  readonly id: TurnId
  readonly sessionKey: string
  readonly sessionId: string
  /** The profile that this process serves; not taken from the parent, who lends four things only. */
  readonly profile?: string | null
  /** A checkout of the parent's workspace that is this delegate's alone; it works where its parent does when left out. */
  readonly worktree?: string | null
}

/**
 * The only way to a delegate (decision 7). The marker and the send origin come from the turn that asks and cannot be
 * left out; so do the approval context and the workspace. Everything else is the child's own: no platform, chat or
 * user of the parent's, async delivery false, depth + 1. A delegate's work counts as a tool's, so its source is `tool`.
 */
export const delegate =
  (child: Delegate) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, Exclude<R, CurrentTurn> | CurrentTurn> =>
    Effect.flatMap(current, (parent) =>
      enter(
        new Turn(
          {
            id: child.id,
            parent: parent.id,
            depth: parent.depth + 1,
            identity: SessionIdentity.bind({
              source: "tool",
              sessionKey: child.sessionKey,
              sessionId: child.sessionId,
              profile: child.profile
            }),
            marker: parent.marker,
            origin: DeliveryOrigin.chained(parent.origin),
            presence: parent.presence,
            asyncDelivery: false,
            workingDirectory: child.worktree ?? parent.workingDirectory
          },
          { disableValidation: true }
        )
      )(self)
    )

/** Runs effects from a foreign library's callbacks. */
export interface Runner<R> {
  /** Starts `self`; the fiber belongs to nobody, so interrupt it or let it end. */
  readonly fork: <A, E>(self: Effect.Effect<A, E, R>) => TurnFiber<A, E>
  /** Runs `self` and settles with its exit; never rejects. */
  readonly exit: <A, E>(self: Effect.Effect<A, E, R>) => Promise<Exit.Exit<A, E>>
}

const makeRunner = <R>(
  runtime: Runtime.Runtime<R>,
  wrap: <A, E>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R> = (self) => self
): Runner<R> => ({
  fork: (self) => opaque(Runtime.runFork(runtime)(wrap(self))),
  exit: (self) => Runtime.runPromiseExit(runtime)(wrap(self))
})

/** For callbacks of foreign libraries inside a turn: the turn is fixed when this is asked for. */
export const runner = <R = never>(): Effect.Effect<Runner<R | CurrentTurn>, never, R | CurrentTurn> =>
  Effect.flatMap(current, (turn) =>
    Effect.map(Effect.runtime<R | CurrentTurn>(), (runtime) =>
      makeRunner<R | CurrentTurn>(runtime, (self) => enter(turn)(self))
    )
  )

/** Leaves the turn for good. The type refuses an effect that still needs one. */
export const detach = <A, E, R>(self: Effect.Effect<A, E, R> & leave.Detachable<A, E, R>): Effect.Effect<A, E, R> =>
  leave.detached<A, E, R>(self)

/**
 * A worker that outlives turns and carries nobody, from its first step on; it lives as long as the scope (decision 10)
 * and can be interrupted also when it was started in an uninterruptible region, so that the scope can close.
 */
export const forkWorker = <A, E, R>(
  self: Effect.Effect<A, E, R> & leave.Detachable<A, E, R>
): Effect.Effect<TurnFiber<A, E>, never, R | Scope.Scope> =>
  Effect.map(leave.detached(Effect.forkScoped(Effect.interruptible<A, E, R>(self))), opaque)

/**
 * As {@link forkWorker}, with a certain beginning and a certain end: nothing interrupts it before its first step, where an
 * `ensuring` of its own would not be in place yet. It can be interrupted only where it says so, in its own
 * `Effect.interruptible`; without such a place the nursery's scope waits for its end.
 */
export const forkCertain =
  (nursery: Nursery) =>
  <A, E, R>(self: Effect.Effect<A, E, R> & leave.Detachable<A, E, R>): Effect.Effect<TurnFiber<A, E>, never, R> =>
    Effect.map(leave.detached<Fiber.RuntimeFiber<A, E>, never, R>(nurseries.fork(nursery)<A, E, R>(self)), opaque)

/** For callbacks of foreign libraries outside of any turn (servers, pollers): what they run carries nobody and may not need a turn. */
export const workerRunner = <R = never>(): Effect.Effect<
  Runner<Exclude<R, CurrentTurn>>,
  never,
  Exclude<R, CurrentTurn>
> =>
  // The runtime was taken outside of any turn, so each fiber begins there.
  Effect.map(leave.detached(Effect.runtime<Exclude<R, CurrentTurn>>()), (runtime) =>
    makeRunner<Exclude<R, CurrentTurn>>(runtime)
  )

/**
 * Warns when the bound session key is not the one that this call was given (gateway.md 1.13). It changes nothing and
 * logs no message content.
 */
export const warnOnKeyMismatch = (where: "dispatch" | "tool submit", expected: string): Effect.Effect<void> =>
  Effect.flatMap(FiberRef.get(facts.identityRef), (identity) => {
    const bound = Field.valueOrNull(identity.sessionKey)
    return (bound ?? "") === expected
      ? Effect.void
      : Effect.logWarning("bound session key differs from the key given").pipe(
          Effect.annotateLogs({ where, bound: bound ?? "none", expected })
        )
  })
