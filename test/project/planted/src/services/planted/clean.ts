// Looks like what is banned, and is not: no line may be reported.
import { Clock, DateTime, Deferred, Effect, ExecutionStrategy, Fiber, FiberRef, Layer, Option, Queue, Random, Ref, Schema, Scope, Stream } from "effect"
import type { Effect as OnlyType } from "effect"
import type * as Types from "effect/Fiber"
import * as Turn from "../../fibers/Turn.js"
import { map as fork } from "effect/Effect"

export type { Effect as Published } from "effect"
export type { Turn } from "../../fibers/Turn.js"
export interface Service {
  readonly run: (effect: Effect.Effect<void>) => OnlyType.Effect<void>
  readonly fiber: Types.RuntimeFiber<void>
  readonly module: typeof Effect
}
export class At extends Schema.Class<At>("At")({ at: Schema.DateFromSelf, date: Schema.instanceOf(Date) }) {}

const ours = { fork: (n: number) => n, cached: 1, env: {}, now: () => 1, random: 1, enter: 1, log: 1 }
export const own = [ours.fork(1), ours.cached, ours.env, ours.now(), ours.random, ours.enter, ours.log]
export const renamed = Effect.void.pipe(fork(() => 1))
export const scopes = (scope: Scope.Scope) => Scope.fork(scope, ExecutionStrategy.sequential)
export const shadowed = (Effect: { fork: () => void }, process: { env: string }, console: { log: string }, Date: { now: () => 1 }) => [
  Effect.fork(),
  process.env,
  console.log,
  Date.now()
]
export const program = Effect.gen(function* () {
  const fiber = yield* Turn.fork(Effect.succeed(1))
  const result = yield* Turn.result(fiber)
  const deferred = yield* Deferred.make<number>()
  yield* Deferred.succeed(deferred, result)
  const queue = yield* Queue.bounded<number>(1)
  yield* Ref.make(0).pipe(Effect.flatMap(Ref.set(1)))
  yield* Effect.locally(Effect.void, FiberRef.currentConcurrency, 1)
  yield* Effect.all([Clock.currentTimeMillis, DateTime.now, Random.next], { concurrency: 2 })
  yield* Effect.raceAll([Effect.void, Effect.sleep("1 second")]).pipe(Effect.timeout("1 second"))
  return [yield* Queue.size(queue), Option.none(), Stream.toReadableStreamEffect, Fiber.interrupt, Layer.scoped]
})
export const dates = [new Date(0), new Date("2026-01-01"), Date.parse("2026-01-01"), Date.UTC(2026), Math.max(1, 2)]
export const pid = [process.pid, process.platform, process.cwd()]
export const isTurn = (u: unknown): u is Turn.Turn => u instanceof Turn.Turn
export const unrelated = { process: 1, console: 2, Effect: 3 }
