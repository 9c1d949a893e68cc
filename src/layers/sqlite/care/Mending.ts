/** Puts right what is wrong with a database whose pages are whole. */
import Sqlite from "better-sqlite3"
import { Clock, Effect } from "effect"
import * as fs from "node:fs"
import type { CareFailed } from "../../../services/state/Care.js"
import * as References from "../repair/References.js"
import * as Migrations from "../Migrations.js"
import * as Blank from "./Blank.js"
import { doing, using } from "./Connection.js"
import { vacuum } from "./Copies.js"
import { belongings } from "./Examination.js"
import * as SchemaParts from "./Schema.js"
import * as SearchIndex from "./SearchIndex.js"
import * as Spoilt from "./Spoilt.js"

/** A log that stays longer than this although nobody uses the database is emptied. */
const longLogBytes = 16 * 2 ** 20

/** More than a quarter of the file, and worth the trouble, is free. */
const isWasteful = (db: Sqlite.Database): boolean => {
  const pragma = (name: string): number => Number(db.pragma(name, { simple: true }))
  const free = pragma("freelist_count")
  return free * 4 > pragma("page_count") && free * pragma("page_size") > 16 * 2 ** 20
}

/** Answers what was done, one line each; nothing when nothing had to be. */
export const mend = (file: string, index: string): Effect.Effect<ReadonlyArray<string>, CareFailed> =>
  doing("mending the database", () => using(file, { readonly: true }, Blank.versionOf)).pipe(
    Effect.flatMap((version) => Effect.all([Effect.succeed(version), Blank.image(version), Clock.currentTimeMillis])),
    Effect.flatMap(([version, image, now]) =>
      doing("mending the database", () => {
        const blank = new Sqlite(image)
        return using(file, {}, (db) => {
          db.pragma("synchronous = FULL")
          const done: Array<string> = []
          db.transaction(() => {
            for (const part of SchemaParts.missing(db, blank)) {
              db.exec(part.sql)
              done.push(`${part.detail.replace(/is missing$/, "was missing and is there again")}`)
            }
            for (const table of belongings) {
              const { changes } = db
                .prepare(`DELETE FROM ${table} WHERE session_id NOT IN (SELECT id FROM sessions)`)
                .run()
              if (changes > 0) done.push(`${changes} rows of ${table} that belonged to no session were taken away`)
            }
            const lost = db.prepare("SELECT count(*) FROM pragma_foreign_key_check").pluck().get()
            if (Number(lost) > 0) {
              const made = References.mend(db)
              done.push(
                `${String(lost)} references to nothing were taken away${made > 0 ? `, and ${made} sessions made for messages that had none` : ""}`
              )
            }
            const spoilt = version === Migrations.newest ? Spoilt.mend(db, now) : 0
            if (spoilt > 0) done.push(`${spoilt} values that were no time or number were taken away`)
          }).immediate()
          if ((fs.statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > longLogBytes) {
            db.pragma("wal_checkpoint(TRUNCATE)")
            done.push("the write-ahead log was emptied into the database")
          }
          if (SearchIndex.faults(index).length > 0) {
            SearchIndex.forget(index)
            done.push("the search index was taken away; it is made anew from the messages")
          }
          return { done, wasteful: isWasteful(db) }
        })
      })
    ),
    Effect.flatMap(({ done, wasteful }) =>
      wasteful
        ? Effect.map(vacuum(file), (freed) =>
            freed === null ? done : [...done, `${Math.round(freed / 1e6)} MB were given back to the disk`]
          )
        : Effect.succeed(done)
    )
  )
