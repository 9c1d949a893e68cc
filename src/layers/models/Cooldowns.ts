/** Cooldowns of this process alone, for routes that no home stands behind. */
import { Clock, Effect, Layer } from "effect"
import { type Cooldown, Cooldowns, nameOf } from "../../services/agent/Cooldowns.js"

export const make: Effect.Effect<typeof Cooldowns.Service> = Effect.sync(() => {
  const known = new Map<string, Cooldown>()

  const now = Effect.map(Clock.currentTimeMillis, (at) => {
    for (const [name, { until }] of known) if (until <= at) known.delete(name)
    return at
  })

  return Cooldowns.of({
    begin: (seat, millis, reason) =>
      Effect.map(now, (since) => {
        const until = since + millis
        if ((known.get(nameOf(seat))?.until ?? 0) < until) known.set(nameOf(seat), { seat, since, until, reason })
      }),
    current: Effect.map(now, () => new Map([...known].map(([name, { until }]) => [name, until]))),
    list: Effect.map(now, () => [...known.values()]),
    lift: (is) =>
      Effect.map(now, () => {
        const lifted = [...known].filter(([, { seat }]) => is(seat))
        for (const [name] of lifted) known.delete(name)
        return lifted.length
      })
  })
})

/** Forgotten at the end of the process. */
export const layerMemory: Layer.Layer<Cooldowns> = Layer.effect(Cooldowns, make)
