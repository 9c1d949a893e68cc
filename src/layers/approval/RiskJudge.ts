import { Effect, Layer, Option, Stream } from "effect"
import * as Field from "../../fibers/Field.js"
import * as Turn from "../../fibers/Turn.js"
import { type ModelPart, ModelRoute, saidWith } from "../../services/agent/ModelRoute.js"
import { ModelRoutes } from "../../services/agent/ModelRoutes.js"
import { Usage } from "../../services/agent/Usage.js"
import * as Risk from "../../services/approval/RiskJudge.js"
import { Settings } from "../../services/operation/Settings.js"
import { SessionId } from "../../services/session/Session.js"
import { Database } from "../../services/state/Database.js"

/** A person waits behind it. */
const inAll = "20 seconds"

/** An answer of one word needs no more; the rest is not read. */
const longestAnswer = 200

/**
 * Judges with `approvals.smart_model` at the configured provider, else with the model that the agent has. The offline
 * assistant judges nothing.
 */
export const layer: Layer.Layer<never, never, Settings | ModelRoute | ModelRoutes | Usage | Database> = Layer.effect(
  Risk.RiskJudge,
  Effect.gen(function* () {
    const settings = yield* Settings
    const routes = yield* ModelRoutes
    const configured = yield* ModelRoute
    const usages = yield* Usage
    const database = yield* Database
    const { mode, smartModel, smartPolicy } = settings.approvals
    const route =
      smartModel === null || mode !== "smart"
        ? configured
        : yield* routes.over({ ...settings.model, model: smartModel }, [])
    const isOffline = route.primary.provider === "offline"

    /** Its cost is the conversation's that asked. */
    const account = (finish: Extract<ModelPart, { readonly _tag: "Finish" }>) =>
      Effect.gen(function* () {
        const turn = Option.getOrNull(yield* Turn.currentOption)
        const session = turn === null ? null : Field.valueOrNull(turn.identity.sessionId)
        if (turn === null || session === null || finish.usage === null) return
        const job = turn.marker._tag === "Cron" ? turn.marker.job : null
        const spent = { ...finish.backend, task: "approval", calls: 1, tokens: finish.usage }
        yield* database.write("approval.usage", usages.add(SessionId.make(session), job, spent))
      }).pipe(Effect.ignoreLogged)

    const answer = (question: Parameters<Risk.RiskJudge["Type"]["judge"]>[0]) =>
      route
        .stream({
          systemPrompt: Risk.instructions(smartPolicy),
          messages: [{ _tag: "user", text: Risk.asked(question), platformMessageId: null }],
          tools: [],
          sessionKey: "approval"
        })
        .pipe(
          Stream.tap((part) => (part._tag === "Finish" ? account(part) : Effect.void)),
          Stream.runFold("", (text, part) =>
            part._tag === "Text" && text.length >= longestAnswer ? text : saidWith(text, part)
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
