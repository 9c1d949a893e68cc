/** The databases that are open in this process: each file once, whoever asks for it (state-agent.md 1.10). */
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { realpathSync } from "node:fs"
import path from "node:path"
import * as Turn from "../../fibers/Turn.js"
import { Database } from "../../services/state/Database.js"
import type { StateUnopened } from "../../services/state/StateError.js"
import * as SqliteDatabase from "./Database.js"
import { identityOf } from "./DatabaseFile.js"

/** How many databases are open: at their paths, and replaced ones whose holders have not let go; and how many hold them. */
export interface Standing {
  readonly live: number
  readonly retired: number
  readonly holders: number
}

export class DatabaseRegistry extends Context.Tag("hermes/sqlite/DatabaseRegistry")<
  DatabaseRegistry,
  {
    /**
     * The database of a file until the caller's scope closes; the last one to let go closes it. The same file is the same
     * connections for everybody. Once another file lies at the path, who holds the old one keeps it (its writes fail
     * with `StateDbReplaced`) and the next to ask gets the new one. A failed opening leaves nothing behind.
     */
    readonly acquire: (
      options: SqliteDatabase.Options
    ) => Effect.Effect<typeof Database.Service, StateUnopened, Scope.Scope>
    /** Closes all that are open, whoever holds them, and answers how many that were. */
    readonly closeAll: Effect.Effect<number>
    readonly standing: Effect.Effect<Standing>
  }
>() {}

/** One opening of a file. */
interface Generation {
  readonly path: string
  readonly identity: string | null
  readonly database: typeof Database.Service
  readonly scope: Scope.CloseableScope
  holders: number
}

/** A path of which a database is, was or is being opened. One at a time opens or closes there; other paths go on. */
interface Place {
  readonly lifecycle: Effect.Semaphore
  live: Generation | null
  /** Who is between asking and having. */
  visitors: number
}

/** The file that a path means, whatever links lead to it; it need not be there yet. */
const resolved = (file: string): string => {
  try {
    return realpathSync(file)
  } catch {
    try {
      return path.join(realpathSync(path.dirname(file)), path.basename(file))
    } catch {
      return path.resolve(file)
    }
  }
}

const make = Effect.sync(() => {
  const places = new Map<string, Place>()
  const open = new Set<Generation>()

  /** One at a time at a path, in which order they come; a wait may be given up. */
  const at = <A, E>(file: string, act: (place: Place) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const place = places.get(file) ?? { lifecycle: Effect.unsafeMakeSemaphore(1), live: null, visitors: 0 }
      places.set(file, place)
      place.visitors += 1
      const leave = Effect.sync(() => {
        place.visitors -= 1
        if (place.visitors === 0 && place.live === null) places.delete(file)
      })
      return Effect.uninterruptible(
        Effect.interruptible(place.lifecycle.take(1)).pipe(
          Effect.zipRight(Effect.ensuring(act(place), place.lifecycle.release(1))),
          Effect.ensuring(leave)
        )
      )
    })

  const openHere = (file: string, options: SqliteDatabase.Options): Effect.Effect<Generation, StateUnopened> =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const opening = Turn.detach(Scope.extend(SqliteDatabase.open({ ...options, file }), scope))
      const database = yield* Effect.onExit(Effect.interruptible(opening), (exit) =>
        Exit.isSuccess(exit) ? Effect.void : Turn.detach(Scope.close(scope, exit))
      )
      const generation = { path: file, identity: identityOf(file), database, scope, holders: 0 }
      open.add(generation)
      return generation
    })

  const take = (file: string, options: SqliteDatabase.Options) =>
    at(file, (place) =>
      Effect.gen(function* () {
        if (place.live === null || place.live.identity !== identityOf(file)) {
          // Whoever holds the old one keeps it; it is closed when the last of them lets go.
          place.live = null
          place.live = yield* openHere(file, options)
        }
        place.live.holders += 1
        return place.live
      })
    )

  /** Taken off the lists at once; closed when nobody opens the path. */
  const close = (generation: Generation): Effect.Effect<void> =>
    Effect.suspend(() => {
      open.delete(generation)
      const place = places.get(generation.path)
      if (place?.live === generation) place.live = null
      return at(generation.path, () => Turn.detach(Scope.close(generation.scope, Exit.void)))
    })

  const release = (generation: Generation): Effect.Effect<void> =>
    Effect.suspend(() => {
      generation.holders -= 1
      return generation.holders === 0 && open.has(generation) ? close(generation) : Effect.void
    })

  return {
    acquire: (options: SqliteDatabase.Options) =>
      Effect.map(
        Effect.acquireRelease(
          Effect.suspend(() => take(resolved(options.file), options)),
          release
        ),
        (generation) => generation.database
      ),
    closeAll: Effect.suspend(() => {
      const all = [...open]
      return Effect.as(Effect.forEach(all, close, { discard: true }), all.length)
    }),
    standing: Effect.sync(() => {
      const all = [...open]
      const live = all.filter((generation) => places.get(generation.path)?.live === generation).length
      const holders = all.reduce((total, generation) => total + generation.holders, 0)
      return { live, retired: all.length - live, holders }
    })
  }
})

/** For as long as the layer lives; what somebody still holds at its end is closed then, and said. */
export const layer: Layer.Layer<DatabaseRegistry> = Layer.scoped(
  DatabaseRegistry,
  Effect.acquireRelease(make, (registry) =>
    Effect.flatMap(registry.closeAll, (closed) =>
      closed === 0 ? Effect.void : Effect.logWarning(`closed ${closed} databases that were still held`)
    )
  )
)

/** The database of a file as everybody in this process has it. */
export const shared = (options: SqliteDatabase.Options): Layer.Layer<Database, StateUnopened, DatabaseRegistry> =>
  Layer.scoped(
    Database,
    Effect.flatMap(DatabaseRegistry, (registry) => registry.acquire(options))
  )
