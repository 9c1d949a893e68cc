/** A script as a JSON file, for the provider `scripted` of the built program. */
import { Schema } from "effect"
import { ModelError, ModelErrorReason } from "../../../services/agent/ModelRoute.js"
import * as Script from "./Script.js"

const Call = Schema.Struct({
  name: Schema.String,
  /** A value, or a text that is sent as it is. */
  arguments: Schema.optionalWith(Schema.Unknown, { default: () => ({}) }),
  id: Schema.optional(Schema.String)
})

const Failure = Schema.Struct({
  reason: ModelErrorReason,
  detail: Schema.optionalWith(Schema.String, { default: () => "the script says so" }),
  status: Schema.optionalWith(Schema.NullOr(Schema.Number), { default: () => null }),
  retryAfterMillis: Schema.optionalWith(Schema.NullOr(Schema.Number), { default: () => null })
})

/** One answer: it waits, thinks, says, calls tools, then ends, fails or hangs. */
const FileStep = Schema.Struct({
  delayMillis: Schema.optionalWith(Schema.NonNegative, { default: () => 0 }),
  reasoning: Schema.optional(Schema.String),
  /** A text, or its deltas. */
  text: Schema.optionalWith(Schema.Union(Schema.String, Schema.Array(Schema.String)), { default: () => [] }),
  everyMillis: Schema.optional(Schema.Positive),
  calls: Schema.optionalWith(Schema.Array(Call), { default: () => [] }),
  fail: Schema.optional(Failure),
  hang: Schema.optionalWith(Schema.Boolean, { default: () => false })
})
type FileStep = typeof FileStep.Type

export const ScriptFile = Schema.Struct({
  /** One step for each answer of a conversation. */
  steps: Schema.NonEmptyArray(FileStep),
  /** After the last step comes the first again; without it the last one is repeated. */
  loop: Schema.optionalWith(Schema.Boolean, { default: () => false })
})
export type ScriptFile = typeof ScriptFile.Type

/** Decodes the file's text. */
export const decode = Schema.decodeUnknown(Schema.parseJson(ScriptFile), { errors: "all", onExcessProperty: "error" })

export const toStep = (step: FileStep): Script.Step => {
  const texts = typeof step.text === "string" ? [step.text] : step.text
  const said: ReadonlyArray<Script.ScriptedPart> = [
    ...(step.reasoning === undefined ? [] : [{ _tag: "Reasoning", delta: step.reasoning } as const]),
    ...texts.map((delta) => ({ _tag: "Text", delta }) as const),
    ...step.calls.map(
      (call) =>
        ({
          _tag: "ToolCall",
          name: call.name,
          arguments: call.arguments,
          ...(call.id === undefined ? {} : { id: call.id })
        }) as const
    )
  ]
  const answer: Script.Step = {
    _tag: "Parts",
    parts: said,
    every: step.everyMillis ?? null,
    then: step.hang
      ? "hang"
      : step.fail === undefined
        ? "finish"
        : new ModelError({ provider: "scripted", ...step.fail })
  }
  return step.delayMillis === 0 ? answer : Script.delay(step.delayMillis, answer)
}
