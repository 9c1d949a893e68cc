/**
 * Object literals that begin with a spread, for V8 11 (Node 20). It copies what is spread as a whole, with a hidden class
 * that has no transitions: each property after it then makes one more hidden class, of this one object. `{...a, b}` costs
 * a microsecond or three and leaves a kilobyte in the old generation, forty times of what the same literal costs where
 * something stands before the spread. So something does that adds nothing: `{...null, ...a, b}` is the same object.
 */
import { parseSync, Visitor } from "rolldown/utils"

/** The same program; its spreads do not begin a literal. Throws where `code` is no module. */
export const steady = (code) => {
  const { errors, program } = parseSync("chunk.js", code)
  if (errors.length > 0) throw new Error(`cannot parse what was built: ${errors[0].message}`)
  const places = []
  new Visitor({
    ObjectExpression({ properties: [first, ...others] }) {
      if (first?.type !== "SpreadElement" || others.length === 0) return
      // V8 puts accessors last there, and what is named twice where it is named last: both would change.
      const named = others.filter(({ type }) => type !== "SpreadElement")
      const names = named.flatMap(({ computed, key }) => (computed ? [] : [String(key.name ?? key.value)]))
      if (named.every(({ kind }) => kind === "init") && new Set(names).size === names.length) places.push(first.start)
    }
  }).visit(program)
  let built = ""
  let from = 0
  for (const place of places.toSorted((a, b) => a - b)) {
    built += `${code.slice(from, place)}...null,`
    from = place
  }
  return built + code.slice(from)
}
