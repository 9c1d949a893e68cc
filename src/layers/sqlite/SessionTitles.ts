import { Effect } from "effect"
import { numbered } from "../../services/session/TitleText.js"
import { Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

export const isTaken = (title: string, id: string) =>
  Effect.flatMap(Transaction, (sql) =>
    Effect.map(
      Rows.count(sql`SELECT count(*) AS count FROM sessions WHERE title = ${title} AND id <> ${id}`),
      (sessions) => sessions > 0
    )
  )

/** The title, or the title with a number. Tried in leaps and then between the last two: a thousand "hello" cost twenty looks, not a thousand. */
export const free = (title: string, id: string) =>
  Effect.gen(function* () {
    if (!(yield* isTaken(title, id))) return title
    let taken = 1
    let untaken = 2
    while (yield* isTaken(numbered(title, untaken), id)) {
      taken = untaken
      untaken *= 2
    }
    while (untaken - taken > 1) {
      const middle = Math.floor((taken + untaken) / 2)
      if (yield* isTaken(numbered(title, middle), id)) taken = middle
      else untaken = middle
    }
    return numbered(title, untaken)
  })
