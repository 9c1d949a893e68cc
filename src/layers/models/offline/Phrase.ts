/** The offline assistant's words: what it is, and what tools answered (contract §7). Pure. */
import { Option, Schema } from "effect"
import * as CutText from "../../../services/operation/CutText.js"
import * as JobPhrase from "./JobPhrase.js"
import { forPeople } from "../../../services/approval/Approval.js"
import * as Markup from "../../../services/delivery/Markup.js"
import * as Notice from "../../../services/delivery/Notice.js"
import { type OwnCommand, typed } from "../../../services/operation/OwnCommand.js"
import type { Message } from "../../../services/session/Transcript.js"

const setUp = (command: OwnCommand): string => {
  const npx = `\`${typed({ ...command, program: "npx hermes" }, "setup")}\` in the folder that you cloned`
  const line = command.program === "hermes" ? `\`${typed(command, "setup")}\` in a terminal (${npx})` : npx
  return (
    `For a real model run ${line}: it asks for Anthropic, OpenAI ` +
    "or a server of your own such as Ollama, tries it and writes it down. Then start the gateway again."
  )
}

const who = "I am the built-in offline assistant: a set of rules, not a language model."

/** What it understands, less what no tool is offered for. */
const abilities: ReadonlyArray<readonly [tool: string | null, line: string]> = [
  ["terminal", "`run: <command>` runs a command"],
  ["delegate_task", "`delegate: <goal>` gives a goal to a helper"],
  ["send_message", "`send <target>: <text>` sends a message; `send list` shows targets"],
  ["cronjob", "`remind me in 10 minutes to stretch`, `every weekday at 9 tell me to plan the day`"],
  ["cronjob", "`list reminders`, `cancel reminder <id>`"],
  ["session_search", "`search: <words>` searches our conversations"],
  ["search_files", "`search: <words>` searches files"],
  ["memory", "`remember: <text>` keeps a note"]
]

const lines = (offered: ReadonlySet<string>): string =>
  abilities
    .filter(([tool]) => tool === null || offered.has(tool))
    .filter(([tool]) => tool !== "search_files" || !offered.has("session_search"))
    .map(([, line]) => `- ${line}`)
    .join("\n")

const list = (offered: ReadonlySet<string>): string => {
  const known = lines(offered)
  return known === "" ? "No tool is offered to me in this chat." : `What I can do:\n${known}`
}

export const hello = (offered: ReadonlySet<string>, command: OwnCommand): string =>
  `Hello! ${who}\n\n${list(offered)}\n\n${setUp(command)}`

export const help = (offered: ReadonlySet<string>, command: OwnCommand): string =>
  `${who}\n\n${list(offered)}\n\n\`/help\` lists the commands, which every model leaves to the gateway.\n\n${setUp(command)}`

export const unknown = (offered: ReadonlySet<string>, command: OwnCommand): string =>
  `I cannot answer that. ${who}\n\n${list(offered)}\n\n${setUp(command)}`

export const thanks = "You are welcome."

export const incomplete = (example: string): string => `There is something missing. Write it like this: \`${example}\`.`

/** A request that was understood and cannot be carried out: nothing was done, and it says so. */
export const notOffered = (what: string, tools: string): string =>
  `I understood: ${what}. But ${tools} is not offered to me here, so nothing was done. ${who}`

export const noTime =
  "I understood that something is to be done later, but not when. Write it like this: `remind me in 10 minutes to stretch`, or `every weekday at 9 tell me to plan the day`."

export const noTask = (words: string): string => `I understood ${words}, but not what is to be done then.`

const Reports = Schema.Array(Schema.Struct({ status: Schema.String, summary: Schema.String }))
const decodeReports = Schema.decodeUnknownOption(Schema.parseJson(Reports))

const Said = Schema.Struct({
  error: Schema.optional(Schema.NullOr(Schema.String)),
  message: Schema.optional(Schema.NullOr(Schema.String)),
  text: Schema.optional(Schema.NullOr(Schema.String)),
  note: Schema.optional(Schema.NullOr(Schema.String)),
  advice: Schema.optional(Schema.NullOr(Schema.String))
})
const decodeSaid = Schema.decodeUnknownOption(Schema.parseJson(Said))

const Sent = Schema.Struct({
  platform: Schema.String,
  chat_id: Schema.optional(Schema.NullOr(Schema.String)),
  thread_id: Schema.optional(Schema.NullOr(Schema.String)),
  skipped: Schema.optional(Schema.Boolean),
  note: Schema.optional(Schema.NullOr(Schema.String))
})
const decodeSent = Schema.decodeUnknownOption(Schema.parseJson(Sent))

const Chats = Schema.Struct({
  platforms: Schema.Array(
    Schema.Struct({
      platform: Schema.String,
      home: Schema.optional(Schema.Boolean),
      chats: Schema.Array(
        Schema.Struct({
          target: Schema.String,
          name: Schema.optional(Schema.NullOr(Schema.String)),
          type: Schema.optional(Schema.NullOr(Schema.String))
        })
      )
    })
  ),
  note: Schema.optional(Schema.String)
})
const decodeChats = Schema.decodeUnknownOption(Schema.parseJson(Chats))

