/**
 * Follows every binding of a file from where it is imported (or global) to where it is used, and says which uses reach a
 * banned export. Names are never compared: `import { Effect as E }`, `import * as Eff`, `const { fork } = E` and
 * `E["fork"]` all come to the same path.
 */
import path from "node:path"
import { banOf, globalOf, guarded, member, moduleOf, turnClass, turnPlaces } from "./bans.mjs"

/** Where a file stands in the repository: `src/services/state/Database.ts`. The linter runs at the repository's root. */
export const placeOf = (context, filename) => path.relative(context.cwd, filename).split(path.sep).join("/")

/** The module that a specifier names; a relative one becomes its place without the extension. */
export const resolveModule = (context, specifier) =>
  specifier.startsWith(".")
    ? placeOf(context, path.resolve(path.dirname(context.physicalFilename), specifier)).replace(/\.[cm]?[jt]sx?$/, "")
    : moduleOf(specifier)

export const literal = (node) =>
  node?.type === "Literal" && typeof node.value === "string"
    ? node.value
    : node?.type === "TemplateLiteral" && node.expressions.length === 0
      ? node.quasis[0].value.cooked
      : undefined

const propertyName = (node) =>
  node.computed
    ? literal(node.property ?? node.key)
    : ((node.property ?? node.key).name ?? literal(node.property ?? node.key))

const transparent = new Set([
  "TSAsExpression",
  "TSNonNullExpression",
  "TSSatisfiesExpression",
  "TSTypeAssertion",
  "TSInstantiationExpression",
  "ParenthesizedExpression",
  "ChainExpression"
])

const typePositions = new Set([
  "TSQualifiedName",
  "TSTypeReference",
  "TSTypeQuery",
  "TSInterfaceHeritage",
  "TSClassImplements",
  "TSExpressionWithTypeArguments"
])

