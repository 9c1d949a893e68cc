/** `clarify` (gateway.md 8.3): asks the person in the middle of the work. */
import { Effect, Layer, Schema } from "effect"
import { Clarifications } from "../../services/agent/Clarification.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"

const mostChoices = 4

const Parameters = Schema.Struct({
  question: Schema.NonEmptyString.pipe(Schema.maxLength(1_000)),
  choices: Schema.optional(
    Schema.Array(Schema.NonEmptyString.pipe(Schema.maxLength(200)))
      .pipe(Schema.maxItems(mostChoices))
      .annotations({
        description: `At most ${mostChoices}; your person may also answer in other words.`
      })
  ),
  multiple: Schema.optional(Schema.Boolean.annotations({ description: "Several choices may be taken." }))
})

const description =
  "Asks your person something and waits for the answer. Only when you cannot go on well without it, never for a permission: commands that need one ask by themselves. Without an answer in time you are told to go on as you think best."

/** Adds the tool to the registry. */
export const layer: Layer.Layer<never, never, ToolRegistry | Clarifications> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    const clarifications = yield* Clarifications
    yield* registry.add([
      Tool.make({
        name: "clarify",
        toolset: "clarify",
        description,
        parameters: Parameters,
        result: Tool.text("what the person answered, or that nobody did"),
        // It says itself that it waits: a restart asks no second time.
        gated: true,
        preview: ({ question }) => question,
        handler: ({ choices, multiple, question }, context) =>
          Effect.gen(function* () {
            yield* context.waiting
            const answer = yield* clarifications
              .ask({
                callId: context.callId,
                question: question.trim(),
                choices: [...new Set((choices ?? []).map((choice) => choice.trim()))],
                several: multiple ?? false
              })
              .pipe(
                Effect.mapError(
                  (error) => new Tool.ToolFailure({ text: error.message, refused: error._tag === "NobodyToAsk" })
                )
              )
            yield* context.started
            return answer === null
              ? "No answer came in time. Go on with your best guess and say what you assumed."
              : `The answer: ${answer}`
          })
      })
    ])
  })
)
