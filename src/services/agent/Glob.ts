/**
 * File name patterns as models write them: `*`, `?`, `[a-z]`, `{a,b}` and `**` for any depth. One without a slash is
 * about the name alone. Matching takes time in proportion to pattern × name, whatever the pattern.
 */

const mostAlternatives = 64

/** `{a,b}` written out; what would become too many stays as it is. */
const alternatives = (pattern: string): ReadonlyArray<string> => {
  let found = [pattern]
  for (let round = 0; round < 6; round++) {
    const next = found.flatMap((one) => {
      const braces = /\{([^{},]*,[^{}]*)\}/.exec(one)
      if (braces === null) return [one]
      const before = one.slice(0, braces.index)
      const after = one.slice(braces.index + braces[0].length)
      return (braces[1] ?? "").split(",").map((choice) => before + choice + after)
    })
    if (next.length > mostAlternatives || next.length === found.length) return next.slice(0, mostAlternatives)
    found = next
  }
  return found
}

type Part =
  | { readonly _tag: "Star" }
  | { readonly _tag: "Any" }
  | { readonly _tag: "Is"; readonly test: (character: string) => boolean }

const parts = (segment: string): ReadonlyArray<Part> => {
  const found: Array<Part> = []
  for (let at = 0; at < segment.length; at++) {
    const character = segment.charAt(at)
    const close = character === "[" ? segment.indexOf("]", at + 2) : -1
    if (character === "*") found.push({ _tag: "Star" })
    else if (character === "?") found.push({ _tag: "Any" })
    else if (close > 0) {
      found.push({ _tag: "Is", test: classOf(segment.slice(at + 1, close)) })
      at = close
    } else found.push({ _tag: "Is", test: (other) => other === character })
  }
  return found
}

const classOf = (inside: string): ((character: string) => boolean) => {
  const negated = /^[!^]/.test(inside)
  const body = negated ? inside.slice(1) : inside
  return (character) => {
    let isIn = false
    for (let at = 0; at < body.length; at++)
      if (body.charAt(at + 1) === "-" && at + 2 < body.length) {
        isIn ||= body.charAt(at) <= character && character <= body.charAt(at + 2)
        at += 2
      } else isIn ||= body.charAt(at) === character
    return isIn !== negated
  }
}

/**
 * Two pointers and one place to go back to, the last star: `step` says whether a pattern's item takes a text's item.
 */
const matches = <P, T>(
  pattern: ReadonlyArray<P>,
  text: ReadonlyArray<T>,
  isStar: (item: P) => boolean,
  step: (item: P, other: T) => boolean
): boolean => {
  let p = 0
  let t = 0
  let back: { readonly p: number; t: number } | null = null
  while (t < text.length) {
    const item = pattern[p]
    const other = text[t]
    if (item !== undefined && isStar(item)) {
      back = { p, t }
      p += 1
    } else if (item !== undefined && other !== undefined && step(item, other)) {
      p += 1
      t += 1
    } else if (back !== null) {
      back.t += 1
      t = back.t
      p = back.p + 1
    } else return false
  }
  return pattern.slice(p).every(isStar)
}

const segmentMatches = (pattern: ReadonlyArray<Part>, name: string): boolean =>
  matches(
    pattern,
    [...name],
    (part) => part._tag === "Star",
    (part, character) => part._tag === "Any" || (part._tag === "Is" && part.test(character))
  )

/** A test for paths relative to where a search begins, with `/` between their parts. */
export const make = (pattern: string): ((file: string) => boolean) => {
  const all = alternatives(pattern.replace(/^\.\//, "")).map((one) => {
    const segments = one.split("/").map((segment) => (segment === "**" ? null : parts(segment)))
    return one.includes("/") ? segments : [null, ...segments]
  })
  return (file) => {
    const names = file.split("/")
    return all.some((segments) =>
      matches(
        segments,
        names,
        (segment) => segment === null,
        (segment, name) => segment !== null && segmentMatches(segment, name)
      )
    )
  }
}
