/**
 * The process environment as it was at start: a value that a program takes once and hands to whoever must know it.
 *
 * Nobody writes to it, so unlike a mirror in `process.env` it cannot belong to another session.
 */
import { Context, Effect, FiberRef, Layer } from "effect"
import * as CronMarker from "./CronMarker.js"
import * as Field from "./Field.js"
import * as facts from "./internal/facts.js"
import {
  cronCreatorPlatformName,
  cronCreatorUserName,
  cronJobName,
  cronMarkerName,
  registered
} from "./internal/registered.js"

export type Environment = { readonly [name: string]: string }

export class AmbientEnvironment extends Context.Tag("hermes-effect/AmbientEnvironment")<
  AmbientEnvironment,
  Environment
>() {}

/** A layer from an environment taken by a program; missing entries are dropped. */
export const layer = (environment: { readonly [name: string]: string | undefined }): Layer.Layer<AmbientEnvironment> =>
  Layer.succeed(
    AmbientEnvironment,
    Object.fromEntries(
      Object.entries(environment).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
    )
  )

const truthy = (value: string | undefined): boolean =>
  value !== undefined && ["1", "true", "yes", "on"].includes(value.trim().toLowerCase())

/**
 * The marker that an environment carries: a cron run's when it is marked, else unset. A process started inside a cron
 * run stays cron whatever identity it binds (decisions 3 and 6).
 */
export const markerOf = (environment: Environment): CronMarker.CronMarker => {
  if (!truthy(environment[cronMarkerName])) return CronMarker.unset
  const userId = environment[cronCreatorUserName]
  const platform = environment[cronCreatorPlatformName]
  return CronMarker.cron({
    job: environment[cronJobName] ?? null,
    run: null,
    createdBy: userId && platform ? { userId, platform } : null
  })
}

/**
 * The reader rule (gateway.md 1.3): what this fiber was bound to, even to empty; else the environment; else `fallback`.
 * A name outside of the table is a plain look-up in the environment.
 */
export const read = (name: string, fallback = ""): Effect.Effect<string, never, AmbientEnvironment> =>
  Effect.gen(function* () {
    const environment = yield* AmbientEnvironment
    const bound = (yield* registered).get(name) ?? Field.unset
    return Field.encode(bound) ?? environment[name] ?? fallback
  })

/** Is work with this marker a cron run's? The marker itself, else the environment's. */
export const isCronAt = (environment: Environment, marker: CronMarker.CronMarker): boolean =>
  CronMarker.isCron(marker._tag === "Unset" ? markerOf(environment) : marker)

/** Is this work a cron run's? The bound marker, else the environment's (gateway.md 1.4, `isCron`). */
export const isCron: Effect.Effect<boolean, never, AmbientEnvironment> = Effect.flatMap(
  AmbientEnvironment,
  (environment) => FiberRef.getWith(facts.markerRef, (marker) => Effect.succeed(isCronAt(environment, marker)))
)

/**
 * Was this process started inside a turn of an agent? It then refuses what only the owner may do (decision 29). A name
 * that is set to empty counts: a turn that has no such field exports exactly that.
 */
export const startedInsideTurn = (environment: Environment): boolean =>
  Object.keys(environment).some((name) => name.startsWith("HERMES_SESSION_") || name === cronMarkerName)
