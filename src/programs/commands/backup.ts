import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import { Effect, Option } from "effect"
import path from "node:path"
import process from "node:process"
import { Backup, Care, Copied } from "../../services/state/Care.js"
import { care } from "../care.js"
import * as database from "./database.js"
import { Invocation } from "./invocation.js"
import { answer } from "./output.js"
import { ownerOnly } from "./ownerOnly.js"

const to = Args.text({ name: "FILE" }).pipe(
  Args.withDescription("Where it goes; a new file in the home's `backups` when left out."),
  Args.optional
)

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

export const command = Command.make("backup", { to }, ({ to }) =>
  Effect.gen(function* () {
    yield* ownerOnly("backup")
    const { home } = yield* Invocation
    const file = yield* database.file
    const target = Option.match(to, {
      onNone: () => Effect.map(database.stamp, (at) => path.join(home, "backups", `state.db.${at}`)),
      onSome: (name) => Effect.succeed(path.resolve(process.cwd(), name))
    })
    const copied = yield* Effect.flatMap(Care, (worker) =>
      Effect.flatMap(target, (name) => worker.run(new Backup({ file, to: name })))
    )
    yield* answer(Copied, copied, ({ bytes, file, messages, sessions }) => [
      `Backed up ${sessions} conversations with ${messages} messages to ${file} (${megabytes(bytes)}), and read it through.`,
      "The rest of the home is plain files: config.yaml, .env, SOUL.md, memories, skills and scripts."
    ])
  })
).pipe(
  Command.withDescription(
    "Copies the database as it is at this moment, also while the gateway runs, and verifies the copy."
  ),
  Command.provide(care)
)
