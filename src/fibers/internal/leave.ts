import { SqlClient } from "@effect/sql"
import { Chunk, Context, Effect, FiberRef, FiberRefs, HashMap, List, Option, Tracer } from "effect"
import * as CronMarker from "../CronMarker.js"
import * as DeliveryOrigin from "../DeliveryOrigin.js"
import * as Field from "../Field.js"
import * as SessionIdentity from "../SessionIdentity.js"
import { type Binding, binding, locallyAll } from "./bind.js"
import { CurrentTurn } from "./current.js"
import * as facts from "./facts.js"

type Refused = "an effect that needs CurrentTurn cannot leave the turn"

/** The type of an effect that may leave the turn: one that still needs `CurrentTurn` turns into a sentence that says why not. */
export type Detachable<A, E, R> = [CurrentTurn] extends [R] ? Refused : Effect.Effect<A, E, R>

/** The same for something that only names its needs. */
export type DetachableNeeds<R> = [CurrentTurn] extends [R] ? Refused : unknown

const turnTags = [CurrentTurn, Tracer.ParentSpan, SqlClient.TransactionConnection] as const
const withoutTurn = Context.omit(...turnTags)

/** The same environment where there is no turn in it: a copy of all its services costs more than what asked for it. */
const omitTurn = (context: Context.Context<never>): Context.Context<never> =>
  turnTags.some((tag) => context.unsafeMap.has(tag.key)) ? withoutTurn(context) : context

/** What a turn has put on its log lines, spans and metrics goes as well: it would name the turn in another's record. */
const unmarked = [
  binding(FiberRef.currentLogAnnotations, HashMap.empty()),
  binding(FiberRef.currentLogSpan, List.empty()),
  binding(FiberRef.currentTracerSpanAnnotations, HashMap.empty()),
  binding(FiberRef.currentTracerSpanLinks, Chunk.empty()),
  binding(FiberRef.currentMetricLabels, FiberRefs.getOrDefault(FiberRefs.empty(), FiberRef.currentMetricLabels))
]

/** Leaves the turn and has these facts instead. */
const withFacts =
  (...bindings: readonly [Binding, ...ReadonlyArray<Binding>]) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    locallyAll((context) => [binding(FiberRef.currentContext, omitTurn(context)), ...unmarked, ...bindings])(self)

/** Everything of a turn removed: refs unset, tag, span, annotations and the open transaction's connection gone. */
export const detached = withFacts(
  binding(facts.identityRef, SessionIdentity.unset),
  binding(facts.markerRef, CronMarker.unset),
  binding(facts.originRef, DeliveryOrigin.unset),
  binding<Option.Option<boolean>>(facts.asyncDeliveryRef, Option.none()),
  binding(facts.workingDirectoryRef, Field.unset),
  binding(facts.turnRef, null)
)

/** As {@link detached}, but explicitly nobody: a late reader answers empty instead of asking the environment (gateway.md 1.4, `clear`). */
export const cleared = withFacts(
  binding(facts.identityRef, SessionIdentity.cleared),
  binding(facts.markerRef, CronMarker.notCron),
  binding(facts.originRef, DeliveryOrigin.cleared),
  binding<Option.Option<boolean>>(facts.asyncDeliveryRef, Option.none()),
  binding(facts.workingDirectoryRef, Field.cleared),
  binding(facts.turnRef, null)
)
