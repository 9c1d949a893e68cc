/** The text of `$'…'` between its quotes. */

const simple: { readonly [letter: string]: string } = {
  a: "\u0007",
  b: "\b",
  e: "\u001b",
  E: "\u001b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v"
}

const escape = /\\(?:([0-7]{1,3})|x\{?([0-9a-fA-F]{1,2})\}?|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.)|([^]))/g

const point = (digits: string, base: number): string => {
  const code = Number.parseInt(digits, base)
  return code <= 0x10ffff ? String.fromCodePoint(code) : "\ufffd"
}

/** Escapes as bash reads them; a byte above 0x7f is taken as a character of its own, which no command word contains. */
export const decode = (text: string): string =>
  text.replace(
    escape,
    (
      whole: string,
      octal: string | undefined,
      hex: string | undefined,
      short: string | undefined,
      long: string | undefined,
      control: string | undefined,
      other: string | undefined
    ) => {
      if (octal !== undefined) return point(String(Number.parseInt(octal, 8) & 0xff), 10)
      const digits = hex ?? short ?? long
      if (digits !== undefined) return point(digits, 16)
      if (control !== undefined) return String.fromCharCode(control.charCodeAt(0) & 0x1f)
      return other === undefined ? whole : (simple[other] ?? (/[\\'"?]/.test(other) ? other : whole))
    }
  )
