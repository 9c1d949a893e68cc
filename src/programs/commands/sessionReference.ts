/** Which session a command is about. */
import * as Args from "@effect/cli/Args"
import { Effect } from "effect"
import { Desk } from "../../services/operation/Desk.js"
import { failed } from "./failure.js"
import { named } from "./named.js"
import { shortened } from "../../services/operation/Shortened.js"

export const reference = named("SESSION").pipe(Args.withDescription("Its id, the beginning of its id, or its title."))

/** How many sessions of each list are looked through for a title or the beginning of an id. */
const searched = 500

/** The one session that is meant; nobody guesses. */
export const find = (wanted: string) =>
  Effect.gen(function* () {
    const { sessions } = yield* Desk
    const exact = yield* sessions.get(wanted).pipe(
      Effect.catchIf(
        (error) => error._tag === "Refused",
        () => Effect.succeed(null)
      )
    )
    if (exact !== null) return exact
    const lists = yield* Effect.forEach([false, true], (archived) => sessions.list({ limit: searched, archived }))
    const fitting = lists.flat().filter((session) => session.title === wanted || session.id.startsWith(wanted))
    const [only, another] = fitting
    if (only === undefined)
      return yield* failed(
        `there is no session "${shortened(wanted)}"; \`hermes sessions list\` shows them, with --archived those that are put away`
      )
    if (another !== undefined)
      return yield* failed(
        `"${shortened(wanted)}" fits several sessions: ${fitting.map((session) => session.id).join(", ")}`
      )
    return only
  })
