import { Effect } from "effect"
import { Transaction } from "../../services/state/Database.js"
import * as Rows from "./Rows.js"

const derivedLength = 48

/** Titles as people may give them: one line, no control or formatting characters, at most 100 characters. */
export const clean = (title: string): string =>
  [
    ...title
      .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ")
      .replace(/\s+/gu, " ")
      .trim()
  ]
    .slice(0, 100)
    .join("")
    .trim()

/** A made-up title that collides gets a number, and stays within the limit. */
export const numbered = (title: string, number: number): string => {
  const suffix = ` #${number}`
  return `${[...title]
    .slice(0, 100 - suffix.length)
    .join("")
    .trimEnd()}${suffix}`
}

/** Made from what a person said first, without a model: at most 48 characters, ended at a word. */
export const derived = (text: string): string => {
  const [first = ""] = text
    .split("\n")
    .map((line) => clean(line.replace(/^\[[^\]]*\] |^\((?:in reply to|attached:).*\)$/g, "")))
    .filter((line) => line !== "")
  const letters = [...first]
  if (letters.length <= derivedLength) return first
  const cut = letters.slice(0, derivedLength - 1).join("")
  const space = cut.lastIndexOf(" ")
  return `${(space > derivedLength / 2 ? cut.slice(0, space) : cut).trimEnd()}…`
}

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
