/**
 * The built-in offline assistant (contract §7): rules instead of a model, no network, no key. It works through the same
 * tools and gates as a real model and keeps no state: each answer comes from the rows of the request alone.
 */
import { Clock, Effect, Option, Schema, Stream } from "effect"
import type { BackendName, ModelBackendService, ModelPart, ModelRequest } from "../../../services/agent/ModelRoute.js"
import type { OwnCommand } from "../../../services/operation/OwnCommand.js"
import type { Message } from "../../../services/session/Transcript.js"
import * as Intent from "./Intent.js"
import * as JobPhrase from "./JobPhrase.js"
import * as Phrase from "./Phrase.js"
import * as When from "./When.js"

/** Where it answers. */
interface Setting {
  readonly timezone: string
  /** How a person sets up another model. */
  readonly command: OwnCommand
}

/** What it answers: words, or the call of a tool. */
type Reply =
  | { readonly _tag: "Words"; readonly text: string }
  | { readonly _tag: "Call"; readonly tool: string; readonly arguments: object }

const words = (text: string): Reply => ({ _tag: "Words", text })

type ToolMessage = Extract<Message, { readonly _tag: "tool" }>

/** The results that the newest answer's calls brought, when nothing was said after them. */
const openResults = (request: ModelRequest): ReadonlyArray<ToolMessage> => {
  const newest = request.messages.at(-1)
  // Asked without tools after the last step: a summary of what was done is wanted, not an answer to the nudge.
  const rows = newest?._tag === "user" && request.tools.length === 0 ? request.messages.slice(0, -1) : request.messages
  const from = rows.findLastIndex((message) => message._tag !== "tool") + 1
  return rows.slice(from).filter((message) => message._tag === "tool")
}

const newestUserText = (request: ModelRequest): string => {
  const newest = request.messages.findLast((message) => message._tag === "user")
  return newest?.text ?? ""
}

const decodeProperties = Schema.decodeUnknownOption(
  Schema.Struct({ properties: Schema.Record({ key: Schema.String, value: Schema.Unknown }) })
)

/** What a search tool calls the words to search for, as its own description says. */
const wordsOf = (request: ModelRequest, tool: string): string => {
  const parameters = request.tools.find(({ name }) => name === tool)?.parameters
  const properties = Option.match(decodeProperties(parameters), {
    onNone: () => ({}),
    onSome: (described) => described.properties
  })
  return ["query", "pattern", "words", "text"].find((candidate) => candidate in properties) ?? "query"
}

/** The prompt of a job: what the assistant, or a real model later, does with it when its time has come. */
const jobPrompt = (what: string): string =>
  /^(?:run|delegate|search|say|send)\b[^\n]*:/i.test(what) ? what : `say: Reminder: ${what}`

const schedule = (text: string, offered: ReadonlySet<string>, timezone: string): Effect.Effect<Reply> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const plan = When.repeated(text) ?? (yield* When.once(text, now, timezone))
    if (plan === null) return words(Phrase.noTime)
    if (plan.what === "") return words(Phrase.noTask(plan.words))
    if (!offered.has("cronjob")) return words(Phrase.notOffered(`${plan.words}: ${plan.what}`, "the tool `cronjob`"))
    return {
      _tag: "Call",
      tool: "cronjob",
      arguments: {
        action: "create",
        schedule: plan.schedule,
        prompt: jobPrompt(plan.what),
        name: plan.what.slice(0, 50)
      }
    } as const
  })

/** The second step of a cancellation: the list is there, and says which one is meant. */
const toCancel = (request: ModelRequest, result: ToolMessage): Reply | null => {
  const intent = Intent.parse(newestUserText(request))
  if (intent._tag !== "CancelJob" || result.tool !== "cronjob" || result.disposition !== "ok") return null
  const choice = JobPhrase.choose(result.text, intent.job)
  if (choice === null) return null
  return choice._tag === "Words"
    ? words(choice.text)
    : { _tag: "Call", tool: "cronjob", arguments: { action: "remove", job_id: choice.id } }
}

