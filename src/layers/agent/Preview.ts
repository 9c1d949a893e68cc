/** A call or its result in one line, fit to be shown: what is secret in it is not there. */
import { Effect } from "effect"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import * as ToolPlan from "../../services/agent/ToolPlan.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import type { ToolCallPart } from "../../services/session/Transcript.js"

const longest = 200

export const ofText: Effect.Effect<(text: string) => string, never, Redactor> = Effect.map(
  Redactor,
  (redactor) => (text) =>
    redactor
      .text(text.slice(0, 4 * longest))
      .replace(/\s+/g, " ")
      .slice(0, longest)
)

/** What calls of earlier turns were about, as it was told while they ran; undefined where no such tool is known any more. */
export const ofStored: Effect.Effect<
  Effect.Effect<(call: ToolCallPart) => string | undefined>,
  never,
  Redactor | ToolRegistry
> = Effect.zipWith(ofText, ToolRegistry, (preview, registry) =>
  Effect.map(registry.all, (tools) => (call) => {
    const tool = ToolPlan.named(call.name, tools)
    return tool === undefined ? undefined : preview(tool.preview(call.arguments))
  })
)
