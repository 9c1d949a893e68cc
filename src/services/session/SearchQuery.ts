/**
 * What a person typed to find something (state-agent.md 2.6): words that all have to be there, "quoted phrases",
 * beginnings*, OR between alternatives, NOT before what must not be there. Anything can be typed: what means nothing is
 * left out. Pure.
 */
import * as SearchText from "./SearchText.js"

/** All of the first and none of the second. */
export interface Alternative {
  readonly all: ReadonlyArray<SearchText.Phrase>
  readonly none: ReadonlyArray<SearchText.Phrase>
}

export interface SearchQuery {
  /** One of them; empty finds nothing. */
  readonly alternatives: ReadonlyArray<Alternative>
}

const mostCharacters = 2_048
const mostPhrases = 32

const token = /"([^"]*)"|(\S+)/g

export const parse = (typed: string): SearchQuery => {
  const alternatives: Array<{ all: Array<SearchText.Phrase>; none: Array<SearchText.Phrase> }> = [{ all: [], none: [] }]
  let negated = false
  let count = 0
  for (const [, quoted, word] of typed.slice(0, mostCharacters).toWellFormed().matchAll(token)) {
    if (word === "OR") {
      alternatives.push({ all: [], none: [] })
      negated = false
      continue
    }
    if (word === "AND") continue
    if (word === "NOT") {
      negated = true
      continue
    }
    const text = quoted ?? word ?? ""
    for (const phrase of SearchText.phrases(text, word?.endsWith("*") ?? false)) {
      if (++count > mostPhrases) break
      alternatives.at(-1)?.[negated ? "none" : "all"].push(phrase)
    }
    negated = false
  }
  return { alternatives: alternatives.filter(({ all }) => all.length > 0) }
}

/** Does a text, given as its words, answer the query? */
export const matches = (query: SearchQuery, words: ReadonlyArray<string>): boolean =>
  query.alternatives.some(
    ({ all, none }) =>
      all.every((phrase) => SearchText.contains(words, phrase)) &&
      !none.some((phrase) => SearchText.contains(words, phrase))
  )

/** Everything that may be marked in what is found. */
export const marked = (query: SearchQuery): ReadonlyArray<SearchText.Phrase> =>
  query.alternatives.flatMap(({ all }) => all)

/** Words consist of letters and digits only, so nothing in them could end the quotes. */
const quoted = ({ words, prefix }: SearchText.Phrase): string => `"${words.join(" ")}"${prefix ? " *" : ""}`

/** As FTS5 wants it; null when there is nothing to look for. */
export const toMatch = (query: SearchQuery): string | null => {
  const groups = query.alternatives.map(({ all, none }) => {
    const wanted = all.map(quoted).join(" AND ")
    return none.length === 0 ? `(${wanted})` : `((${wanted}) NOT (${none.map(quoted).join(" OR ")}))`
  })
  return groups.length === 0 ? null : groups.join(" OR ")
}

/** For each alternative its longest word, which every text that answers it has in it. */
export const rarest = (query: SearchQuery): ReadonlyArray<string> =>
  query.alternatives.map(({ all }) =>
    all.flatMap(({ words }) => words).reduce((longest, word) => (word.length > longest.length ? word : longest), "")
  )

const gramLength = 3

/** The parts of three letters that a text has in it where it has the words, however they are joined; null when one is too short. */
export const toGrams = (query: SearchQuery): string | null => {
  const groups = query.alternatives.map(({ all }) => {
    const words = all.flatMap((phrase) => phrase.words)
    if (words.some((word) => [...word].length < gramLength)) return null
    const grams = words.flatMap((word) => {
      const letters = [...word]
      return letters.slice(gramLength - 1).map((_, at) => letters.slice(at, at + gramLength).join(""))
    })
    return `(${[...new Set(grams)].map((gram) => `"${gram}"`).join(" AND ")})`
  })
  return groups.length === 0 || groups.includes(null) ? null : groups.join(" OR ")
}

/** Does a text have the words within its own? A phrase stays one: its words have to be there as they are. */
export const matchesWithin = (query: SearchQuery, text: string): boolean => {
  const whole = SearchText.folded(text)
  const found = SearchText.words(text)
  const has = (phrase: SearchText.Phrase): boolean =>
    phrase.words.length === 1 ? whole.includes(phrase.words[0]) : SearchText.contains(found, phrase)
  return query.alternatives.some(({ all, none }) => all.every(has) && !none.some(has))
}
