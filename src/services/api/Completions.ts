import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import { Schema } from "effect"
import { BadGateway, Conflict, NotFound, TooMany } from "./ApiError.js"
import { Authentication } from "./Caller.js"
import { answersWithEvents } from "./EventStream.js"

/** The name of the agent as a model. */
export const modelName = "hermes-agent"

/** The header that names the session to go on with; without it a request stands alone. */
export const sessionHeader = "x-hermes-session-id"

const TextPart = Schema.Struct({
  type: Schema.Literal("text", "input_text", "output_text").annotations({
    message: () => ({ message: "only text is taken here: no images, audio or files", override: true })
  }),
  text: Schema.String
})

const Content = Schema.Union(Schema.String, Schema.Array(TextPart)).annotations({
  identifier: "ChatContent",
  message: (issue) =>
    typeof issue.actual === "string" || Array.isArray(issue.actual)
      ? { message: "", override: false }
      : { message: "has to be a text, or a list of text parts", override: true }
})
type Content = typeof Content.Type

/** The text of a message, its parts one below the other. */
export const textOf = (content: Content | null | undefined): string =>
  content === null || content === undefined
    ? ""
    : typeof content === "string"
      ? content
      : content.map((part) => part.text).join("\n")

const FunctionCall = Schema.Struct({
  id: Schema.String,
  function: Schema.Struct({ name: Schema.String, arguments: Schema.String })
})

export const ChatMessage = Schema.Union(
  // One role each, so that what is wrong with a message is said of its own role alone.
  Schema.Struct({ role: Schema.Literal("system"), content: Content }),
  Schema.Struct({ role: Schema.Literal("developer"), content: Content }),
  Schema.Struct({ role: Schema.Literal("user"), content: Content }),
  Schema.Struct({
    role: Schema.Literal("assistant"),
    content: Schema.optional(Schema.NullOr(Content)),
    tool_calls: Schema.optional(Schema.NullOr(Schema.Array(FunctionCall)))
  }),
  Schema.Struct({
    role: Schema.Literal("tool"),
    content: Content,
    tool_call_id: Schema.String,
    name: Schema.optional(Schema.String)
  })
).annotations({ identifier: "ChatMessage" })
export type ChatMessage = typeof ChatMessage.Type

/** What is not named here is ignored, `model` too: the agent's own settings decide. `n` is there to be refused. */
export const CompletionBody = Schema.Struct({
  model: Schema.optional(Schema.String),
  messages: Schema.NonEmptyArray(ChatMessage),
  n: Schema.optional(
    Schema.NullOr(Schema.Literal(1).annotations({ message: () => "one answer is given at a time: leave it out" }))
  ),
  tool_choice: Schema.optional(
    Schema.NullOr(Schema.Literal("auto", "none")).annotations({
      message: () => ({
        message: "the agent uses its own tools and calls none of the client's: leave it out",
        override: true
      })
    })
  ),
  stream: Schema.optional(Schema.NullOr(Schema.Boolean)),
  stream_options: Schema.optional(
    Schema.NullOr(Schema.Struct({ include_usage: Schema.optional(Schema.NullOr(Schema.Boolean)) }))
  )
})

export const CompletionUsage = Schema.Struct({
  prompt_tokens: Schema.Number,
  completion_tokens: Schema.Number,
  total_tokens: Schema.Number
})

export const FinishReason = Schema.Literal("stop", "length", "content_filter")

export const Completion = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("chat.completion"),
  created: Schema.Int,
  model: Schema.String,
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      message: Schema.Struct({ role: Schema.Literal("assistant"), content: Schema.String }),
      finish_reason: FinishReason
    })
  ),
  usage: Schema.optional(CompletionUsage)
}).annotations({ identifier: "ChatCompletion" })

/** One event of a streamed answer; `[DONE]` follows the last. */
export const CompletionChunk = Schema.Struct({
  id: Schema.String,
  object: Schema.Literal("chat.completion.chunk"),
  created: Schema.Int,
  model: Schema.String,
  choices: Schema.Array(
    Schema.Struct({
      index: Schema.Int,
      delta: Schema.Struct({
        role: Schema.optional(Schema.Literal("assistant")),
        content: Schema.optional(Schema.String)
      }),
      finish_reason: Schema.NullOr(FinishReason)
    })
  ),
  usage: Schema.optional(Schema.NullOr(CompletionUsage))
}).annotations({ identifier: "ChatCompletionChunk" })
export type CompletionChunk = typeof CompletionChunk.Type

const Models = Schema.Struct({
  object: Schema.Literal("list"),
  data: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      object: Schema.Literal("model"),
      created: Schema.Int,
      owned_by: Schema.String
    })
  )
})

/** The agent for programs that speak to OpenAI's chat completions. */
export const Completions = HttpApiGroup.make("completions")
  .add(
    HttpApiEndpoint.get("models", "/v1/models")
      .addSuccess(Models)
      .annotate(OpenApi.Summary, "The agent, as the one model there is")
  )
  .add(
    HttpApiEndpoint.post("create", "/v1/chat/completions")
      .setHeaders(Schema.Struct({ [sessionHeader]: Schema.optional(Schema.String.pipe(Schema.maxLength(100))) }))
      .setPayload(CompletionBody)
      .addSuccess(Completion)
      .addError(NotFound)
      .addError(Conflict)
      .addError(TooMany)
      .addError(BadGateway)
      .annotateContext(
        answersWithEvents(
          "Asks the agent, as a model",
          "The last message is the question. Without `X-Hermes-Session-Id` the request stands alone: earlier messages " +
            "are its context, nobody can be asked for an approval, and the question is the model's as it stands, also where " +
            "it looks like a command. With it the session's own history goes on. " +
            "`model`, `tools`, `max_tokens`, `temperature` and the like are ignored: the agent has its own. " +
            "`stream: true` answers with `ChatCompletionChunk`s and a final `[DONE]`. " +
            "What was sent is not taken back: an answer that broke off on its way and is made again follows the line " +
            "`[The answer broke off; again from its beginning:]`, one whose beginning turned out to be the model's " +
            "thoughts `[That was thought; the answer:]`. Without `stream` the answer is the last one alone.",
          "ChatCompletionChunk"
        )
      )
  )
  .middleware(Authentication)
