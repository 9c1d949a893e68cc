import * as Reactivity from "@effect/experimental/Reactivity"
import { assert, describe, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import { Effect, Layer } from "effect"
import { readFileSync, readdirSync, writeFileSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import * as Blank from "../../../src/layers/sqlite/care/Blank.js"
import * as Examination from "../../../src/layers/sqlite/care/Examination.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as Migrations from "../../../src/layers/sqlite/Migrations.js"
import * as SteadyConnection from "../../../src/layers/sqlite/SteadyConnection.js"
import { folder } from "./temporary.js"

const fixtures = fileURLToPath(new URL("./fixtures", import.meta.url))

/** Every row of every table that is kept, as text. */
const rowsOf = (db: Sqlite.Database): ReadonlyMap<string, ReadonlyArray<Record<string, unknown>>> =>
  new Map(
    db
      .prepare<[], { name: string }>("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
      .all()
      .filter(({ name }) => !name.startsWith("sqlite_") && name !== "migrations")
      .map(({ name }) => [name, db.prepare<[], Record<string, unknown>>(`SELECT * FROM "${name}"`).all()])
  )

const opened = (file: string) => Effect.scoped(Layer.build(SqliteDatabase.layer({ file })))

/** Every column that was there has what it had. */
const keeps = (before: ReturnType<typeof rowsOf>, file: string): void => {
  const db = new Sqlite(file, { readonly: true })
  const after = rowsOf(db)
  db.close()
  for (const [table, rows] of before) {
    assert.strictEqual(after.get(table)?.length, rows.length, table)
    for (const [index, row] of rows.entries()) {
      const found = after.get(table)?.[index] ?? {}
      for (const [column, value] of Object.entries(row))
        if (column in found) assert.deepStrictEqual(found[column], value, `${table}.${column}`)
    }
  }
}

describe("a database of an earlier version", () => {
  for (const name of readdirSync(fixtures))
    it.scoped(`${name}: opens, keeps every row and is like a new one`, () =>
      Effect.gen(function* () {
        const file = path.join(yield* folder, "state.db")
        const db = new Sqlite(file)
        db.exec(readFileSync(path.join(fixtures, name), "utf8"))
        const before = rowsOf(db)
        db.close()
        assert.isAbove(before.get("messages")?.length ?? 0, 0)
        yield* opened(file)
        keeps(before, file)
        const found = yield* Examination.examine(file, `${file}.search`)
        assert.deepStrictEqual(found.faults, [])
        assert.strictEqual(found.version, Migrations.newest)
        // What the newest has, the next opening leaves alone.
        yield* opened(file)
        keeps(before, file)
      })
    )

  it.scoped("of every version in between becomes what a new one is", () =>
    Effect.gen(function* () {
      const home = yield* folder
      for (const version of Migrations.versions) {
        const file = path.join(home, `${version}.db`)
        writeFileSync(file, yield* Blank.image(version))
        yield* opened(file)
        assert.deepStrictEqual((yield* Examination.examine(file, `${file}.search`)).faults, [], `from ${version}`)
      }
    })
  )

  it.scoped("with a step that nobody knows is a newer program's; a step that fails leaves it as it was", () =>
    Effect.gen(function* () {
      const file = path.join(yield* folder, "state.db")
      writeFileSync(file, yield* Blank.image(1))
      const db = new Sqlite(file)
      db.exec("INSERT INTO migrations (migration_id, name) VALUES (8888, 'somebody else')")
      db.close()
      const { connection } = yield* SteadyConnection.open({ filename: file, disableWAL: true })
      const lacking = yield* Effect.flip(opened(file))
      assert.strictEqual(lacking.reason, "newer")
      yield* connection.executeUnprepared("DELETE FROM migrations WHERE migration_id = 8888", [], undefined)
      yield* Migrations.run(connection, file, 2)
      yield* connection.executeUnprepared("DELETE FROM migrations WHERE migration_id = 1", [], undefined)
      const failed = yield* Effect.flip(Migrations.run(connection, file))
      assert.strictEqual(failed.reason, "migration")
      const kept = yield* connection.executeUnprepared(
        "SELECT max(migration_id) AS version FROM migrations",
        [],
        undefined
      )
      assert.deepStrictEqual(kept, [{ version: 2 }])
    }).pipe(Effect.provide(Reactivity.layer))
  )
})
