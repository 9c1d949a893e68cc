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
