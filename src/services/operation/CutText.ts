/** The beginning or the end of a text, in UTF-16 units at most, and never half of a surrogate pair there: a provider or a database refuses it. Pure. */

export const beginning = (text: string, most: number): string =>
  text.length <= most ? text : text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")

export const end = (text: string, most: number): string =>
  text.length <= most ? text : text.slice(text.length - most).replace(/^[\uDC00-\uDFFF]/, "")
