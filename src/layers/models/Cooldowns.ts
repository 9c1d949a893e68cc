/** Which keys of which backends are left alone for a while, known to every route of the process. */
import { Clock, Context, Effect, Layer, MutableHashMap, Option, type Redacted } from "effect"
import type { ModelBackend } from "../../services/operation/Settings.js"

export class Cooldowns extends Context.Tag("hermes/models/Cooldowns")<
  Cooldowns,
  {
    /** What stands for a backend with its key; it holds no secret. */
    readonly seatOf: (backend: ModelBackend) => string
    readonly begin: (seat: string, millis: number) => Effect.Effect<void>
    /** Epoch milliseconds; 0: it may be asked. */
    readonly until: (seat: string) => Effect.Effect<number>
  }
>() {}

export const make: Effect.Effect<typeof Cooldowns.Service> = Effect.sync(() => {
  const numbers = MutableHashMap.empty<Redacted.Redacted, number>()
  const times = new Map<string, number>()

  const numberOf = (key: Redacted.Redacted): number =>
    Option.getOrElse(MutableHashMap.get(numbers, key), () => {
      const number = MutableHashMap.size(numbers) + 1
      MutableHashMap.set(numbers, key, number)
      return number
    })

  return {
    seatOf: ({ apiKey, baseUrl, model, provider }) =>
      JSON.stringify([provider, model, baseUrl, apiKey === null ? 0 : numberOf(apiKey)]),
    begin: (seat, millis) =>
      Effect.map(Clock.currentTimeMillis, (now) => void times.set(seat, Math.max(times.get(seat) ?? 0, now + millis))),
    until: (seat) => Effect.sync(() => times.get(seat) ?? 0)
  }
})

/** Forgotten at the end of the process: the next one asks again and learns it anew. */
export const layer: Layer.Layer<Cooldowns> = Layer.effect(Cooldowns, make)
