/** One process at a time changes what a person writes in a home: `config.yaml`, and `.env` beside it. */
import type { Effect, Scope } from "effect"
import type { LockUnusable } from "../../services/operation/GatewayLock.js"
import * as FileLock from "../sqlite/FileLock.js"

/** A change takes milliseconds: behind this many somebody has stopped in the middle. */
export const patienceSeconds = 15

/** Held until the scope closes; false when another process has not let go in time. `config`: the path of `config.yaml`. */
export const held = (config: string): Effect.Effect<boolean, LockUnusable, Scope.Scope> =>
  FileLock.attempted(`${config}.lock`, patienceSeconds * 1_000)
