/** Where fibers live that end with a scope: `Turn.forkApart` and `Turn.forkCertain` put theirs into one. */
import type { Effect, Scope } from "effect"
import * as nursery from "./internal/nursery.js"

export type Nursery = nursery.Nursery

/**
 * Lasts as long as the scope. When that closes, all fibers are interrupted and waited for, before whatever the scope had
 * acquired earlier is released.
 */
export const make: Effect.Effect<Nursery, never, Scope.Scope> = nursery.make
