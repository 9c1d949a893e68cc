/** What somebody wrote, as an error repeats it. Pure. */

const longest = 80

/** On one line, and of a long text its beginning. */
export const shortened = (text: string): string => {
  const signs = [...text.slice(0, 4 * longest).replace(/\s+/g, " ")]
  return signs.length <= longest && text.length <= 4 * longest
    ? signs.join("")
    : `${signs.slice(0, longest - 1).join("")}…`
}