const longest = 8_000

const clipped = (text: string): string =>
  text.length <= longest
    ? text
    : `${CutText.beginning(text, longest / 2)}\n… ${text.length - longest} characters left out …\n${CutText.end(text, longest / 2)}`

/** A fence longer than any inside, so that output cannot close it. */
const block = (text: string): string => {
  const inner = clipped(text.trimEnd())
  const fence = "`".repeat(Markup.longestRun(inner) + 1)
  return inner === "" ? "There was no output." : `${fence}\n${inner}\n${fence}`
}

/** The output in a block, what is said about it behind. */
const terminal = (text: string): string => {
  const notes: Array<string> = []
  let output = text
  for (let found = lastNote.exec(output); found !== null; found = lastNote.exec(output)) {
    notes.unshift(found[1] ?? "")
    output = output.slice(0, found.index)
  }
  const said = notes
    .filter((note) => note !== "no output")
    .map((note) => `${note.charAt(0).toUpperCase()}${note.slice(1)}.`)
  return [block(output), ...said].join("\n")
}

/** What the shell adds to an output. */
const lastNote = /(?:^|\n)\[(exit code -?\d+|ended by [^\]\n]+|no output|not finished after [^\]\n]+)\]$/

const sent = (text: string): string =>
  Option.match(decodeSent(text), {
    onNone: () => chats(text),
    onSome: ({ chat_id, note, platform, skipped, thread_id }) => {
      const where = `${platform}${chat_id === undefined || chat_id === null ? "" : ` (chat ${chat_id}${thread_id === undefined || thread_id === null ? "" : `, topic ${thread_id}`})`}`
      return [skipped === true ? "Not sent." : `Sent to ${where}.`, note ?? ""].filter((part) => part !== "").join(" ")
    }
  })

const chats = (text: string): string =>
  Option.match(decodeChats(text), {
    onNone: () => said(text),
    onSome: ({ note, platforms }) => {
      const lines = platforms.flatMap(({ chats, home, platform }) => [
        `- ${platform}${home === true ? " (has a home channel)" : ""}`,
        ...chats.map(({ name, target }) => `  - \`${target}\`${name === undefined || name === null ? "" : ` ${name}`}`)
      ])
      return clipped(
        lines.length === 0
          ? "There is nothing to send to yet."
          : ["You can send to:", ...lines, ...(note === undefined ? [] : [note])].join("\n")
      )
    }
  })

const reports = (text: string): string =>
  Option.match(decodeReports(text), {
    onNone: () => clipped(text),
    onSome: (all) =>
      all
        .map(
          ({ status, summary }, index) =>
            `${all.length === 1 ? "The helper" : `Helper ${index + 1}`} ${status === "completed" ? "reports" : `ended as ${status}`}:\n${clipped(summary)}`
        )
        .join("\n\n")
  })

const said = (text: string): string =>
  Option.match(decodeSaid(text), {
    onNone: () => clipped(text),
    onSome: ({ advice, error, message, note, text: words }) =>
      [error ?? message ?? words ?? note ?? clipped(text), advice ?? ""].filter((part) => part !== "").join(" ")
  })

type ToolMessage = Extract<Message, { readonly _tag: "tool" }>

const result = (message: ToolMessage): string => {
  switch (message.disposition) {
    case "error":
      return `That did not work: ${said(message.text)}`
    case "refused":
      return forPeople(said(message.text))
    case "cancelled":
    case "skipped":
    case "unknown":
      return clipped(message.text)
  }
  switch (message.tool) {
    case "terminal":
      return terminal(message.text)
    case "delegate_task":
      return reports(message.text)
    case "send_message":
      return sent(message.text)
    case "cronjob":
      return JobPhrase.result(message.text) ?? said(message.text)
    case "session_search":
      return message.text.trim() === "Nothing was found."
        ? "Nothing was found in earlier conversations. What I was told to remember is not searched: it stands in my home, in `memories/MEMORY.md`."
        : clipped(message.text)
    case "search_files":
      return message.text.trim() === "" || /^\[no line matches in \d+ files?\]$/.test(message.text.trim())
        ? "Nothing was found."
        : clipped(message.text)
    default:
      return message.text.trim() === "" ? "Done." : said(message.text)
  }
}

/** What a person wrote while a tool ran stands behind its own words; a set of rules that has begun cannot go by it. */
const withMeanwhile = (message: ToolMessage): string => {
  const [own = "", ...meanwhile] = message.text.split(`\n\n${Notice.steeredBegins}`)
  const heard = meanwhile.map((part) => `“${clipped(part.slice(part.indexOf("]\n") + 2))}”`)
  const rest = `You wrote meanwhile: ${heard.join(", ")}. I had begun already, so say it again if there is something to do.`
  return [result({ ...message, text: own }), ...(heard.length === 0 ? [] : [rest])].join("\n\n")
}

/** The results of tools as an answer. */
export const results = (messages: ReadonlyArray<ToolMessage>): string => messages.map(withMeanwhile).join("\n\n")
