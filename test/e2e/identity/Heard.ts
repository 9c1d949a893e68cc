/** What a model is sent, whatever the wire: and what it says to that, by the plan of the newest token. */
import { Schema } from "effect"
import * as Plan from "./Plan.js"
import * as Token from "./Token.js"

export interface HeardCall {
  readonly id: string
  readonly name: string
  readonly arguments: string
}

export interface Heard {
  readonly role: "user" | "assistant" | "tool"
  readonly text: string
  readonly calls: ReadonlyArray<HeardCall>
  /** The call that a tool's text is the result of. */
  readonly callId: string | null
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  readonly arguments: object
}

export interface Place {
  readonly token: Token.Token
  /** How many of the plan's steps were made. */
  readonly made: number
  /** The results of the last of them, in the order of the calls. */
  readonly results: ReadonlyArray<{ readonly act: Plan.Act; readonly text: string }>
}

/** Where a conversation stands; null when nobody gave it a token. */
export const place = (heard: ReadonlyArray<Heard>): Place | null => {
  const start = heard.findLastIndex((message) => message.role === "user" && Token.read(message.text) !== null)
  const token = Token.read(heard[start]?.text ?? "")
  if (token === null) return null
  const since = heard.slice(start + 1)
  const made = since.filter((message) => message.role === "assistant" && message.calls.length > 0)
  const acts = Plan.of(token).steps[made.length - 1]?.acts ?? []
  const results = (made.at(-1)?.calls ?? []).flatMap((call, index) => {
    const act = acts[index]
    const result = since.find((message) => message.role === "tool" && message.callId === call.id)
    return act === undefined ? [] : [{ act, text: result?.text ?? "" }]
  })
  return { token, made: made.length, results }
}

const named = (act: Plan.Act, token: Token.Token): Omit<ToolCall, "id"> => {
  switch (act._tag) {
    case "Environment":
      return { name: "terminal", arguments: { command: `TOKEN='${Token.write(token)}' printenv` } }
    case "Send":
      return {
        name: "send_message",
        arguments: { message: act.text, ...(act.target === null ? {} : { target: act.target }) }
      }
    case "Delegate": {
      const tasks = act.children.map((child) => ({ goal: Token.write(child) }))
      return { name: "delegate_task", arguments: act.batch ? { tasks } : (tasks[0] ?? {}) }
    }
  }
}

/** The calls of a step. */
export const calls = (place: Place): ReadonlyArray<ToolCall> =>
  (Plan.of(place.token).steps[place.made]?.acts ?? []).map((act, index) => ({
    id: `call-${place.token.path}-${place.made}-${index}`,
    ...named(act, place.token)
  }))

const WireMessages = Schema.Struct({
  messages: Schema.Array(
    Schema.Struct({
      role: Schema.Literal("system", "user", "assistant", "tool"),
      content: Schema.optional(Schema.NullOr(Schema.String)),
      tool_call_id: Schema.optional(Schema.String),
      tool_calls: Schema.optional(
        Schema.Array(
          Schema.Struct({
            id: Schema.String,
            function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
          })
        )
      )
    })
  )
})
const decodeWire = Schema.decodeUnknownSync(WireMessages)

/** From the body of a chat-completions request; the system prompt is left out. */
export const fromWire = (body: unknown): ReadonlyArray<Heard> =>
  decodeWire(body).messages.flatMap((message) =>
    message.role === "system"
      ? []
      : [
          {
            role: message.role,
            text: message.content ?? "",
            calls: (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function })),
            callId: message.tool_call_id ?? null
          }
        ]
  )
