import { SqlClient } from "@effect/sql"
import { Chunk, Context, Effect, FiberRef, HashMap, List, Option, Tracer } from "effect"
import * as CronMarker from "../CronMarker.js"
import * as DeliveryOrigin from "../DeliveryOrigin.js"
import * as Field from "../Field.js"
import * as SessionIdentity from "../SessionIdentity.js"
import { CurrentTurn } from "./current.js"
import * as facts from "./facts.js"

type Refused = "an effect that needs CurrentTurn cannot leave the turn"

/** The type of an effect that may leave the turn: one that still needs `CurrentTurn` turns into a sentence that says why not. */
export type Detachable<A, E, R> = [CurrentTurn] extends [R] ? Refused : Effect.Effect<A, E, R>

/** The same for something that only names its needs. */
export type DetachableNeeds<R> = [CurrentTurn] extends [R] ? Refused : unknown

const omitTurn = Context.omit(CurrentTurn, Tracer.ParentSpan, SqlClient.TransactionConnection)

/** What a turn has put on its log lines, spans and metrics goes as well: it would name the turn in another's record. */
const withoutContext = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.mapInputContext(self, (context: Context.Context<R>) => omitTurn(context) as Context.Context<R>).pipe(
    Effect.locally(FiberRef.currentLogAnnotations, HashMap.empty()),
    Effect.locally(FiberRef.currentLogSpan, List.empty()),
    Effect.locally(FiberRef.currentTracerSpanAnnotations, HashMap.empty()),
    Effect.locally(FiberRef.currentTracerSpanLinks, Chunk.empty()),
    Effect.locally(FiberRef.currentMetricLabels, [])
  )

/** Everything of a turn removed: refs unset, tag, span, annotations and the open transaction's connection gone. */
export const detached = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  withoutContext(self).pipe(
    Effect.locally(facts.identityRef, SessionIdentity.unset),
    Effect.locally(facts.markerRef, CronMarker.unset),
    Effect.locally(facts.originRef, DeliveryOrigin.unset),
    Effect.locally(facts.asyncDeliveryRef, Option.none()),
    Effect.locally(facts.workingDirectoryRef, Field.unset),
    Effect.locally(facts.turnRef, null)
  )

/** As {@link detached}, but explicitly nobody: a late reader answers empty instead of asking the environment (gateway.md 1.4, `clear`). */
export const cleared = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  withoutContext(self).pipe(
    Effect.locally(facts.identityRef, SessionIdentity.cleared),
    Effect.locally(facts.markerRef, CronMarker.notCron),
    Effect.locally(facts.originRef, DeliveryOrigin.cleared),
    Effect.locally(facts.asyncDeliveryRef, Option.none()),
    Effect.locally(facts.workingDirectoryRef, Field.cleared),
    Effect.locally(facts.turnRef, null)
  )
