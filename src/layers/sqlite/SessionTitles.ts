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
  const suffix = ` (${number})`
  return `${[...title]
    .slice(0, 100 - suffix.length)
    .join("")
    .trimEnd()}${suffix}`
}
