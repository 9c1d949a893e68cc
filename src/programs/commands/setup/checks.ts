/** The live checks of answers: each asks whom it is about. */
import { Effect, Layer, Option, type Redacted, Schema } from "effect"
import * as fs from "node:fs"
import path from "node:path"
import { seatsOf } from "../../../layers/models/Backend.js"
import * as Trial from "../../../layers/models/Trial.js"
import * as HomeDirectory from "../../../layers/node/Home.js"
import * as Account from "../../../layers/telegram/Account.js"
import * as ModelProblem from "../../../services/agent/ModelProblem.js"
import { keys } from "../../../services/operation/ConfigKey.js"
import { Settings, type SettingsShape } from "../../../services/operation/Settings.js"
import * as Setup from "../../../services/operation/Setup.js"
import { asking } from "../live.js"

/** An answer that did not hold, and what to do about it. */
export class NotHeld extends Schema.TaggedError<NotHeld>()("NotHeld", {
  what: Schema.String,
  detail: Schema.String,
  remedy: Schema.String
}) {
  override get message(): string {
    return `${this.what}: ${this.detail} ${this.remedy}`
  }
}

/** One short question; says how long the first word took. */
export const model = (answer: Setup.ModelAnswer, settings: SettingsShape) =>
  answer.provider === "offline"
    ? Effect.succeed("the built-in assistant, which is no language model")
    : Effect.flatMap(seatsOf(Setup.backendOf(settings, answer)), (seats) =>
        Effect.forEach(seats.slice(0, 1), (seated) => Trial.run(seated, settings))
      ).pipe(
        Effect.map(([millis = 0]) => millis),
        Effect.map((millis) => `${answer.provider}/${answer.model} answers (${(millis / 1_000).toFixed(1)} s)`),
        Effect.mapError((error) => {
          const { cause, next, remedy } = ModelProblem.describe(error, 0)
          return new NotHeld({
            what: `${answer.provider}/${answer.model}`,
            detail: cause,
            remedy: error.reason === "auth" ? "Check the key: it was not taken." : (remedy ?? next)
          })
        }),
        Effect.provide(
          // The home may not be there yet.
          asking.pipe(Layer.provide([Layer.succeed(Settings, settings), HomeDirectory.planned(settings.home)]))
        )
      )

/** The bot's name. */
export const telegram = (token: Redacted.Redacted, settings: SettingsShape): Effect.Effect<string, NotHeld> =>
  Effect.mapError(
    Account.find({ token, apiRoot: settings.telegram.apiRoot }),
    ({ detail, remedy }) => new NotHeld({ what: "telegram", detail, remedy })
  )

/** What is wrong with the name of a time zone; null when nothing is. */
export const zoneProblem = (zone: string): string | null =>
  Option.match(Option.getRight(keys.timezone.decode(zone)), {
    onNone: () => `"${zone}" is no time zone: an IANA name such as Europe/Lisbon`,
    onSome: () => null
  })

/** What is wrong with a working directory; null when nothing is. */
export const directoryProblem = (directory: string): string | null => {
  if (!path.isAbsolute(directory)) return `${directory} is no absolute path`
  const found = fs.statSync(directory, { throwIfNoEntry: false })
  if (found === undefined) return `${directory} is not there: make it first`
  return found.isDirectory() ? null : `${directory} is no directory`
}
