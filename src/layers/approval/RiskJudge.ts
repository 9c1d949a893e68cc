import { Effect, Layer, Stream } from "effect"
import { ModelRoute } from "../../services/agent/ModelRoute.js"
import { ModelRoutes } from "../../services/agent/ModelRoutes.js"
import * as Risk from "../../services/approval/RiskJudge.js"
import { Settings } from "../../services/operation/Settings.js"

/** A person waits behind it. */
const inAll = "20 seconds"

/** An answer of one word needs no more; the rest is not read. */
const longestAnswer = 200

/**
 * Judges with `approvals.smart_model` at the configured provider, else with the model that the agent has. The offline
 * assistant judges nothing.
 */
export const layer: Layer.Layer<never, never, Settings | ModelRoute | ModelRoutes> = Layer.effect(
  Risk.RiskJudge,
  Effect.gen(function* () {
    const settings = yield* Settings
    const routes = yield* ModelRoutes
    const configured = yield* ModelRoute
    const { mode, smartModel, smartPolicy } = settings.approvals
    const route =
      smartModel === null || mode !== "smart"
        ? configured
        : yield* routes.over({ ...settings.model, model: smartModel }, [])
    const isOffline = route.primary.provider === "offline"

    const answer = (question: Parameters<Risk.RiskJudge["Type"]["judge"]>[0]) =>
      route
        .stream({
          systemPrompt: Risk.instructions(smartPolicy),
          messages: [{ _tag: "user", text: Risk.asked(question), platformMessageId: null }],
          tools: [],
          sessionKey: "approval"
        })
        .pipe(
          Stream.runFold("", (text, part) =>
            part._tag === "Text" && text.length < longestAnswer ? text + part.delta : text
          ),
          Effect.timeout(inAll)
        )

    return {
      name: `${route.primary.provider}/${route.primary.model}`,
      judge: (question) =>
        isOffline || question.subject.length > Risk.longestJudged
          ? Effect.succeed<Risk.Risk>("unsure")
          : answer(question).pipe(
              Effect.map(Risk.riskOf),
              Effect.catchAllCause((cause) =>
                Effect.as(
                  Effect.logWarning("the risk could not be judged, so a person is asked", cause),
                  "unsure" as const
                )
              )
            )
    }
  })
)
