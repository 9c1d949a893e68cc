/**
 * The one bridge from a turn to the environment of a child process (gateway.md 1.5): which facts a child is told, what
 * it inherits and which secrets it never sees. There is no way back from an environment to a turn.
 */
import { Effect, FiberRef } from "effect"
import {
  AmbientEnvironment,
  cronCreatorPlatformName,
  cronCreatorUserName,
  cronJobName,
  cronMarkerName,
  type Environment
} from "./AmbientEnvironment.js"
import type { CronMarker } from "./CronMarker.js"
import type { DeliveryOrigin } from "./DeliveryOrigin.js"
import * as Field from "./Field.js"
import * as facts from "./internal/facts.js"
import { isSecret, isNeverPassed, isPythonEnvironment, kanbanWorkerNames } from "./internal/secrets.js"
import * as SessionIdentity from "./SessionIdentity.js"

export interface Options {
  /** The agent home that the child sees as `HERMES_HOME`. */
  readonly home: string
  /** Names that the owner lets through although they look like secrets (`terminal.env_passthrough`); some never pass even so. */
  readonly passthrough?: ReadonlyArray<string>
  /** Values set last, over everything else. */
  readonly overrides?: Environment
}

const forcePrefix = "_HERMES_FORCE_"

/** The registered names and their states in this fiber. */
const registered = (
  identity: SessionIdentity.SessionIdentity,
  marker: CronMarker,
  origin: DeliveryOrigin
): ReadonlyArray<readonly [name: string, field: Field.Field]> => {
  const markerField = (value: string | null): Field.Field =>
    marker._tag === "Unset" ? Field.unset : marker._tag === "Cron" ? Field.bound(value) : Field.cleared
  const cron = marker._tag === "Cron" ? marker : null
  const target = origin._tag === "Targets" ? origin.addresses[0] : null
  const targetField = (value: string | null | undefined): Field.Field =>
    origin._tag === "Unset" ? Field.unset : Field.bound(value)
  return [
    ...SessionIdentity.fieldNames.map((name) => [SessionIdentity.environmentNames[name], identity[name]] as const),
    [cronMarkerName, markerField("1")],
    [cronJobName, markerField(cron?.job ?? null)],
    [cronCreatorUserName, markerField(cron?.createdBy?.userId ?? null)],
    [cronCreatorPlatformName, markerField(cron?.createdBy?.platform ?? null)],
    ["HERMES_CRON_AUTO_DELIVER_PLATFORM", targetField(target?.platform)],
    ["HERMES_CRON_AUTO_DELIVER_CHAT_ID", targetField(target?.chatId)],
    ["HERMES_CRON_AUTO_DELIVER_THREAD_ID", targetField(target?.threadId)]
  ]
}

const inherited = (ambient: Environment, passthrough: ReadonlySet<string>): Record<string, string> => {
  const environment: Record<string, string> = {}
  for (const [name, value] of Object.entries(ambient)) {
    if (name.startsWith(forcePrefix) || isNeverPassed(name) || isPythonEnvironment(name)) continue
    if (!isSecret(name) || passthrough.has(name)) environment[name] = value
  }
  for (const [name, value] of Object.entries(ambient)) {
    const forced = name.startsWith(forcePrefix) ? name.slice(forcePrefix.length) : ""
    if (forced !== "" && !isNeverPassed(forced)) environment[forced] = value
  }
  return environment
}

/**
 * The environment for a child process started here. For each registered name: a value is exported, cleared becomes the
 * empty string, unset is removed once this process has ever bound a turn and inherited before that.
 */
export const make = (options: Options): Effect.Effect<Environment, never, AmbientEnvironment> =>
  Effect.gen(function* () {
    const ambient = yield* AmbientEnvironment
    const identity = yield* FiberRef.get(facts.identityRef)
    const marker = yield* FiberRef.get(facts.markerRef)
    const origin = yield* FiberRef.get(facts.originRef)
    const turn = yield* FiberRef.get(facts.turnRef)
    const environment = inherited(ambient, new Set(options.passthrough ?? []))
    for (const [name, field] of registered(identity, marker, origin)) {
      if (field._tag === "Value") environment[name] = field.value
      else if (field._tag === "Cleared") environment[name] = ""
      else if (facts.isEngaged()) delete environment[name]
    }
    environment["HERMES_HOME"] = options.home
    if (turn !== null && turn.depth > 0) fenceKanban(environment, ambient)
    return { ...environment, ...options.overrides }
  })

/** A delegate does not own its ancestor's kanban task: the worker's names go, and a marker keeps its descendants off the board (gateway.md 1.12). */
const fenceKanban = (environment: Record<string, string>, ambient: Environment): void => {
  for (const name of kanbanWorkerNames) delete environment[name]
  environment["HERMES_DELEGATED_CHILD_CONTEXT"] =
    ambient["HERMES_DELEGATED_CHILD_CONTEXT"] || ambient["HERMES_KANBAN_BOARD"] || "1"
}
