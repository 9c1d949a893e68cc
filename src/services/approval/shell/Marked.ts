/**
 * Words whose unquoted special characters are marked, so that a literal `*` and one that the shell acts on are two
 * things. The marks are characters for private use; a text that brings its own is asked about before it comes here.
 */

export const unknown = "\ue000"
export const star = "\ue001"
export const any = "\ue002"
export const bracket = "\ue003"
export const open = "\ue004"
export const comma = "\ue005"
export const close = "\ue006"
export const tilde = "\ue007"
export const split = "\ue009"

const marks: { readonly [character: string]: string } = {
  "*": star,
  "?": any,
  "[": bracket,
  "{": open,
  ",": comma,
  "}": close
}
const written: { readonly [mark: string]: string } = {
  [unknown]: "…",
  [star]: "*",
  [any]: "?",
  [bracket]: "[",
  [open]: "{",
  [comma]: ",",
  [close]: "}",
  [tilde]: "~",
  [split]: " "
}

export const mark = (text: string): string => text.replace(/[*?[{,}]/g, (character) => marks[character] ?? character)

/** As a person would write it. */
export const show = (marked: string): string =>
  marked.replace(/[\ue000-\ue009]/g, (character) => written[character] ?? "")

/** Without the marks that turned out to mean themselves. */
export const settle = (marked: string): string => {
  const plain = marked.replace(/[\ue004-\ue006]/g, (character) => written[character] ?? "")
  return plain.includes("]") ? plain : plain.replaceAll(bracket, "[")
}

export const hasUnknown = (marked: string): boolean => marked.includes(unknown)
export const hasGlob = (marked: string): boolean => /[\ue001-\ue003]/.test(marked)
export const isKnown = (marked: string): boolean => !/[\ue000-\ue003]/.test(marked)

const alternativesLimit = 64

/** `{a,b}` in all its forms, none when there are too many. */
export const braces = (marked: string): ReadonlyArray<string> | null => {
  if (marked.split(open).length > 16) return null
  const at = innermost(marked)
  if (at === null) return [marked]
  const [from, to] = at
  const inner = marked.slice(from + 1, to)
  const parts = inner.includes(comma) ? inner.split(comma) : sequence(inner)
  const found: Array<string> = []
  for (const part of parts ?? [`{${inner}}`]) {
    const expanded = braces(`${marked.slice(0, from)}${part}${marked.slice(to + 1)}`)
    if (expanded === null || found.length + expanded.length > alternativesLimit) return null
    found.push(...expanded)
  }
  return found
}

/** The first pair with no other in it. */
const innermost = (marked: string): readonly [number, number] | null => {
  const to = marked.indexOf(close)
  if (to < 0) return null
  const from = marked.lastIndexOf(open, to)
  if (from < 0) return innermostBehind(marked, to)
  return [from, to]
}

const innermostBehind = (marked: string, at: number): readonly [number, number] | null => {
  const rest = innermost(marked.slice(at + 1))
  return rest === null ? null : [rest[0] + at + 1, rest[1] + at + 1]
}

/** `{1..3}` gives something that is not looked at one by one. */
const sequence = (inner: string): ReadonlyArray<string> | null =>
  /^(?:-?\d+\.\.-?\d+|[A-Za-z]\.\.[A-Za-z])(?:\.\.-?\d+)?$/.test(inner) ? [inner.split("..")[0] ?? "", unknown] : null

const escapes = /[.+^${}()|[\]\\*?]/g

const compiled = new Map<string, RegExp>()

/** Could the word become this text? An unknown part stands for anything without a slash. */
export const mayBe = (marked: string, text: string): boolean => {
  const known = compiled.get(marked)
  if (known !== undefined) return known.test(text)
  let pattern = ""
  for (let at = 0; at < marked.length; at++) {
    const character = marked.charAt(at)
    if (character === star || character === unknown) pattern = pattern.endsWith("[^/]*") ? pattern : `${pattern}[^/]*`
    else if (character === any) pattern += "[^/]"
    else if (character === bracket) {
      const end = marked.indexOf("]", at + 2)
      pattern += "[^/]"
      if (end > 0) at = end
    } else pattern += character.replace(escapes, "\\$&")
  }
  const expression = new RegExp(`^${pattern}$`, "i")
  if (compiled.size > 512) compiled.clear()
  compiled.set(marked, expression)
  return expression.test(text)
}
