/** Locks as SQLite files: an exclusive transaction that never ends, which the kernel ends with its process. */
import { Effect, ExecutionStrategy, Exit, Layer, Redacted, Scope } from "effect"
import { createHash } from "node:crypto"
import { type FSWatcher, watch } from "node:fs"
import path from "node:path"
import * as Turn from "../../fibers/Turn.js"
import { GatewayLock, HomeInUse, type LockUnusable, TokenInUse } from "../../services/operation/GatewayLock.js"
import * as SharedMinute from "../../services/operation/SharedMinute.js"
import * as DatabaseFile from "./DatabaseFile.js"
import * as FileLock from "./FileLock.js"

/** Decision 2: a gateway that is just ending, or was just killed, gets this long to let go. */
const patienceMillis = 2_000

/** Waits until something happens to a file, which nobody writes to: that it is deleted, or another takes its place. */
const touched = (file: string, ours: string | null): Effect.Effect<void> =>
  Effect.async((resume) => {
    let watcher: FSWatcher | null = null
    try {
      watcher = watch(file, { persistent: false }, () => resume(Effect.void))
      watcher.once("error", () => watcher?.close())
    } catch {
      // There are places that cannot be watched; then it is looked at now and then.
    }
    // It may have happened before anybody watched.
    if (DatabaseFile.identityOf(file) !== ours) resume(Effect.void)
    return Effect.sync(() => watcher?.close())
  })

/**
 * As {@link FileLock.attempted}, and stays the holder of whatever lies at the path: who is left with a file that was deleted, as
 * one that looked stale, locks what nobody else looks at.
 */
const hold = (file: string) =>
  Effect.gen(function* () {
    const whole = yield* Effect.scope
    const fresh = Scope.fork(whole, ExecutionStrategy.sequential)
    let held = yield* fresh
    if (!(yield* Scope.extend(FileLock.attempted(file, patienceMillis), held))) return false
    let ours = DatabaseFile.identityOf(file)
    /** Somebody else has it, or its home is gone: nothing tells when that is over. */
    let lost = false
    let told = false
    const again = Effect.gen(function* () {
      const found = DatabaseFile.identityOf(file)
      lost = found !== ours || found === null
      // A home that was removed as a whole is not made again for its lock.
      if (!lost || DatabaseFile.identityOf(path.dirname(file)) === null) return
      const next = yield* fresh
      const taken = yield* Effect.orElseSucceed(
        Scope.extend(FileLock.attempted(file, patienceMillis), next),
        () => false
      )
      if (taken) {
        yield* Scope.close(held, Exit.void)
        held = next
        ours = DatabaseFile.identityOf(file)
        yield* Effect.logWarning("the lock file was deleted or replaced while it was held; it was made anew")
      } else {
        yield* Scope.close(next, Exit.void)
        if (!told) yield* Effect.logError("the lock file was deleted or replaced, and cannot be had again")
      }
      told = !taken
      lost = !taken
    })
    // Also looked at where the system does not tell of a file that goes.
    yield* Effect.flatMap(SharedMinute.wait, (millis) =>
      lost ? Effect.sleep(millis) : Effect.timeoutOption(touched(file, ours), millis)
    ).pipe(Effect.zipRight(again), Effect.annotateLogs({ file }), Effect.forever, Turn.forkWorker)
    return true
  })

/** gateway.md 2.11: platform and 16 hex digits of the token's hash, never the token. */
const tokenFile = (directory: string, platform: string, token: Redacted.Redacted): string => {
  const hash = createHash("sha256").update(Redacted.value(token)).digest("hex").slice(0, 16)
  return path.join(directory, `${platform.replace(/[^a-z0-9_-]/gi, "_")}-${hash}.lock`)
}

/** Takes `gateway.lock` in the home when it is built and keeps it; tokens are locked in `lockDirectory`. */
export const layer = (options: {
  readonly home: string
  readonly lockDirectory: string
}): Layer.Layer<GatewayLock, HomeInUse | LockUnusable> =>
  Layer.scoped(
    GatewayLock,
    Effect.gen(function* () {
      const { home, lockDirectory } = options
      if (!(yield* hold(path.join(home, "gateway.lock")))) return yield* new HomeInUse({ home })
      return GatewayLock.of({
        home,
        holdToken: Effect.fn("GatewayLock.holdToken")(function* (platform: string, token: Redacted.Redacted) {
          if (!(yield* hold(tokenFile(lockDirectory, platform, token)))) return yield* new TokenInUse({ platform })
        })
      })
    })
  )
