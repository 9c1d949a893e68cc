/** The file of the search index, for who looks after a home: what is wrong with it, and making it anew. */
import * as fs from "node:fs"
import { detailOf } from "../SqliteFailure.js"
import { using } from "./Connection.js"

/** What is wrong with the index, one line a fault. One that is not there is none: it is made from the messages. */
export const faults = (file: string): ReadonlyArray<string> => {
  if (!fs.existsSync(file)) return []
  try {
    return using(file, { readonly: true }, (db) =>
      db
        .prepare<[], { integrity_check: string }>("PRAGMA integrity_check(3)")
        .all()
        .map((row) => row.integrity_check)
        .filter((line) => line !== "ok")
        .map((line) => `the search index: ${line}`)
    )
  } catch (error) {
    return [`the search index: ${detailOf(error)}`]
  }
}

/** Takes the index away: it is made anew from the messages. Nobody may have it open. */
export const forget = (file: string): void => {
  for (const part of ["", "-wal", "-shm"]) fs.rmSync(`${file}${part}`, { force: true })
}
