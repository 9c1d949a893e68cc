/** `hermes cron incidents` and `hermes cron notepad`: how jobs fail, and what they remember. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import { Effect, Option, Schema } from "effect"
import { IncidentView, NoteView } from "../../../services/api/Jobs.js"
import { Desk } from "../../../services/operation/Desk.js"
import { IncidentState } from "../../../services/schedule/Incident.js"
import { desk } from "../desk.js"
import { usage } from "../failure.js"
import { limit } from "../options.js"
import { answer, brief, moment, plain, table } from "../output.js"
import { ownerOnly } from "../ownerOnly.js"
import { named } from "../named.js"

const state = Options.choice("state", IncidentState.literals).pipe(
  Options.withDescription("Only those in this state."),
  Options.optional
)

const rowsOf = (incidents: ReadonlyArray<IncidentView>): ReadonlyArray<string> =>
  table(
    ["id", "job", "state", "times", "last", "error"],
    incidents.map((incident) => [
      incident.id,
      brief(incident.jobName, 30),
      incident.state,
      String(incident.count),
      moment(incident.lastAt),
      brief(incident.error, 80)
    ]),
    "No incidents."
  )

const ack = Command.make("ack", { id: named("ID") }, ({ id }) =>
  Effect.zipRight(
    ownerOnly("an answer to an incident"),
    Effect.gen(function* () {
      const { jobs } = yield* Desk
      yield* answer(IncidentView, yield* jobs.acknowledge(id), (incident) => rowsOf([incident]))
    }).pipe(Effect.provide(desk))
  )
).pipe(Command.withDescription("You know of it: no more notices."))

const list = ({ limit, state }: { readonly limit: number; readonly state: Option.Option<IncidentState> }) =>
  Effect.gen(function* () {
    const { jobs } = yield* Desk
    const found = yield* jobs.incidents({ limit, state: Option.getOrNull(state) })
    yield* answer(Schema.Array(IncidentView), found, rowsOf)
  }).pipe(Effect.provide(desk))

export const incidents = Command.make("incidents", { limit: limit(50, 500), state }, list).pipe(
  Command.withDescription("How jobs fail, newest first."),
  Command.withSubcommands([
    Command.make("list", { limit: limit(50, 500), state }, list).pipe(Command.withDescription("All of them.")),
    ack
  ])
)

const shown = (notes: ReadonlyArray<NoteView>): ReadonlyArray<string> =>
  notes.length === 0 ? ["It remembers nothing."] : notes.map(({ key, value }) => plain(`${key}: ${value}`))

/** `list` (usual), `get KEY`, `set KEY VALUE`, `delete KEY`. */
export const notepad = Command.make(
  "notepad",
  {
    reference: named("JOB").pipe(Args.withDescription("Its id, or its exact name.")),
    words: Args.text({ name: "list|get KEY|set KEY VALUE|delete KEY" }).pipe(Args.repeated)
  },
  ({ reference, words: [verb = "list", key = "", ...rest] }) =>
    Effect.gen(function* () {
      const { jobs } = yield* Desk
      if (verb === "list") return yield* answer(Schema.Array(NoteView), yield* jobs.notes(reference), shown)
      if (key === "" || (verb === "set") !== rest.length > 0)
        return yield* usage("write it as: hermes cron notepad JOB list|get KEY|set KEY VALUE|delete KEY")
      switch (verb) {
        case "get": {
          const note = (yield* jobs.notes(reference)).find((each) => each.key === key)
          if (note === undefined) return yield* usage(`there is no note "${key}"`)
          return yield* answer(NoteView, note, ({ value }) => [plain(value)])
        }
        case "set":
          return yield* answer(Schema.Array(NoteView), yield* jobs.setNote(reference, key, rest.join(" ")), shown)
        case "delete":
          return yield* answer(
            Schema.Struct({ removed: Schema.Boolean }),
            { removed: yield* jobs.removeNote(reference, key) },
            ({ removed }) => [removed ? "Deleted." : `There was no note "${plain(key)}".`]
          )
        default:
          return yield* usage(`there is no \`notepad ${verb}\`; list, get, set and delete are`)
      }
    })
).pipe(Command.withDescription("What a job remembers from run to run."), Command.provide(desk))