const reply = (request: ModelRequest, { command, timezone }: Setting): Effect.Effect<Reply> => {
  const results = openResults(request)
  const [first] = results
  if (first !== undefined) return Effect.succeed(toCancel(request, first) ?? words(Phrase.results(results)))

  const offered = new Set(request.tools.map((tool) => tool.name))
  const call = (tool: string, args: object, what: string): Reply =>
    offered.has(tool) ? { _tag: "Call", tool, arguments: args } : words(Phrase.notOffered(what, `the tool \`${tool}\``))
  const intent = Intent.parse(newestUserText(request))
  switch (intent._tag) {
    case "Hello":
      return Effect.succeed(words(Phrase.hello(offered, command)))
    case "Help":
      return Effect.succeed(words(Phrase.help(offered, command)))
    case "Thanks":
      return Effect.succeed(words(Phrase.thanks))
    case "Say":
      return Effect.succeed(words(intent.text))
    case "Incomplete":
      return Effect.succeed(words(Phrase.incomplete(intent.example)))
    case "Run":
      return Effect.succeed(call("terminal", { command: intent.command }, `run \`${intent.command}\``))
    case "Delegate":
      return Effect.succeed(call("delegate_task", { goal: intent.goal }, `delegate "${intent.goal}"`))
    case "Send":
      return Effect.succeed(
        call(
          "send_message",
          {
            action: "send",
            ...(intent.target === null ? {} : { target: intent.target }),
            message: intent.text
          },
          `send "${intent.text}" to ${intent.target ?? "this chat"}`
        )
      )
    case "ListTargets":
      return Effect.succeed(call("send_message", { action: "list" }, "list the targets of messages"))
    case "Search":
      return Effect.succeed(
        offered.has("session_search")
          ? call("session_search", { [wordsOf(request, "session_search")]: intent.words }, "")
          : call("search_files", { [wordsOf(request, "search_files")]: intent.words }, `search for "${intent.words}"`)
      )
    case "Remember":
      return Effect.succeed(
        call("memory", { action: "add", target: "memory", content: intent.text }, `remember "${intent.text}"`)
      )
    case "ListJobs":
      return Effect.succeed(call("cronjob", { action: "list" }, "list reminders and schedules"))
    case "CancelJob":
      return Effect.succeed(call("cronjob", { action: "list" }, `cancel "${intent.job}"`))
    case "Schedule":
      return schedule(intent.text, offered, timezone)
    case "Unknown":
      return Effect.succeed(words(Phrase.unknown(offered, command)))
  }
}

/** Ids count the conversation's calls: none repeats, and the same rows make the same ids. */
const nextCallId = (request: ModelRequest): string => {
  const calls = request.messages.reduce(
    (sum, message) => sum + (message._tag === "assistant" ? message.toolCalls.length : 0),
    0
  )
  return `offline_${calls + 1}`
}

export const make = (
  options: Setting & {
    readonly model: string
    readonly contextWindow: number
  }
): ModelBackendService => {
  const name: BackendName = { provider: "offline", model: options.model }
  const finish = (reason: string): ModelPart => ({ _tag: "Finish", reason, usage: null, backend: name })
  const answer = (request: ModelRequest): Effect.Effect<ReadonlyArray<ModelPart>> =>
    Effect.map(reply(request, options), (said) =>
      said._tag === "Words"
        ? [{ _tag: "Text", delta: said.text }, finish("stop")]
        : [
            { _tag: "ToolCall", id: nextCallId(request), name: said.tool, arguments: JSON.stringify(said.arguments) },
            finish("tool_calls")
          ]
    )
  return {
    name,
    contextWindow: options.contextWindow,
    speak: (request, hear) =>
      Effect.flatMap(answer(request), (parts) => Effect.forEach(parts, hear, { discard: true })),
    stream: (request) => Stream.unwrap(Effect.map(answer(request), Stream.fromIterable))
  }
}
