/** What a model said in one call, whole. Pure. */
import type { BackendName, ModelPart } from "../../services/agent/ModelRoute.js"
import type { TokenUsage } from "../../services/agent/TokenUsage.js"
import type { StoredMessage, ToolCallPart } from "../../services/session/Transcript.js"

export interface Spoken {
  readonly text: string
  /** Have words of it been shown, also if they were taken back? */
  readonly shown: boolean
  readonly reasoning: string
  readonly toolCalls: ReadonlyArray<ToolCallPart>
  readonly finishReason: string
  readonly usage: TokenUsage | null
  readonly backend: BackendName | null
}

export const silence: Spoken = {
  text: "",
  shown: false,
  reasoning: "",
  toolCalls: [],
  finishReason: "stop",
  usage: null,
  backend: null
}

export const withPart = (spoken: Spoken, part: ModelPart): Spoken => {
  switch (part._tag) {
    case "Text":
      return { ...spoken, text: spoken.text + part.delta, shown: true }
    case "Reasoning":
      return { ...spoken, reasoning: spoken.reasoning + part.delta }
    case "Unsaid":
      return { ...spoken, text: "", reasoning: spoken.reasoning + spoken.text }
    case "ToolCall":
      return {
        ...spoken,
        toolCalls: [...spoken.toolCalls, { id: part.id, name: part.name, arguments: part.arguments }]
      }
    case "Finish":
      return { ...spoken, finishReason: part.reason, usage: part.usage, backend: part.backend }
  }
}

/** Calls with the id of an earlier one of the turn get an id of their own: results are matched by id. */
export const uniqueCalls = (spoken: Spoken, rows: ReadonlyArray<StoredMessage>, turnId: string): Spoken => {
  if (spoken.toolCalls.length === 0) return spoken
  const seen = new Set(
    rows.flatMap((row) =>
      row.turnId === turnId && row.message._tag === "assistant" ? row.message.toolCalls.map((call) => call.id) : []
    )
  )
  return {
    ...spoken,
    toolCalls: spoken.toolCalls.map((call) => {
      let id = call.id === "" ? `call-${seen.size}` : call.id
      while (seen.has(id)) id = `${id}-${seen.size}`
      seen.add(id)
      return { ...call, id }
    })
  }
}
