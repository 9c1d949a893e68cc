/** Messages as they are searched (state-agent.md 2.6). */
import { Effect, Either, Schema } from "effect"
import { isMillis, Millis } from "../../services/operation/Instant.js"
import * as Misfit from "../../services/operation/Misfit.js"
import * as Rows from "./Rows.js"

/** Characters of a message that are searched; results of tools can be whole files. */
const mostCharacters = 65_536
export const mostOfResult = 8_192

const Message = Schema.Struct({
  id: Schema.Number,
  sessionId: Schema.String,
  at: Millis,
  role: Schema.Literal("user", "assistant", "tool", "summary"),
  text: Schema.String,
  tool: Schema.NullOr(Schema.String),
  calls: Schema.NullOr(Schema.String),
  title: Schema.NullOr(Schema.String),
  source: Schema.String,
  hidden: Rows.Flag
})
export type Message = typeof Message.Type

const decode = Misfit.decoder(Message)

/** The columns of a row in their order. */
type MessageRow = readonly [
  id: number,
  sessionId: string,
  at: number,
  role: Message["role"],
  text: string,
  tool: string | null,
  calls: string | null,
  title: string | null,
  source: string,
  hidden: 0 | 1
]

/** Of `messages AS m` beside `sessions AS s`. */
export const columns = `m.id, m.session_id, m.at, m.role,
  CASE WHEN octet_length(m.text) <= ${mostOfResult} THEN m.text
    ELSE substr(m.text, 1, CASE m.role WHEN 'tool' THEN ${mostOfResult} ELSE ${mostCharacters} END) END,
  m.tool_name, substr(m.tool_calls, 1, ${mostOfResult}), s.title, s.source, s.hidden`

const names: ReadonlyArray<keyof Message> = [
  "id",
  "sessionId",
  "at",
  "role",
  "text",
  "tool",
  "calls",
  "title",
  "source",
  "hidden"
]

const roles: ReadonlySet<unknown> = new Set(Message.fields.role.literals)
const isText = (value: unknown): boolean => typeof value === "string"
const isTextOrNull = (value: unknown): boolean => value === null || typeof value === "string"

/** By hand: to decode twenty rows costs more than to find them. */
const isRow = (row: ReadonlyArray<unknown>): row is MessageRow =>
  typeof row[0] === "number" &&
  isText(row[1]) &&
  isMillis(row[2]) &&
  roles.has(row[3]) &&
  isText(row[4]) &&
  isTextOrNull(row[5]) &&
  isTextOrNull(row[6]) &&
  isTextOrNull(row[7]) &&
  isText(row[8]) &&
  (row[9] === 0 || row[9] === 1)

const messageOf = ([id, sessionId, at, role, text, tool, calls, title, source, hidden]: MessageRow): Message => ({
  id,
  sessionId,
  at,
  role,
  text,
  tool,
  calls,
  title,
  source,
  hidden: hidden === 1
})

const told = (row: ReadonlyArray<unknown>) => {
  const decoded = decode(Object.fromEntries(names.map((name, at) => [name, row[at]])))
  return Effect.logWarning("a stored message cannot be read and is left out of what is searched").pipe(
    Effect.annotateLogs({ row: row[0], problem: Either.isLeft(decoded) ? Misfit.text(decoded.left) : "" })
  )
}

/**
 * The values of rows that begin with {@link columns} as messages. One that does not fit is left out and told, so these may
 * be fewer than the rows.
 */
export const messagesOf = (rows: ReadonlyArray<ReadonlyArray<unknown>>): Effect.Effect<ReadonlyArray<Message>> =>
  rows.every(isRow)
    ? Effect.succeed(rows.map(messageOf))
    : Effect.as(
        Effect.forEach(
          rows.filter((row) => !isRow(row)),
          told,
          { discard: true }
        ),
        rows.filter(isRow).map(messageOf)
      )

/** Everything of a message that can be found. */
export const textOf = ({ calls, text, tool }: Message): string =>
  tool === null && calls === null ? text : [text, tool ?? "", calls ?? ""].filter((part) => part !== "").join("\n")

/** Begins with a letter for private use, which is in no word of a text: nobody can write his message into another place. */
export const placeWord = (kind: "s" | "o" | "r", name: string): string =>
  `\u{e000}${kind}${name.toLowerCase().replace(/[^a-z0-9]/g, "")}`
