/** What every line that a regular expression matches has to contain: a search for that is quick to say where there is none. */

/** Shorter texts are in every file. */
const shortest = 3

/** Escapes that stand for one class or place and take nothing that follows. */
const plainEscapes = /[bBdDwWsS]/

/** The index behind a class that begins at `at`; the end where it is never closed. */
const behindClass = (source: string, at: number): number => {
  for (let index = at + 1; index < source.length; index++) {
    if (source[index] === "\\") index += 1
    else if (source[index] === "]") return index + 1
  }
  return source.length
}

/** The index behind a group that begins at `at`. */
const behindGroup = (source: string, at: number): number => {
  let depth = 0
  for (let index = at; index < source.length;) {
    const character = source[index]
    if (character === "[") index = behindClass(source, index)
    else {
      if (character === "(") depth += 1
      if (character === ")" && --depth === 0) return index + 1
      index += character === "\\" ? 2 : 1
    }
  }
  return source.length
}

/**
 * The longest run of printable ASCII that is in every match of a JavaScript regular expression, at least three
 * characters; null where none is certain. What it does not know well it takes for uncertain, never for certain.
 */
export const of = (source: string): string | null => {
  const runs: Array<string> = []
  let run = ""
  const end = (): void => {
    runs.push(run)
    run = ""
  }
  for (let at = 0; at < source.length;) {
    const character = source[at] ?? ""
    const next = source[at + 1] ?? ""
    if (character === "|") return null
    if (character === "\\") {
      if (/[!-/:-@[-`{-~]/.test(next)) run += next
      else if (plainEscapes.test(next)) end()
      else return null
      at += 2
    } else if (character === "[" || character === "(") {
      end()
      at = character === "[" ? behindClass(source, at) : behindGroup(source, at)
    } else if (character === "*" || character === "?" || character === "{") {
      // what stands before may be missing
      run = run.slice(0, -1)
      end()
      const close = character === "{" ? source.indexOf("}", at) : at
      if (close === -1) return null
      at = close + 1
    } else {
      if (/[ -~]/.test(character) && !/[.^$+)\]}]/.test(character)) run += character
      else end()
      at += 1
    }
  }
  end()
  const longest = runs.reduce((best, each) => (each.length > best.length ? each : best), "")
  return longest.length < shortest ? null : longest
}
