/** Checks that ask others: does the model answer, whose is the bot? */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Effect, Layer } from "effect"
import { seatsOf } from "../../layers/models/Backend.js"
import * as Trial from "../../layers/models/Trial.js"
import * as Redactor from "../../layers/delivery/Redactor.js"
import * as Checkup from "../../layers/node/Checkup.js"
import * as Ids from "../../layers/node/Ids.js"
import * as Account from "../../layers/telegram/Account.js"
import * as ModelProblem from "../../services/agent/ModelProblem.js"
import type { ModelBackend, SettingsShape } from "../../services/operation/Settings.js"
import { logins } from "../logins.js"

const { fine, finding } = Checkup

/** What it takes to ask a model outside of a gateway. */
export const asking = logins.pipe(
  Layer.provide(Redactor.layer),
  Layer.provideMerge(Layer.merge(FetchHttpClient.layer, Ids.layer))
)

const named = (backend: ModelBackend, index: number) =>
  Effect.map(seatsOf(backend), (seats) =>
    seats.map((seated, key) => ({
      seated,
      name: `${index === 0 ? "model" : `fallback ${index}`}${key === 0 ? "" : `, key ${key + 1}`}`
    }))
  )

/** The configured model and its fallbacks, each asked one short question with each of its keys. */
export const models = (settings: SettingsShape) =>
  Effect.flatMap(Effect.forEach([settings.model, ...settings.fallbacks], named), (all) =>
    Effect.forEach(all.flat(), ({ name, seated }) => {
      const { backend } = seated
      const called = `${backend.provider}/${backend.model}`
      if (backend.provider === "offline")
        return Effect.succeed(fine(name, `${called}, the built-in assistant, which is no language model`))
      return Trial.run(seated, settings).pipe(
        Effect.map((millis) => fine(name, `${called} answers (${(millis / 1_000).toFixed(1)} s)`)),
        Effect.catchAll((error) => {
          const { cause, next, remedy } = ModelProblem.describe(error, 0)
          return Effect.succeed(finding(name, `${called}: ${cause}`, remedy ?? next))
        })
      )
    })
  ).pipe(Effect.provide(asking))

/** The bot of the token; nothing where there is none. */
export const telegram = ({ telegram }: SettingsShape): Effect.Effect<ReadonlyArray<Checkup.Check>> =>
  !telegram.enabled || telegram.token === null
    ? Effect.succeed([])
    : Account.find({ token: telegram.token, apiRoot: telegram.apiRoot }).pipe(
        Effect.map((name) => [fine("telegram", `the token is ${name}'s`)]),
        Effect.catchAll((error) => Effect.succeed([finding("telegram", error.detail, error.remedy)]))
      )
