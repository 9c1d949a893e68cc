/** The doors that a way goes through, apart from it so that a test can put a broken one in the place of each. */
import { Effect, type ParseResult, Schema, type Scope } from "effect"
import * as Capabilities from "../../../src/fibers/Capabilities.js"
import { Parcel } from "../../../src/fibers/Parcel.js"
import * as Shared from "../../../src/fibers/Shared.js"
import * as Turn from "../../../src/fibers/Turn.js"

export const ParcelJson = Schema.parseJson(Parcel.schema(Schema.String))

type Inside<A, E, R> = Effect.Effect<A, E, Exclude<R, Turn.CurrentTurn> | Turn.CurrentTurn>

export interface Doors {
  readonly enter: (
    turn: Turn.Turn
  ) => <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, Exclude<R, Turn.CurrentTurn>>
  readonly delegate: (child: Turn.Delegate) => <A, E, R>(self: Effect.Effect<A, E, R>) => Inside<A, E, R>
  readonly fork: <A, E, R>(self: Effect.Effect<A, E, R>) => Inside<Turn.TurnFiber<A, E>, never, R>
  readonly withSessionId: (id: string) => <A, E, R>(self: Effect.Effect<A, E, R>) => Inside<A, E, R>
  readonly stateless: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  readonly runner: Effect.Effect<Turn.Runner<Turn.CurrentTurn>, never, Turn.CurrentTurn>
  readonly worker: <A, E>(self: Effect.Effect<A, E>) => Effect.Effect<unknown, never, Scope.Scope>
  readonly cached: <A, E>(self: Effect.Effect<A, E>) => Effect.Effect<Effect.Effect<A, E>>
  /** Writes and reads a parcel, as a row or a message does. */
  readonly overJson: (parcel: Parcel<string>) => Effect.Effect<Parcel<string>, ParseResult.ParseError>
}

export const doors: Doors = {
  enter: Turn.enter,
  delegate: Turn.delegate,
  fork: Turn.fork,
  withSessionId: Turn.withSessionId,
  stateless: Capabilities.stateless,
  runner: Turn.runner(),
  worker: (self) => Turn.forkWorker(self),
  cached: (self) => Shared.cached(self),
  overJson: (parcel) => Effect.flatMap(Schema.encode(ParcelJson)(parcel), Schema.decode(ParcelJson))
}
