/** Messages as they are searched (state-agent.md 2.6). */
import { Effect, Schema } from "effect"
import * as Rows from "./Rows.js"

/** Characters of a message that are searched; results of tools can be whole files. */
const mostCharacters = 65_536
export const mostOfResult = 8_192

const Message = Schema.Struct({
  id: Schema.Number,
  sessionId: Schema.String,
  at: Schema.Number,
  role: Schema.Literal("user", "assistant", "tool", "summary"),
  text: Schema.String,
  tool: Schema.NullOr(Schema.String),
  calls: Schema.NullOr(Schema.String),
  title: Schema.NullOr(Schema.String),
  source: Schema.String,
  hidden: Rows.Flag
})
export type Message = typeof Message.Type

const decodeMessages = Schema.decodeUnknown(Schema.Array(Message))

const roles: ReadonlySet<unknown> = new Set(Message.fields.role.literals)
const isText = (value: unknown): boolean => typeof value === "string"
const isTextOrNull = (value: unknown): boolean => value === null || typeof value === "string"
/** By hand: to decode twenty rows costs more than to find them. What does not fit is told by the decoder. */
const isRow = (row: object): row is Omit<Message, "hidden"> & { readonly hidden: 0 | 1 } => {
  const {
    at,
    calls,
    hidden,
    id,
    role,
    sessionId,
    source,
    text,
    title,
    tool
  }: { readonly [K in keyof Message]?: unknown } = row
  return (
    typeof id === "number" &&
    typeof at === "number" &&
    [sessionId, text, source].every(isText) &&
    [tool, calls, title].every(isTextOrNull) &&
    roles.has(role) &&
    (hidden === 0 || hidden === 1)
  )
}
/** Rows of {@link columns} as messages; one that does not fit is told by the decoder. */
export const messagesOf = (rows: ReadonlyArray<object>) =>
  rows.every(isRow)
    ? Effect.succeed(rows.map((row): Message => ({ ...row, hidden: row.hidden === 1 })))
    : decodeMessages(rows)

/** Of `messages AS m` beside `sessions AS s`. */
export const columns = `m.id, m.session_id AS sessionId, m.at, m.role,
  substr(m.text, 1, CASE m.role WHEN 'tool' THEN ${mostOfResult} ELSE ${mostCharacters} END) AS text,
  m.tool_name AS tool, substr(m.tool_calls, 1, ${mostOfResult}) AS calls, s.title, s.source, s.hidden`

/** Everything of a message that can be found. */
export const textOf = ({ calls, text, tool }: Message): string =>
  [text, tool ?? "", calls ?? ""].filter((part) => part !== "").join("\n")

/** Begins with a letter for private use, which is in no word of a text: nobody can write his message into another place. */
export const placeWord = (kind: "s" | "o" | "r", name: string): string =>
  `\u{e000}${kind}${name.toLowerCase().replace(/[^a-z0-9]/g, "")}`
