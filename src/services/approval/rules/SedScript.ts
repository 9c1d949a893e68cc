/** What a script of `sed` does besides editing: it can run commands, and read and write files. */
import { has, optionsOf, valuesOf } from "../shell/Invocation.js"
import * as Marked from "../shell/Marked.js"

export interface SedScript {
  /** Does it run a command (`e`, the flag `e` of `s`)? */
  readonly runs: boolean
  readonly reads: ReadonlyArray<string>
  readonly writes: ReadonlyArray<string>
  /** Was it read to its end? What is not, is not harmless. */
  readonly understood: boolean
}

/** A set, `[^]/]`, in which a delimiter is a letter. */
const set = /\[\^?\]?(?:\[[:.=][a-z]*[:.=]\]|[^\]])*\]/y

/** Behind the delimiter that closes a text; -1 when nothing does. Only a pattern has sets. */
const behind = (script: string, from: number, delimiter: string, pattern: boolean): number => {
  const lastEnd = pattern ? script.lastIndexOf("]") : -1
  for (let at = from; at < script.length; at++) {
    const letter = script.charAt(at)
    if (letter === delimiter) return at + 1
    if (letter === "\\") at++
    else if (letter === "[" && at < lastEnd) {
      set.lastIndex = at
      if (set.test(script)) at = set.lastIndex - 1
    }
  }
  return -1
}

class Reader {
  readonly reads: Array<string> = []
  readonly writes: Array<string> = []
  runs = false
  understood = true
  #at = 0
  readonly #script: string

  constructor(script: string) {
    this.#script = script
    while (this.understood && this.#at < script.length) this.#command()
  }

  #skip(pattern: RegExp): string {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#script)?.[0] ?? ""
    this.#at += found.length
    return found
  }

  #restOfLine(): string {
    return this.#skip(/[^\n]*/y).trim()
  }

  /** Goes behind a text that `delimiter` closes. */
  #closed(delimiter: string, pattern: boolean): boolean {
    const end = behind(this.#script, this.#at, delimiter, pattern)
    if (end < 0) this.understood = false
    else this.#at = end
    return end >= 0
  }

  #address(): void {
    for (;;) {
      this.#skip(/[\s,]*/y)
      // A mark is a value that is not known: a number, most likely.
      if (this.#skip(/[\d$~+…]+/y) !== "") continue
      const opened = this.#skip(/\/|\\[^\n]/y)
      if (opened === "") return
      if (!this.#closed(opened.slice(-1), true)) return
      this.#skip(/[IM]*/y)
    }
  }

  #command(): void {
    this.#skip(/[\s;]*/y)
    this.#address()
    this.#skip(/[\s!]*/y)
    if (!this.understood || this.#at >= this.#script.length) return
    const name = this.#script.charAt(this.#at++)
    switch (name) {
      case "{":
      case "}":
      case "=":
      case "d":
      case "D":
      case "g":
      case "G":
      case "h":
      case "H":
      case "n":
      case "N":
      case "p":
      case "P":
      case "x":
      case "z":
      case "F":
        return
      case "b":
      case "t":
      case "T":
      case ":":
      case "l":
      case "L":
      case "q":
      case "Q":
      case "v":
        this.#skip(/[^\n;}]*/y)
        return
      case "#":
        this.#restOfLine()
        return
      case "a":
      case "c":
      case "i":
        this.#skip(/(?:\\\n|\\[^]|[^\\\n])*/y)
        return
      case "r":
      case "R":
        this.reads.push(this.#restOfLine())
        return
      case "w":
      case "W":
        this.writes.push(this.#restOfLine())
        return
      case "e":
        this.runs = true
        this.#restOfLine()
        return
      case "s":
        return this.#substitution()
      case "y": {
        const delimiter = this.#script.charAt(this.#at++)
        if (this.#closed(delimiter, false)) this.#closed(delimiter, false)
        return
      }
      default:
        this.understood = false
    }
  }

  #substitution(): void {
    const delimiter = this.#script.charAt(this.#at++)
    if (!this.#closed(delimiter, true) || !this.#closed(delimiter, false)) return
    const flags = this.#skip(/[gpeIiMmu\d \t…]*/y)
    if (flags.includes("e")) this.runs = true
    if (this.#script.charAt(this.#at) === "w") {
      this.#at++
      this.writes.push(this.#restOfLine())
    }
  }
}

const valued = ["e", "f", "l", "expression", "file", "line-length"]

/** What the words of a call tell `sed` to do; what stands in a file of its own is not looked at. */
export const of = (texts: ReadonlyArray<string>): SedScript => {
  // `-i.bak`: what follows the letter is no option.
  const words = texts.map((text) => (/^-[A-Za-z]*i/.test(text) ? text.slice(0, text.indexOf("i") + 1) : text))
  const options = optionsOf(words, valued)
  const expressions = valuesOf(options, "e", "expression")
  const [first = "", second = ""] = options.operands
  // Of `-i ''`, as BSD has it, the first operand is none.
  const script = has(options, ...valued) ? expressions.join("\n") : first === "" ? second : first
  return new Reader(Marked.show(script))
}
