/** Chats whose messages wait for a time: until when. Everything new for such a chat waits as well, so that order holds. */
import { Effect, Queue } from "effect"
import * as SteadyTime from "../../services/operation/SteadyTime.js"

export interface Holds {
  /** An instant of `SteadyTime`; null when the chat is free. */
  readonly until: (lane: string) => number | null
  /** Holds a chat for so many milliseconds and wakes whoever sends what waits. */
  readonly hold: (lane: string, millis: number) => Effect.Effect<void>
  readonly release: (lane: string) => Effect.Effect<void>
  readonly all: Effect.Effect<ReadonlyMap<string, number>>
  readonly wake: Effect.Effect<void>
  /** Waits for the next {@link wake}. One that came before is not lost. */
  readonly woken: Effect.Effect<void>
}

export const make: Effect.Effect<Holds> = Effect.map(Queue.sliding<void>(1), (signals) => {
  const lanes = new Map<string, number>()
  const wake = Effect.asVoid(Queue.offer(signals, undefined))
  return {
    until: (lane) => lanes.get(lane) ?? null,
    hold: (lane, millis) =>
      Effect.flatMap(SteadyTime.now, (now) => {
        lanes.set(lane, now + millis)
        return wake
      }),
    release: (lane) => Effect.sync(() => void lanes.delete(lane)),
    all: Effect.sync(() => new Map(lanes)),
    wake,
    woken: Queue.take(signals)
  } satisfies Holds
})
