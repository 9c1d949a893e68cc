/** `$((8000 + 642))`: what is counted from numbers alone is known before it runs. */

const token = /\s*(0[xX][0-9a-fA-F]+|0[0-7]*(?!\d)|[1-9]\d*|[-+*/%()])/y

/** The tokens, or null where there is anything but numbers and the plain operators. */
const tokensOf = (text: string): Array<string> | null => {
  const found: Array<string> = []
  token.lastIndex = 0
  const end = text.trimEnd().length
  while (token.lastIndex < end) {
    const next = token.exec(text)?.[1]
    if (next === undefined) return null
    found.push(next)
  }
  return found
}

const numberOf = (word: string): number => (/^0\d/.test(word) ? Number.parseInt(word, 8) : Number(word))

/** The value of `$((…))` or `$[…]`; null when it has a name in it, or is no sum of whole numbers. */
export const constant = (expansion: string): number | null => {
  const inner = /^\$\(\(([^]*)\)\)$/.exec(expansion)?.[1] ?? /^\$\[([^]*)\]$/.exec(expansion)?.[1]
  const tokens = inner === undefined || inner.length > 200 ? null : tokensOf(inner)
  if (tokens === null) return null
  let at = 0
  const primary = (): number => {
    const word = tokens[at++]
    if (word === "-") return -primary()
    if (word === "+") return primary()
    if (word !== "(") return word === undefined || !/^\d/.test(word) ? Number.NaN : numberOf(word)
    const value = sum()
    return tokens[at++] === ")" ? value : Number.NaN
  }
  const product = (): number => {
    let value = primary()
    for (;;) {
      const operator = tokens[at]
      if (operator !== "*" && operator !== "/" && operator !== "%") return value
      at += 1
      const other = primary()
      value = operator === "*" ? value * other : operator === "/" ? Math.trunc(value / other) : value % other
    }
  }
  const sum = (): number => {
    let value = product()
    for (;;) {
      const operator = tokens[at]
      if (operator !== "+" && operator !== "-") return value
      at += 1
      const other = product()
      value = operator === "+" ? value + other : value - other
    }
  }
  const value = sum()
  return at === tokens.length && Number.isSafeInteger(value) ? value : null
}
