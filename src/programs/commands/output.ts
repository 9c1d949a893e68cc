/** What a command says on stdout: one JSON document for programs, lines and tables for people. */
import { Console, Effect, Schema } from "effect"
import process from "node:process"
import { safe } from "../../layers/terminal/Screen.js"
import { Invocation } from "./invocation.js"

/** Prints the fields of `schema` as JSON with `--json`, else what `lines` says. */
export const answer = <A, I, B extends A>(
  schema: Schema.Schema<A, I>,
  value: B,
  lines: (value: B) => ReadonlyArray<string>
): Effect.Effect<void, never, Invocation> =>
  Effect.gen(function* () {
    const { json } = yield* Invocation
    if (!json) return yield* say(...lines(value).map(plain))
    // What a command prints is its own value, which its schema was made for.
    const encoded = yield* Effect.orDie(Schema.encode(schema)(value))
    yield* Console.log(escaped(JSON.stringify(encoded, null, 2)))
  })

/** JSON says nothing of these, and a terminal takes some of them for the beginning of a command. */
const escaped = (document: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are the characters that are meant
  document.replace(/[\u007f-\u009f]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)

export const say = (...lines: ReadonlyArray<string>): Effect.Effect<void> =>
  lines.length === 0 ? Effect.void : Console.log(lines.join("\n"))

/** On stderr: for a person, and not for a program that reads the answer. */
export const note = (text: string): Effect.Effect<void> =>
  Effect.sync(() => void process.stderr.write(`${plain(text)}\n`))

/** Control characters of foreign text stay out of a person's terminal. */
export const plain = safe

const colour = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, "g")

/** The text without a terminal's colours. */
export const uncoloured = (text: string): string => text.replace(colour, "")

/** One line of plain characters already, which most cells of a long table are. */
const isOneLine = /^[!-~]*(?: [!-~]+)*$/

const oneLine = (text: string): string => (isOneLine.test(text) ? text : plain(text).replace(/\s+/g, " ").trim())

/** A text on one line of at most `width` characters. */
export const brief = (text: string, width: number): string => {
  const line = oneLine(text)
  return line.length <= width ? line : `${line.slice(0, Math.max(0, width - 1))}…`
}

/** Columns under their names, as wide as their longest cell; the last is not padded. */
export const table = (
  names: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string | null>>,
  empty: string
): ReadonlyArray<string> => {
  if (rows.length === 0) return [empty]
  const cells = [names, ...rows.map((row) => row.map((cell) => oneLine(cell ?? "-")))]
  const widths = names.map((_, column) => Math.max(...cells.map((row) => (row[column] ?? "").length)))
  return cells.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd()
  )
}

const two = (value: number): string => String(value).padStart(2, "0")

/** An instant as a person reads it, in local time to the second. */
export const second = (millis: number): string => `${moment(millis)}:${two(new Date(millis).getSeconds())}`

/** An instant as a person reads it, in local time to the minute. */
export const moment = (millis: number | null): string => {
  if (millis === null) return "-"
  const at = new Date(millis)
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}`
}
