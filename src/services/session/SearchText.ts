/**
 * Words of a text as search knows them: small letters without accents; scripts that put no blanks between words in
 * overlapping pairs. What is indexed, asked for and compared goes through here, so the three agree. Pure.
 */

/** Scripts whose words stand without blanks between them, or in which a part of a word is asked for as a word. */
const unspaced = /[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]/u

const plain = /^[\0-\x7f]*$/

/** Small letters, no accents. */
export const folded = (text: string): string =>
  plain.test(text)
    ? text.toLowerCase()
    : text
        .normalize("NFKD")
        .replace(/\p{M}+/gu, "")
        .normalize("NFC")
        .toLowerCase()

const run = /[\p{L}\p{N}\p{M}]+/gu

/** Parts of a run of letters: what is written with blanks as one part, what is not letter by letter. */
const parts = (letters: string): ReadonlyArray<{ readonly text: string; readonly unspaced: boolean }> => {
  if (plain.test(letters) || !unspaced.test(letters)) return [{ text: letters, unspaced: false }]
  const found: Array<{ text: string; unspaced: boolean }> = []
  for (const letter of letters) {
    const is = unspaced.test(letter)
    const last = found.at(-1)
    if (last !== undefined && last.unspaced === is) last.text += letter
    else found.push({ text: letter, unspaced: is })
  }
  return found
}

const addPairs = (found: Array<string>, letters: ReadonlyArray<string>): void => {
  let before = ""
  for (const letter of letters) {
    if (before !== "") found.push(before + letter)
    before = letter
  }
}

/** The words of a text in order. A run without blanks is its pairs and its last letter, so that one letter is found too. */
export const words = (text: string): ReadonlyArray<string> => {
  const found: Array<string> = []
  for (const letters of folded(text).match(run) ?? [])
    for (const part of parts(letters)) {
      if (!part.unspaced) found.push(part.text)
      else {
        const each = [...part.text]
        addPairs(found, each)
        found.push(each.at(-1) ?? "")
      }
    }
  return found
}

/** Words that stand next to each other; the last may be the beginning of one. */
export interface Phrase {
  readonly words: readonly [string, ...ReadonlyArray<string>]
  readonly prefix: boolean
}

/** What a person typed without blanks, as the phrases that have to be there. */
export const phrases = (typed: string, prefix: boolean): ReadonlyArray<Phrase> => {
  const asked: Array<string> = []
  let open = prefix
  for (const letters of folded(typed).match(run) ?? [])
    for (const part of parts(letters)) {
      const each = [...part.text]
      if (!part.unspaced) asked.push(part.text)
      else if (each.length === 1) {
        asked.push(part.text)
        open = true
      } else addPairs(asked, each)
    }
  const [first, ...rest] = asked
  return first === undefined ? [] : [{ words: [first, ...rest], prefix: open }]
}

const fits = (found: ReadonlyArray<string>, at: number, { words: asked, prefix }: Phrase): boolean =>
  asked.every((word, index) => {
    const there = found[at + index]
    if (there === undefined) return false
    return prefix && index === asked.length - 1 ? there.startsWith(word) : there === word
  })

export const contains = (found: ReadonlyArray<string>, phrase: Phrase): boolean =>
  found.some((_, at) => fits(found, at, phrase))

const scanned = 20_000
const before = 48
const after = 112

/** A blank that is not one blank alone. */
const ragged = /[^\S ]| {2}/

const flat = (text: string): string => text.replace(/\s+/g, " ")

/** Text around a place, which is marked `>>>` and `<<<`. */
const around = (text: string, start: number, end: number): string => {
  const from = Math.max(0, start - before)
  const to = Math.min(text.length, end + after)
  const left = text.slice(from, start).toWellFormed()
  const right = text.slice(end, to).toWellFormed()
  const shown = `${from === 0 ? "" : "…"}${left}>>>${text.slice(start, end)}<<<${right}${to === text.length ? "" : "…"}`
  return (ragged.test(shown) ? flat(shown) : shown).trim()
}

const isLetterOrDigit = (text: string, at: number): boolean => {
  const code = text.charCodeAt(at)
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
}

/** The first word of a plain text that is one of these, or begins with an open one: by looking for each instead of at each. */
const firstWord = (
  text: string,
  firsts: ReadonlyArray<{ readonly first: string; readonly open: boolean }>
): string | null => {
  const letters = text.toLowerCase()
  let start = -1
  for (const { first, open } of firsts)
    for (let at = letters.indexOf(first); at >= 0 && (start < 0 || at < start); at = letters.indexOf(first, at + 1)) {
      if (isLetterOrDigit(text, at - 1) || (!open && isLetterOrDigit(text, at + first.length))) continue
      start = at
    }
  if (start < 0) return null
  let end = start
  while (isLetterOrDigit(text, end)) end += 1
  return around(text, start, end)
}

/**
 * The first place where one of the phrases begins; null when none of them is there. `substrings` looks within words.
 * Only the first 20,000 characters are looked at.
 */
export const snippet = (text: string, wanted: ReadonlyArray<Phrase>, substrings: boolean): string | null => {
  const whole = text.slice(0, scanned)
  const firsts = wanted.map(({ words: [first], prefix, words }) => ({ first, open: prefix && words.length === 1 }))
  if (!substrings && plain.test(whole)) return firstWord(whole, firsts)
  for (const match of whole.matchAll(run)) {
    const letters = folded(match[0])
    const start = match.index
    const mixed = unspaced.test(letters)
    for (const { first, open } of firsts) {
      const anywhere = substrings || mixed
      const inside = anywhere || open ? letters.indexOf(first) : letters === first ? 0 : -1
      if (inside < 0 || (!anywhere && inside > 0)) continue
      // Folding may change lengths; then the whole word is marked.
      const exact = letters.length === match[0].length
      const from = exact ? start + inside : start
      const to = exact && anywhere ? from + first.length : start + match[0].length
      return around(text, from, to)
    }
  }
  return null
}

/** The beginning, where a match cannot be shown. */
export const beginning = (text: string): string => {
  const line = flat(text.slice(0, before + after).toWellFormed()).trim()
  return text.length > before + after ? `${line}…` : line
}