/** All uses of banned things in one file: `{ node, rule, message }`. */
export const findings = (context) => {
  const { sourceCode } = context
  const place = placeOf(context, context.physicalFilename)
  const found = []
  const seen = new Set()
  const dynamic = new Set()

  const report = (node, ban, name) => found.push({ node, rule: ban.rule, message: `${name} ${ban.reason}` })

  /** The variable that an identifier declares or writes. */
  const variableOf = (identifier) => {
    for (let scope = sourceCode.getScope(identifier); scope !== null; scope = scope.upper) {
      const variable = scope.set.get(identifier.name)
      if (variable !== undefined) return variable
    }
    return undefined
  }

  /** A binding found to hold `value`: every read of it is followed. */
  const followReferences = (variable, value) => {
    if (variable === undefined) return
    for (const reference of variable.references) {
      if (reference.isRead() && reference.isValueReference !== false) follow(reference.identifier, value)
    }
  }

  /** Takes a pattern apart that `value` is assigned to. */
  const destructure = (pattern, value) => {
    switch (pattern.type) {
      case "Identifier": {
        followReferences(variableOf(pattern), value)
        exported(pattern, value)
        return
      }
      case "AssignmentPattern":
        return destructure(pattern.left, value)
      case "ObjectPattern":
        for (const property of pattern.properties) {
          if (property.type === "RestElement") {
            escape(property, value)
            continue
          }
          const name = propertyName(property)
          if (name === undefined) escape(property, value)
          else {
            const next = member(value, name)
            if (!hit(property, next)) destructure(property.value, next)
          }
        }
        return
      case "ArrayPattern":
      case "MemberExpression":
        return escape(pattern, value)
    }
  }

  /** `export const E = Effect` hands the module to other files, past this analysis. */
  const exported = (identifier, value) => {
    let node = identifier
    while (node !== null && node.type !== "VariableDeclaration") node = node.parent
    if (node?.parent?.type === "ExportNamedDeclaration") escape(identifier, value)
  }

  const hit = (node, value) => {
    const ban = banOf(value, place)
    if (ban === undefined) return false
    report(node, ban, value)
    return true
  }

  /** The value goes where it cannot be followed. */
  const escape = (node, value) => {
    const ban = guarded(value, place)
    if (ban !== undefined) report(node, ban, value)
    else if (value === turnClass.path) reportTurn(node)
  }

  const reportTurn = (node) => {
    if (!turnPlaces.some((allowed) => allowed.test(place))) report(node, turnClass.ban, turnClass.path)
  }

  /** `Reflect.construct(Date, [])`, `Object.assign({}, Math)`. */
  const copies = (callee) =>
    callee.type === "MemberExpression" &&
    callee.object.type === "Identifier" &&
    (callee.object.name === "Reflect" || callee.object.name === "Object")

  /** What may be handed around is still not to be rebuilt under another name. */
  const lend = (node, value) => {
    const ban = { "global/Date": "global/Date.now", "global/Math": "global/Math.random" }[value]
    if (ban === undefined) return escape(node, value)
    return report(node, banOf(ban, place), value)
  }

  /** `node` evaluates to `value`: what becomes of it? */
  const follow = (node, value) => {
    const key = `${node.range?.[0] ?? node.start}:${node.range?.[1] ?? node.end}:${value}`
    if (seen.has(key)) return
    seen.add(key)
    if (banOf(value, place) !== undefined) return void hit(node, value)
    const { parent } = node
    if (parent === null || parent === undefined || typePositions.has(parent.type)) return
    if (transparent.has(parent.type)) return follow(parent, value)
    switch (parent.type) {
      case "MemberExpression": {
        if (parent.object !== node) return escape(node, value)
        const name = propertyName(parent)
        if (name === undefined) return escape(parent, value)
        if (value === turnClass.path) return name === "make" ? reportTurn(parent) : undefined
        const next = member(value, name)
        return hit(parent, next) ? undefined : follow(parent, next)
      }
      case "JSXMemberExpression":
        return
      case "NewExpression":
        if (parent.callee === node) {
          if (value === turnClass.path) return reportTurn(parent)
          // what is spread may be nothing
          if (
            value === "global/Date" &&
            (parent.arguments.length === 0 || parent.arguments[0].type === "SpreadElement")
          )
            return report(parent, banOf("global/Date.now", place), "new Date()")
          return
        }
        return escape(node, value)
      case "CallExpression":
        if (parent.callee === node) {
          if (value === "global/Date") report(parent, banOf("global/Date.now", place), "Date()")
          return
        }
        return copies(parent.callee) ? lend(node, value) : escape(node, value)
      case "ClassDeclaration":
      case "ClassExpression":
      case "SpreadElement":
        return lend(node, value)
      case "BinaryExpression":
        return parent.operator === "instanceof" && parent.right === node ? undefined : escape(node, value)
      case "UnaryExpression":
      case "ExpressionStatement":
        return
      case "VariableDeclarator":
        return parent.init === node ? destructure(parent.id, value) : undefined
      case "AssignmentExpression":
        if (parent.right !== node) return
        destructure(parent.left, value)
        return follow(parent, value)
      case "AssignmentPattern":
        return parent.right === node ? destructure(parent.left, value) : undefined
      case "ConditionalExpression":
        return parent.test === node ? undefined : follow(parent, value)
      case "LogicalExpression":
        return follow(parent, value)
      case "SequenceExpression":
        return parent.expressions.at(-1) === node ? follow(parent, value) : undefined
      case "AwaitExpression":
        return follow(parent, value)
      default:
        return escape(node, value)
    }
  }

  /** The module object of `import(...)` and `require(...)`, when it leads to something banned. */
  const followDynamic = (node, specifier) => {
    if (dynamic.has(node)) return
    dynamic.add(node)
    const value = resolveModule(context, specifier)
    if (guarded(value, place) === undefined) return
    const { parent } = node
    if (node.type === "CallExpression" || parent.type === "AwaitExpression") return follow(node, value)
    escape(node, value)
  }

  const imported = (specifier, module) => {
    switch (specifier.type) {
      case "ImportNamespaceSpecifier":
        return module
      case "ImportDefaultSpecifier":
        return member(module, "default")
      default:
        return member(module, specifier.imported.name ?? specifier.imported.value)
    }
  }

  const program = sourceCode.ast
  for (const statement of program.body) {
    if (statement.type === "ImportDeclaration" && statement.importKind !== "type") {
      const module = resolveModule(context, statement.source.value)
      for (const specifier of statement.specifiers) {
        if (specifier.importKind === "type") continue
        const value = imported(specifier, module)
        if (specifier.type === "ImportSpecifier" && hit(specifier, value)) continue
        followReferences(variableOf(specifier.local), value)
      }
    }
    if (statement.type === "ExportAllDeclaration" && statement.exportKind !== "type") {
      escape(statement, resolveModule(context, statement.source.value))
    }
    if (statement.type === "ExportNamedDeclaration" && statement.source !== null && statement.exportKind !== "type") {
      const module = resolveModule(context, statement.source.value)
      for (const specifier of statement.specifiers) {
        if (specifier.exportKind === "type") continue
        const value = member(module, specifier.local.name ?? specifier.local.value)
        if (!hit(specifier, value)) escape(specifier, value)
      }
    }
  }

  const globalScope = sourceCode.scopeManager.globalScope
  const unresolved = new Set(globalScope.through)
  for (const variable of globalScope.variables) {
    if (variable.defs.length === 0) for (const reference of variable.references) unresolved.add(reference)
  }
  for (const reference of unresolved) {
    if (reference.isValueReference === false) continue
    const value = globalOf(reference.identifier.name)
    if (value !== undefined) follow(reference.identifier, value)
  }

  return { found, followDynamic }
}
