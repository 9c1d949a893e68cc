/** What the channel of a turn can do: deliver later, and whether a person reads it as a chat (gateway.md 1.7, 1.8). */
import { Context, Effect, FiberRef, Option } from "effect"
import { AmbientEnvironment, read } from "./AmbientEnvironment.js"
import * as facts from "./internal/facts.js"
import { environmentNames } from "./SessionIdentity.js"
import { CurrentTurn, Turn } from "./Turn.js"

/**
 * May a result that arrives after this turn wake a new one? A kanban worker's channel cannot; an undeclared one can
 * (gateway.md 1.8). Who asks must refuse the promise or fall back, never drop it silently.
 */
export const asyncDeliverySupported: Effect.Effect<boolean, never, AmbientEnvironment> = Effect.flatMap(
  AmbientEnvironment,
  (environment) =>
    environment["HERMES_KANBAN_TASK"]
      ? Effect.succeed(false)
      : FiberRef.getWith(facts.asyncDeliveryRef, (declared) => Effect.succeed(Option.getOrElse(declared, () => true)))
)

/**
 * Declares that nothing can be delivered after this work, nor after what it forks, queues or delegates. Binds nothing
 * else and does not engage the latch (seed: `declare_stateless_channel`).
 */
export const stateless = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.mapInputContext(self, inTurn<R>).pipe(Effect.locally(facts.asyncDeliveryRef, Option.some(false)))

/** The doors of a turn bind again what its value says, so inside a turn the value has to say it too. */
const inTurn = <R>(context: Context.Context<R>): Context.Context<R> =>
  Option.match(Context.getOption(context, CurrentTurn), {
    onNone: () => context,
    onSome: (turn) =>
      Context.add(context, CurrentTurn, new Turn({ ...turn, asyncDelivery: false }, { disableValidation: true }))
  }) as Context.Context<R>

/** Surfaces that are not a person's chat; an unknown name counts as one, so that a new chat platform is never taken for a private machine. */
const notMessaging: ReadonlySet<string> = new Set([
  "",
  "api_server",
  "cli",
  "codex",
  "desktop",
  "gateway",
  "kanban",
  "local",
  "msgraph_webhook",
  "tool",
  "tui",
  "webhook"
])

/** Is this turn delivered over a person's messaging channel? By platform or by source (gateway.md 1.7). */
export const isMessagingSurface: Effect.Effect<boolean, never, AmbientEnvironment> = Effect.gen(function* () {
  const environment = yield* AmbientEnvironment
  const platform = environment["HERMES_PLATFORM"] || (yield* read(environmentNames.platform))
  const source = yield* read(environmentNames.source)
  return [platform, source].some((name) => !notMessaging.has(name.trim().toLowerCase()))
})
