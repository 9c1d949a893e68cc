/**
 * The oxlint plugin of this repository: what may be used outside src/fibers, and which way imports run.
 */
import { findings, literal, placeOf, resolveModule } from "./bindings.mjs"

const analyses = new WeakMap()

/** One analysis a file, whichever rule asks first. */
const analysis = (context) => {
  const { ast } = context.sourceCode
  let known = analyses.get(ast)
  if (known === undefined) {
    known = findings(context)
    analyses.set(ast, known)
  }
  return known
}

const rule = (name, extra = () => ({})) => ({
  createOnce(context) {
    const flush = () => {
      for (const finding of analysis(context).found) {
        if (finding.rule === name) context.report({ node: finding.node, message: finding.message })
      }
    }
    return {
      ...extra(context),
      ImportExpression(node) {
        const specifier = literal(node.source)
        if (specifier !== undefined) analysis(context).followDynamic(node, specifier)
      },
      CallExpression(node) {
        if (node.callee.type !== "Identifier" || node.callee.name !== "require") return
        const specifier = literal(node.arguments[0])
        if (specifier !== undefined) analysis(context).followDynamic(node, specifier)
      },
      "Program:exit": flush
    }
  }
})

/** What every fiber has is known by its name alone. */
const ofFibers = new Map([
  ["inheritAll", "merges another fiber's context into this one: take Turn.result"],
  ["setFiberRef", "sets fiber state that src/fibers did not scope: take a door of src/fibers"],
  ["setFiberRefs", "sets fiber state that src/fibers did not scope: take a door of src/fibers"]
])

const inheritAll = (context) => ({
  MemberExpression(node) {
    const name = node.computed ? literal(node.property) : node.property.name
    const reason = ofFibers.get(name)
    if (reason === undefined || analysis(context).found.some((finding) => finding.node === node)) return
    context.report({ node, message: `${name} ${reason}` })
  }
})

const ranks = new Map([
  ["fibers", 0],
  ["services", 1],
  ["layers", 2],
  ["programs", 3],
  ["testing", 4]
])

const folderOf = (place) => /^src\/([^/]+)\//.exec(place)?.[1]

const ownsInternal = /^(src|test)\/fibers\//

/** programs → layers → services → fibers, and src/fibers/internal for src/fibers (and its tests) alone. */
const importDirection = {
  createOnce(context) {
    const check = (node, specifier) => {
      const place = placeOf(context, context.physicalFilename)
      const from = folderOf(place)
      if (specifier === undefined) return
      if (from !== undefined && /(^|\/)node_modules\/|^@?[a-z][^.]*\/(dist|internal)\//.test(specifier)) {
        context.report({ node, message: "packages are imported by their names, not by their files" })
        return
      }
      if (from !== undefined && /^hermes-effect(\/|$)/.test(specifier)) {
        context.report({ node, message: "src imports itself by relative paths, not through the package's entries" })
        return
      }
      if (!specifier.startsWith(".")) return
      const target = resolveModule(context, specifier)
      if (/^src\/fibers\/internal(\/|$)/.test(target) && !ownsInternal.test(place)) {
        context.report({ node, message: "src/fibers/internal belongs to src/fibers: import a door of src/fibers" })
        return
      }
      const to = folderOf(target)
      if (from === undefined) return
      if (/^src\/index$/.test(target) || /^src\/[^/]+\/index$/.test(target)) {
        context.report({ node, message: "package entries are for users of the package: import the module itself" })
        return
      }
      if (to === undefined) {
        if (/^(test|bench|lint)\//.test(target)) {
          context.report({ node, message: `src does not import ${target.split("/")[0]}` })
        }
        return
      }
      if (to === from) return
      const [low, high] = [ranks.get(from), ranks.get(to)]
      if (low === undefined || high === undefined || high > low) {
        context.report({
          node,
          message: `src/${from} must not import src/${to}: programs → layers → services → fibers`
        })
      }
    }
    const source = (node) => check(node.source ?? node, literal(node.source))
    return {
      ImportDeclaration: source,
      ExportAllDeclaration: source,
      ExportNamedDeclaration: (node) => {
        if (node.source !== null) source(node)
      },
      ImportExpression: (node) => {
        if (literal(node.source) !== undefined) return source(node)
        if (folderOf(placeOf(context, context.physicalFilename)) === undefined) return
        context.report({
          node,
          message: "what is imported is named by a text that stands here, so that it can be checked"
        })
      },
      TSImportType: (node) => check(node, literal(node.source ?? node.argument?.literal ?? node.argument)),
      CallExpression: (node) => {
        if (node.callee.type === "Identifier" && node.callee.name === "require") check(node, literal(node.arguments[0]))
      }
    }
  }
}

export default {
  meta: { name: "fibers" },
  rules: {
    "no-raw-fiber": rule("no-raw-fiber", inheritAll),
    "no-raw-sharing": rule("no-raw-sharing"),
    "turn-entry": rule("turn-entry"),
    "no-process-env": rule("no-process-env"),
    "no-ambient-time": rule("no-ambient-time"),
    "no-ambient-random": rule("no-ambient-random"),
    "no-console": rule("no-console"),
    "no-raw-process": rule("no-raw-process"),
    "import-direction": importDirection
  }
}
