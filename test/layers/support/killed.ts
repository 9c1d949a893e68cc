/** The scope of a gateway that the test leaves as a kill does. */
import { Effect, Exit, Scope } from "effect"

/**
 * Closed with the test: an end in order settles what a kill leaves, and without any its workers would go on asking a
 * database that is closed.
 */
export const killed: Effect.Effect<Scope.CloseableScope, never, Scope.Scope> = Effect.acquireRelease(
  Scope.make(),
  (scope) => Scope.close(scope, Exit.void)
)
