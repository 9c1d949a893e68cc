import type { Effect } from "effect"
import type { Ended } from "./Child.js"

/** A running command that outlives its turn, however it is held: by pipes or by a terminal. */
export interface Held {
  readonly pid: number
  /** Waits until the command itself has ended; what it started may go on. */
  readonly ended: Effect.Effect<Ended>
  /** Waits until nothing more can come. */
  readonly closed: Effect.Effect<void>
  /** What it printed last where this process did not hear it; asked for once it has ended. */
  readonly remainder: Effect.Effect<Uint8Array>
  /** False when its input is closed. Waits, in bounds, until the program has room for it. */
  readonly write: (text: string) => Effect.Effect<boolean>
  /** Ends its input; false where that cannot be said. */
  readonly closeInput: Effect.Effect<boolean>
  /** Lets go of it without ending it. */
  readonly release: Effect.Effect<void>
}
