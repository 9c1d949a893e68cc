import * as OpenApi from "@effect/platform/OpenApi"
import type { Context } from "effect"

export const eventStream = "text/event-stream"

type Json = Record<string, unknown>

const isRecord = (value: unknown): value is Json => typeof value === "object" && value !== null

/** Says in the specification that the 200 answer may also be a stream of `ActivityEvent`s. */
export const answersWithEvents = (
  summary: string,
  description: string,
  schema = "ActivityEvent"
): Context.Context<never> =>
  OpenApi.annotations({
    summary,
    description,
    transform: (operation) => {
      const responses: unknown = operation["responses"]
      if (!isRecord(responses)) return operation
      const ok = responses["200"]
      if (!isRecord(ok)) return operation
      const content = isRecord(ok["content"]) ? ok["content"] : {}
      const streamed = { schema: { $ref: `#/components/schemas/${schema}` } }
      return {
        ...operation,
        responses: { ...responses, "200": { ...ok, content: { ...content, [eventStream]: streamed } } }
      }
    }
  })
