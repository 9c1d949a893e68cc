/** One vocabulary for why an answer ended: `stop`, `tool_calls`, `length`, `content_filter`, else the server's own word. */
export const finishReason = (reason: string | null, hasCalls: boolean): string => {
  switch (reason) {
    case null:
    case "":
    case "stop":
    case "eos":
    case "end_turn":
    case "stop_sequence":
    case "tool_calls":
    case "tool_use":
    case "function_call":
    case "completed":
      return hasCalls ? "tool_calls" : "stop"
    case "max_tokens":
    case "max_length":
    case "max_output_tokens":
    case "model_context_window_exceeded":
      return "length"
    case "refusal":
      return "content_filter"
    default:
      return reason
  }
}
