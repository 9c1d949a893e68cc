/** The write door of a world: at a crash it is cut, and from then on nothing that was asked of the database comes back. */
import { Deferred, Effect, Layer } from "effect"
import * as SqliteDatabase from "../../src/layers/sqlite/Database.js"
import { Database } from "../../src/services/state/Database.js"
import { StateReadOnly } from "../../src/services/state/StateError.js"

/** `before`: the write is not made. `after`: it is committed, and whoever asked is never told. */
export type Cut = { readonly writes: number; readonly when: "before" | "after" }

export class Door {
  /** Counts what goes through it, so that whoever waits sees that something happens. */
  passed = 0
  isCut = false
  private planned: { left: number; when: Cut["when"] } | null = null
  private readonly released = Deferred.unsafeMake<void>(undefined as never)

  /** Cuts it at the n-th write from now. */
  plan({ when, writes }: Cut): void {
    this.planned = { left: writes, when }
  }

  cut(): void {
    this.isCut = true
  }

  /** The world is over and its scope closes: who still waits is told that nothing is written any more. */
  get release(): Effect.Effect<void> {
    return Effect.asVoid(Deferred.succeed(this.released, undefined))
  }

  private get shut() {
    return (operation: string) =>
      Effect.zipRight(
        Deferred.await(this.released),
        Effect.fail(new StateReadOnly({ operation, detail: "this world has ended" }))
      )
  }

  private due(): Cut["when"] | null {
    if (this.planned === null || --this.planned.left >= 0) return null
    const { when } = this.planned
    this.planned = null
    return when
  }

  /** The database of a file, behind this door. */
  layer(file: string) {
    return Layer.effect(
      Database,
      Effect.map(Database, (database) => {
        const guarded = <A, E>(operation: string, self: Effect.Effect<A, E>) =>
          Effect.suspend((): Effect.Effect<A, E | StateReadOnly> => {
            this.passed += 1
            if (this.isCut) return this.shut(operation)
            return Effect.zipLeft(
              self,
              Effect.suspend(() => (this.isCut ? this.shut(operation) : Effect.void))
            )
          })
        const cuttable = <A, E>(operation: string, write: Effect.Effect<A, E>) =>
          Effect.suspend((): Effect.Effect<A, E | StateReadOnly> => {
            if (this.isCut) return this.shut(operation)
            const cut = this.due()
            if (cut === "before") this.cut()
            return guarded(
              operation,
              cut === "after"
                ? Effect.tap(
                    write,
                    Effect.sync(() => this.cut())
                  )
                : write
            )
          })
        return Database.of({
          wrong: database.wrong,
          read: (operation, query) => guarded(operation, database.read(operation, query)),
          glance: (operation, query) => guarded(operation, database.glance(operation, query)),
          write: (operation, step, patience, commit) =>
            cuttable(operation, database.write(operation, step, patience, commit)),
          writeAhead: (operation, step, patience) =>
            Effect.map(cuttable(operation, database.writeAhead(operation, step, patience)), ({ kept, value }) => ({
              value,
              kept: guarded(operation, kept)
            }))
        })
      })
    ).pipe(Layer.provide(SqliteDatabase.layer({ file })))
  }
}
