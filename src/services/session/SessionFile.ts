/**
 * Sessions as files (state-agent.md 1.12): JSON lines, a session's line before those of its messages; or Markdown for
 * people, with what they do not read in comments, so that it can be read back. Pure.
 */
import { Either, Schema } from "effect"
import * as Misfit from "../operation/Misfit.js"
import { ArchivedMessage, ArchivedSession, limits, type SessionDocument } from "./SessionArchive.js"

export const Format = Schema.Literal("jsonl", "markdown")
export type Format = typeof Format.Type

/** A file that is no export: the line, counted from 1, and what is wrong with it. Nothing of it was taken. */
export class UnreadableSessionFile extends Schema.TaggedError<UnreadableSessionFile>()("UnreadableSessionFile", {
  line: Schema.Number,
  problem: Schema.String
}) {
  override get message(): string {
    return `line ${this.line}: ${this.problem}`
  }
}

const SessionLine = Schema.extend(Schema.Struct({ type: Schema.Literal("session") }), ArchivedSession)
const MessageLine = Schema.extend(Schema.Struct({ type: Schema.Literal("message") }), ArchivedMessage)
const Line = Schema.parseJson(Schema.Union(SessionLine, MessageLine))

const encodeSession = Schema.encodeSync(SessionLine)
const encodeMessage = Schema.encodeSync(MessageLine)
const decodeLine = Misfit.decoder(Line)

const heading = (role: ArchivedMessage["role"], at: number, tool: string | null): string => {
  const names = { user: "Person", assistant: "Agent", tool: `Tool ${tool ?? ""}`.trim(), summary: "Summary" }
  return `## ${names[role].replace(/\s+/g, " ")} · ${new Date(at).toISOString()}`
}

/** `--` would end a comment. */
const comment = (value: object): string => `<!-- hermes ${JSON.stringify(value).replaceAll("--", "-\\u002d")} -->`

const marker = /^<!-- hermes (\{.*\}) -->$/
const lookalike = /^(\\*)<!-- hermes \{/

/** A line of a text that looks like ours gets a backslash more, and loses it when it is read. */
const escaped = (body: string): string =>
  body
    .split("\n")
    .map((line) => (lookalike.test(line) ? `\\${line}` : line))
    .join("\n")

const unescaped = (line: string): string => (/^\\+<!-- hermes \{/.test(line) ? line.slice(1) : line)

export const sessionHead = (session: ArchivedSession, format: Format): string => {
  const encoded = encodeSession({ type: "session", ...session })
  return format === "jsonl"
    ? `${JSON.stringify(encoded)}\n`
    : `${comment(encoded)}\n# ${(session.title ?? session.id).replace(/\s+/g, " ")}\n\n`
}

export const messageText = (message: ArchivedMessage, format: Format): string => {
  const encoded = encodeMessage({ type: "message", ...message })
  if (format === "jsonl") return `${JSON.stringify(encoded)}\n`
  const { text, ...facts } = encoded
  return `${comment(facts)}\n${heading(message.role, message.at, message.tool)}\n\n${escaped(text)}\n\n`
}

interface Growing {
  readonly session: ArchivedSession
  readonly messages: Array<ArchivedMessage>
  bytes: number
}

/** Collects sessions and holds them to the limits. */
const gathering = () => {
  const documents: Array<Growing> = []
  let messages = 0
  const add = (line: number, source: string): UnreadableSessionFile | null => {
    const wrong = (problem: string) => new UnreadableSessionFile({ line, problem })
    const decoded = decodeLine(source)
    if (Either.isLeft(decoded)) {
      const [issue] = Misfit.issues(decoded.left)
      return wrong(issue === undefined ? "no session and no message" : Misfit.line(issue))
    }
    const entry = decoded.right
    if (entry.type === "session") {
      const { type: _, ...session } = entry
      if (documents.some((document) => document.session.id === session.id))
        return wrong(`the session ${session.id} is there twice`)
      documents.push({ session, messages: [], bytes: source.length })
      return documents.length > limits.sessions ? wrong(`more than ${limits.sessions} sessions`) : null
    }
    const last = documents.at(-1)
    if (last === undefined) return wrong("a message before any session")
    const { type: _, ...message } = entry
    last.messages.push(message)
    last.bytes += source.length
    messages += 1
    if (last.messages.length > limits.messages) return wrong(`more than ${limits.messages} messages in one session`)
    if (messages > limits.messagesInAll) return wrong(`more than ${limits.messagesInAll} messages`)
    return last.bytes > limits.bytes ? wrong(`a session of more than ${limits.bytes} bytes`) : null
  }
  return { documents, add }
}

const ofLines = (lines: ReadonlyArray<string>) => {
  const gathered = gathering()
  for (const [index, line] of lines.entries()) {
    if (line.trim() === "") continue
    const problem = gathered.add(index + 1, line)
    if (problem !== null) return Either.left(problem)
  }
  return Either.right(gathered.documents)
}

/** The text between two marks, without the heading that was put before it and the blank lines around it. */
const bodyOf = (lines: ReadonlyArray<string>): string => {
  const start = lines[0]?.startsWith("## ") === true ? 1 : 0
  const from = lines[start] === "" ? start + 1 : start
  const to = lines.at(-1) === "" ? -1 : lines.length
  return lines.slice(from, to).map(unescaped).join("\n")
}

const ofMarkdown = (lines: ReadonlyArray<string>) => {
  const gathered = gathering()
  const marks = lines.flatMap((line, index) => {
    const facts = marker.exec(line)?.[1]
    return facts === undefined ? [] : [{ index, facts }]
  })
  for (const [number, { index, facts }] of marks.entries()) {
    const parsed = Schema.decodeUnknownEither(Facts)(facts)
    if (Either.isLeft(parsed))
      return Either.left(
        new UnreadableSessionFile({ line: index + 1, problem: "the comment is not as it was written" })
      )
    const end = marks[number + 1]?.index ?? lines.length
    const whole =
      parsed.right["type"] === "message" ? { ...parsed.right, text: bodyOf(lines.slice(index + 1, end)) } : parsed.right
    const problem = gathered.add(index + 1, JSON.stringify(whole))
    if (problem !== null) return Either.left(problem)
  }
  return Either.right(gathered.documents)
}

const Facts = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/** The sessions of a file, whichever of the two formats it has. */
export const read = (text: string): Either.Either<ReadonlyArray<SessionDocument>, UnreadableSessionFile> => {
  const wrong = (problem: string) => Either.left(new UnreadableSessionFile({ line: 1, problem }))
  if (text.length > limits.bytesInAll) return wrong(`more than ${limits.bytesInAll} bytes`)
  const whole = text.replace(/^\ufeff/, "")
  // An editor may have changed all line ends; a text of its own may have some of both.
  const lines = (/^[^\n]*\r\n/.test(whole) ? whole.replaceAll("\r\n", "\n") : whole).replace(/\n$/, "").split("\n")
  const result = lines.find((line) => line.trim() !== "")?.startsWith("{") === true ? ofLines(lines) : ofMarkdown(lines)
  return Either.flatMap(result, (documents) =>
    documents.length === 0
      ? wrong("no session is in it: it is no export of `hermes sessions export`")
      : Either.right(documents)
  )
}
