import type { Script, Statement } from "./Script.js"

/** `f() { f | f & }`: a function that starts itself more than once, or behind itself. */
export const callsItself = (name: string, script: Script): boolean => {
  const calls = (statement: Statement): boolean => {
    switch (statement._tag) {
      case "Simple": {
        const [piece] = statement.words[0]?.pieces ?? []
        return piece?._tag === "Text" && piece.text === name
      }
      case "Pipeline":
        return statement.parts.some(calls)
      case "Group":
        return statement.script.some(calls)
      case "Function":
        return false
    }
  }
  const bombs = (statement: Statement): boolean => {
    switch (statement._tag) {
      case "Pipeline":
        return statement.parts.filter(calls).length > 1 || statement.parts.some(bombs)
      case "Group":
        return statement.script.filter(calls).length > 1 || statement.script.some(bombs)
      default:
        return false
    }
  }
  return script.some(bombs) || script.filter(calls).length > 1
}
