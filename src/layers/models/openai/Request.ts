/** A transcript as the input of OpenAI's Responses API. Nothing is stored there. */
import type * as Generated from "@effect/ai-openai/Generated"
import type { ModelRequest } from "../../../services/agent/ModelRoute.js"
import type { Message } from "../../../services/session/Transcript.js"
import * as Effort from "../Effort.js"
import * as Pictures from "../Pictures.js"
import { wireArgumentText, wireId, wireName } from "../WireCall.js"

export type Payload = typeof Generated.CreateResponse.Encoded
type Item = typeof Generated.InputItem.Encoded

const itemsOf = (message: Message, pictures: ModelRequest["pictures"]): ReadonlyArray<Item> => {
  switch (message._tag) {
    case "user": {
      const shown = Pictures.of(message, pictures)
      if (shown.length === 0) return [{ role: "user", content: message.text }]
      return [
        {
          role: "user",
          content: [
            ...shown.map((picture) => ({
              type: "input_image" as const,
              image_url: Pictures.dataUrl(picture),
              detail: "auto" as const
            })),
            { type: "input_text", text: message.text }
          ]
        }
      ]
    }
    case "tool":
      return [{ type: "function_call_output", call_id: wireId(message.callId), output: message.text }]
    case "assistant":
      return [
        ...(message.text === "" ? [] : [{ role: "assistant", content: message.text } as const]),
        ...message.toolCalls.map((call) => ({
          type: "function_call",
          call_id: wireId(call.id),
          name: wireName(call.name),
          arguments: wireArgumentText(call.arguments)
        }))
      ]
  }
}

export const payloadOf = (request: ModelRequest, model: string): Payload => ({
  model,
  ...(request.systemPrompt === "" ? {} : { instructions: request.systemPrompt }),
  input: request.messages.flatMap((message) => itemsOf(message, request.pictures)),
  ...(request.tools.length === 0
    ? {}
    : {
        tools: request.tools.map(
          (tool) =>
            ({
              type: "function",
              name: wireName(tool.name),
              description: tool.description,
              parameters: { ...tool.parameters },
              strict: false
            }) as const
        )
      }),
  ...(Effort.of(request) === null ? {} : { reasoning: { effort: Effort.of(request) } }),
  store: false,
  stream: true
})
