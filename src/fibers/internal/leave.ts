import { SqlClient } from "@effect/sql"
import { Context, Effect, FiberRef, HashMap, Option, Tracer } from "effect"
import * as CronMarker from "../CronMarker.js"
import * as DeliveryOrigin from "../DeliveryOrigin.js"
import * as Field from "../Field.js"
import * as SessionIdentity from "../SessionIdentity.js"
import { CurrentTurn } from "./current.js"
import * as facts from "./facts.js"

/** The type of an effect that may leave the turn: one that still needs `CurrentTurn` turns into a sentence that says why not. */
export type Detachable<A, E, R> = [CurrentTurn] extends [R]
  ? "an effect that needs CurrentTurn cannot leave the turn"
  : Effect.Effect<A, E, R>

const omitTurn = Context.omit(CurrentTurn, Tracer.ParentSpan, SqlClient.TransactionConnection)

const withoutContext = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.mapInputContext(self, (context: Context.Context<R>) => omitTurn(context) as Context.Context<R>).pipe(
    Effect.locally(FiberRef.currentLogAnnotations, HashMap.empty())
  )

/** Everything of a turn removed: refs unset, tag, span, log annotations and the open transaction's connection gone. */
export const detached = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  withoutContext(self).pipe(
    Effect.locally(facts.identityRef, SessionIdentity.unset),
    Effect.locally(facts.markerRef, CronMarker.unset),
    Effect.locally(facts.originRef, DeliveryOrigin.unset),
    Effect.locally(facts.asyncDeliveryRef, Option.none()),
    Effect.locally(facts.workingDirectoryRef, Field.unset),
    Effect.locally(facts.depthRef, 0)
  )

/** As {@link detached}, but explicitly nobody: a late reader answers empty instead of asking the environment (gateway.md 1.4, `clear`). */
export const cleared = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  withoutContext(self).pipe(
    Effect.locally(facts.identityRef, SessionIdentity.cleared),
    Effect.locally(facts.markerRef, CronMarker.notCron),
    Effect.locally(facts.originRef, DeliveryOrigin.cleared),
    Effect.locally(facts.asyncDeliveryRef, Option.none()),
    Effect.locally(facts.workingDirectoryRef, Field.cleared),
    Effect.locally(facts.depthRef, 0)
  )
