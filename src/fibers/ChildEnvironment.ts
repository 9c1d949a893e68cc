/**
 * The one bridge from a turn to the environment of a child process (gateway.md 1.5): which facts a child is told, what
 * it inherits and which secrets it never sees. There is no way back from an environment to a turn.
 */
import { Effect, FiberRef, Redacted } from "effect"
import { AmbientEnvironment, type Environment } from "./AmbientEnvironment.js"
import * as facts from "./internal/facts.js"
import { registered, unexportedNames } from "./internal/registered.js"
import { isGatewaysOwn, isNeverPassed, isPythonEnvironment, isSecret, kanbanWorkerNames } from "./internal/secrets.js"

export interface Options {
  /** The agent home that the child sees as `HERMES_HOME`. */
  readonly home: string
  /** Names that the owner lets through although they look like secrets (`terminal.env_passthrough`); some never pass even so. */
  readonly passthrough?: ReadonlyArray<string>
  /** What the owner keeps in the home's `.env` and lets through: for names that this process was not given. Nothing of the gateway's own passes. */
  readonly kept?: { readonly [name: string]: Redacted.Redacted }
  /** Values over the inherited ones. They displace none of the turn's facts, nor the home, and never carry what never passes. */
  readonly overrides?: Environment
}

const forcePrefix = "_HERMES_FORCE_"

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
    const marker = yield* FiberRef.get(facts.markerRef)
    const turn = yield* FiberRef.get(facts.turnRef)
    const environment = inherited(ambient, new Set(options.passthrough ?? []))
    for (const [name, value] of Object.entries(options.kept ?? {})) {
      if (!isGatewaysOwn(name) && !isPythonEnvironment(name)) environment[name] ??= Redacted.value(value)
    }
    for (const [name, value] of Object.entries(options.overrides ?? {})) {
      if (!isNeverPassed(name)) environment[name] = value
    }
    for (const name of unexportedNames) delete environment[name]
    for (const [name, field] of yield* registered) {
      if (field._tag === "Value") environment[name] = field.value
      else if (field._tag === "Cleared") environment[name] = ""
      else if (facts.isEngaged()) delete environment[name]
    }
    environment["HERMES_HOME"] = options.home
    const ownsTask = (turn === null || turn.depth === 0) && marker._tag !== "Cron" && !ambient[delegatedChildName]
    if (!ownsTask) fenceKanban(environment, ambient, turn !== null && turn.depth > 0)
    return environment
  })

const delegatedChildName = "HERMES_DELEGATED_CHILD_CONTEXT"

/**
 * Neither a delegate nor a cron run owns the kanban task of the worker that it runs in: the worker's names go, and a
 * marker keeps its descendants off the board (gateway.md 1.12). Where there is no task, a cron run needs no marker.
 */
const fenceKanban = (environment: Record<string, string>, ambient: Environment, delegated: boolean): void => {
  for (const name of kanbanWorkerNames) delete environment[name]
  const inheritedMarker = ambient[delegatedChildName]
  if (delegated || inheritedMarker || ambient["HERMES_KANBAN_TASK"]) {
    environment[delegatedChildName] = inheritedMarker || ambient["HERMES_KANBAN_BOARD"] || "1"
  }
}
