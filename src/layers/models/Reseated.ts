/** A route that is made anew when somebody logs in or out while the gateway runs. */
import { Effect, Ref, Stream } from "effect"
import { type ModelRoute, ofTurn, speak } from "../../services/agent/ModelRoute.js"

type Route = typeof ModelRoute.Service

interface Made {
  readonly key: string
  readonly route: Route
}

/**
 * Asks `keyOf` whenever a turn or a call begins, and goes on with a new route where it answers otherwise than before. What
 * has begun keeps its own. How long a seat is left alone is known to all of them, by its name.
 */
export const make = (keyOf: Effect.Effect<string>, route: Effect.Effect<Route>): Effect.Effect<Route> =>
  Effect.gen(function* () {
    const oneByOne = yield* Effect.makeSemaphore(1)
    const first = { key: yield* keyOf, route: yield* route }
    const made = yield* Ref.make<Made>(first)

    const current = Effect.flatMap(keyOf, (key) =>
      Effect.flatMap(Ref.get(made), (now) =>
        now.key === key
          ? Effect.succeed(now.route)
          : oneByOne.withPermits(1)(
              Effect.gen(function* () {
                const meanwhile = yield* Ref.get(made)
                if (meanwhile.key === key) return meanwhile.route
                const next = { key, route: yield* route }
                yield* Ref.set(made, next)
                yield* Effect.logInfo("who is logged in has changed: models are asked accordingly from now on")
                return next.route
              })
            )
      )
    )

    return {
      primary: first.route.primary,
      contextWindow: first.route.contextWindow,
      trouble: Effect.flatMap(Ref.get(made), (now) => now.route.trouble),
      ofTurn: Effect.flatMap(current, ofTurn),
      speak: (request, hear) => Effect.flatMap(current, (now) => speak(now, request, hear)),
      stream: (request) => Stream.unwrap(Effect.map(current, (now) => now.stream(request)))
    }
  })
