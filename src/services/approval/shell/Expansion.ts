/** What a word may become: every value that is known from the line itself, and marks where it is not. */
import * as Marked from "./Marked.js"
import type { Piece, Script, Word } from "./Script.js"

/** A word after expansion, as a program gets it. */
export interface Argument {
  /** With marks (see Marked). */
  readonly text: string
  /** As a command's name: why it is not plain to see, null when it is. */
  readonly hidden: string | null
  readonly quoted: boolean
  /** Is it a `<(…)`? */
  readonly process: boolean
}

export interface Surroundings {
  readonly home: string
  readonly agentHome: string
  /** Null when it is not known. */
  readonly directory: string | null
  /** Values of a variable that the line sets; null when it does not. */
  readonly valuesOf: (name: string) => ReadonlyArray<string> | null
  /** The text that a substitution gives, with marks. */
  readonly outputOf: (script: Script, reads?: boolean) => string
  readonly argumentsOf: ReadonlyArray<string> | null
  /** What `$_` stands for; null before the first command. */
  readonly lastWord: string | null
  /** May so many more characters come from values? Each can be a thousand times the one before. */
  readonly allows: (characters: number) => boolean
}

const valuesLimit = 16

const known = (name: string, around: Surroundings): ReadonlyArray<string> | null => {
  if (name === "HOME") return [around.home]
  if (name === "HERMES_HOME") return [around.agentHome]
  if (name === "PWD") return [around.directory ?? Marked.unknown]
  if (name === "IFS") return [" \t\n"]
  if (name === "PPID") return ["PPID"]
  if (name === "_" && around.lastWord !== null) return [around.lastWord]
  return null
}

/** Behind a variable of the environment's own there is a place, not a command. */
const places = new Set(["HOME", "HERMES_HOME", "PWD"])

const positional = (name: string, around: Surroundings): ReadonlyArray<string> | null => {
  if (around.argumentsOf === null) return null
  if (name === "@" || name === "*") return [around.argumentsOf.join(Marked.split)]
  return /^[1-9]$/.test(name) ? [around.argumentsOf[Number(name) - 1] ?? ""] : null
}

const variable = (piece: Extract<Piece, { _tag: "Variable" }>, around: Surroundings): ReadonlyArray<string> => {
  const own = around.valuesOf(piece.name)
  const base = positional(piece.name, around) ?? own ?? known(piece.name, around) ?? [Marked.unknown]
  const other = piece.argument === null ? [""] : texts(piece.argument, around)
  switch (piece.operator?.replace(":", "")) {
    case undefined:
    case "[":
    case "?":
      return base
    case "-":
    case "=":
      return own === null && known(piece.name, around) !== null ? base : [...base, ...other]
    case "+":
      return [...other, ""]
    default:
      return [Marked.unknown]
  }
}

const field = (text: string, quoted: boolean): string =>
  quoted ? text : Marked.mark(text).replace(/[ \t\n]+/g, Marked.split)

const alternatives = (piece: Piece, first: boolean, around: Surroundings): ReadonlyArray<string> => {
  switch (piece._tag) {
    case "Text":
      if (piece.quoted) return [piece.text]
      return [Marked.mark(first && piece.text.startsWith("~") ? Marked.tilde + piece.text.slice(1) : piece.text)]
    case "Variable":
      return variable(piece, around).map((value) => field(value, piece.quoted && piece.name !== "@"))
    case "Output":
      return [field(around.outputOf(piece.script).replace(/\n+$/, ""), piece.quoted)]
    case "Process":
      around.outputOf(piece.script, piece.writes)
      return [Marked.unknown]
    case "Unknown":
      for (const script of piece.scripts) around.outputOf(script)
      return piece.quoted && piece.scripts.length > 0 && first ? [""] : [Marked.unknown]
  }
}

/** Every text that a word may become before it is cut into fields. */
export const texts = (word: Word, around: Surroundings): ReadonlyArray<string> => {
  if (!around.allows(0)) return [Marked.unknown]
  let found: ReadonlyArray<string> = [""]
  for (const [index, piece] of word.pieces.entries()) {
    const more = alternatives(piece, index === 0, around)
    const made = piece._tag === "Text" ? 0 : more.reduce((characters, text) => characters + text.length, 0)
    if (!around.allows(made)) return [Marked.unknown]
    if (found.length * more.length > valuesLimit) found = [Marked.unknown]
    else found = found.flatMap((head) => more.map((tail) => head + tail))
  }
  return found
}

const withTilde = (text: string, around: Surroundings): string => {
  if (!text.startsWith(Marked.tilde)) return text
  const slash = text.indexOf("/")
  const user = text.slice(1, slash < 0 ? text.length : slash)
  const rest = slash < 0 ? "" : text.slice(slash)
  if (user === "") return around.home + rest
  if (user === "+") return (around.directory ?? Marked.unknown) + rest
  return user === around.home.split("/").at(-1) ? around.home + rest : Marked.unknown + rest
}

const hiddenBy = (word: Word, text: string): string | null => {
  const kinds = new Set(word.pieces.map((piece) => piece._tag))
  const places_ = word.pieces.every(
    (piece) => piece._tag === "Text" || (piece._tag === "Variable" && places.has(piece.name) && piece.operator === null)
  )
  if (!places_) {
    if (kinds.has("Process")) return "comes from another command"
    if (kinds.has("Output")) return "comes from another command's output"
    return "comes from a variable or an expansion"
  }
  if (kinds.has("Variable") && !text.includes("/")) return "comes from a variable or an expansion"
  if (Marked.hasUnknown(text)) return "is not known before it runs"
  if (Marked.hasGlob(text)) return "is a pattern of file names"
  const pieces = word.pieces.filter((piece) => piece._tag === "Text")
  if (pieces.some((piece) => piece.escaped)) return "is written with escapes"
  if (kinds.has("Variable")) return null
  const quoted = pieces.filter((piece) => piece.quoted).length
  const letters = pieces.filter((piece) => /[A-Za-z]/.test(piece.text)).length
  if (quoted > 0 && pieces.length > 2 && letters > 1) return "is glued from pieces"
  if (pieces.length > 1 && pieces.some((piece) => piece.quoted && piece.text === "")) return "is glued from pieces"
  return pieces.length === 2 && quoted === 1 && letters === 2 && pieces[0]?.quoted === false
    ? "is glued from pieces"
    : null
}

/** Every list of arguments that a word may become. */
export const fields = (word: Word, around: Surroundings): ReadonlyArray<ReadonlyArray<Argument>> =>
  texts(word, around).map((text) => {
    const quoted = word.pieces.some((piece) => piece._tag === "Text" && piece.quoted)
    const process = word.pieces.some((piece) => piece._tag === "Process")
    const expanded = Marked.braces(text)
    const several = expanded === null || expanded.length > 1
    const parts = (expanded ?? [Marked.unknown]).flatMap((part) => part.split(Marked.split))
    const kept = parts.length === 1 && (quoted || parts[0] !== "") ? parts : parts.filter((part) => part !== "")
    const isQuotedEmpty =
      kept.length === 0 && word.pieces.some((piece) => piece._tag !== "Text" && "quoted" in piece && piece.quoted)
    return (isQuotedEmpty ? [""] : kept).map((part) => {
      const settled = Marked.settle(withTilde(part, around))
      const cut = parts.length > 1 ? "comes from a variable or an expansion" : null
      return {
        text: settled,
        hidden: several ? "is a brace expansion" : (hiddenBy(word, settled) ?? cut),
        quoted,
        process
      }
    })
  })
