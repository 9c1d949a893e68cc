/** What a chat-completions request asks: the question, its context as transcript rows, and instructions. Pure. */
import { type ApiError, badRequest } from "../../services/api/ApiError.js"
import { type ChatMessage, textOf } from "../../services/api/Completions.js"
import type { Message } from "../../services/session/Transcript.js"
import { Either } from "effect"

export interface CompletionRequest {
  readonly question: string
  /** The system messages, one below the other; null when there are none. */
  readonly instructions: string | null
  /** What was said before the question. */
  readonly context: ReadonlyArray<Message>
}

const rowOf = (message: ChatMessage, toolNames: Map<string, string>): Message | null => {
  switch (message.role) {
    case "system":
    case "developer":
      return null
    case "user":
      return { _tag: "user", text: textOf(message.content), platformMessageId: null }
    case "assistant": {
      const toolCalls = (message.tool_calls ?? []).map((call) => ({
        id: call.id,
        name: call.function.name,
        arguments: call.function.arguments
      }))
      for (const call of toolCalls) toolNames.set(call.id, call.name)
      return {
        _tag: "assistant",
        text: textOf(message.content),
        reasoning: null,
        toolCalls,
        finishReason: toolCalls.length > 0 ? "tool_calls" : "stop"
      }
    }
    case "tool":
      return {
        _tag: "tool",
        callId: message.tool_call_id,
        tool: message.name ?? toolNames.get(message.tool_call_id) ?? "unknown",
        text: textOf(message.content),
        disposition: "ok"
      }
  }
}

export const parse = (messages: ReadonlyArray<ChatMessage>): Either.Either<CompletionRequest, ApiError> => {
  const instructions: Array<string> = []
  const context: Array<Message> = []
  const toolNames = new Map<string, string>()
  let last: ChatMessage | null = null
  for (const message of messages) {
    if (message.role === "system" || message.role === "developer") instructions.push(textOf(message.content))
    else {
      const before: Message | null = last === null ? null : rowOf(last, toolNames)
      if (before !== null) context.push(before)
      last = message
    }
  }
  if (last?.role !== "user")
    return Either.left(badRequest("no_question", "the last message has to be the user's: it is what the agent answers"))
  const question = textOf(last.content)
  if (question.trim() === "") return Either.left(badRequest("no_question", "the last message is empty"))
  return Either.right({
    question,
    context,
    instructions: instructions.length === 0 ? null : instructions.join("\n\n")
  })
}
