/** Checks that ask others: does the model answer, whose is the bot? */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Effect, Layer } from "effect"
import * as Trial from "../../layers/models/Trial.js"
import * as Checkup from "../../layers/node/Checkup.js"
import * as Ids from "../../layers/node/Ids.js"
import * as Account from "../../layers/telegram/Account.js"
import * as ModelProblem from "../../services/agent/ModelProblem.js"
import type { SettingsShape } from "../../services/operation/Settings.js"

const { fine, finding } = Checkup

/** The configured model and its fallbacks, each asked one short question. */
export const models = ({ model, fallbacks, timezone }: SettingsShape) =>
  Effect.forEach([model, ...fallbacks], (backend, index) => {
    const name = index === 0 ? "model" : `fallback ${index}`
    const called = `${backend.provider}/${backend.model}`
    if (backend.provider === "offline")
      return Effect.succeed(fine(name, `${called}, the built-in assistant, which is no language model`))
    return Trial.run(backend, timezone).pipe(
      Effect.map((millis) => fine(name, `${called} answers (${(millis / 1_000).toFixed(1)} s)`)),
      Effect.catchAll((error) => {
        const { cause, next } = ModelProblem.describe(error, 0)
        return Effect.succeed(finding(name, `${called}: ${cause}`, next))
      })
    )
  }).pipe(Effect.provide(Layer.merge(FetchHttpClient.layer, Ids.layer)))

/** The bot of the token; nothing where there is none. */
export const telegram = ({ telegram }: SettingsShape): Effect.Effect<ReadonlyArray<Checkup.Check>> =>
  !telegram.enabled || telegram.token === null
    ? Effect.succeed([])
    : Account.find({ token: telegram.token, apiRoot: telegram.apiRoot }).pipe(
        Effect.map((name) => [fine("telegram", `the token is ${name}'s`)]),
        Effect.catchAll((error) => Effect.succeed([finding("telegram", error.detail, error.remedy)]))
      )
