import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import { Effect, Schema } from "effect"
import path from "node:path"
import process from "node:process"
import { Care, Copied, Restore } from "../../services/state/Care.js"
import { care } from "../care.js"
import { megabytes } from "./backup.js"
import * as database from "./database.js"
import { answer } from "./output.js"
import { ownerOnly } from "./ownerOnly.js"

const from = Args.text({ name: "FILE" }).pipe(Args.withDescription("A file that `hermes backup` made."))

const Restored = Schema.Struct({ ...Copied.fields, from: Schema.String, kept: Schema.String })

export const command = Command.make("restore", { from }, ({ from }) =>
  Effect.gen(function* () {
    yield* ownerOnly("restore")
    const file = yield* database.file
    const kept = yield* database.keeping("restore")
    const source = path.resolve(process.cwd(), from)
    const copied = yield* Effect.flatMap(Care, (worker) =>
      database.withHome(worker.run(new Restore({ file, from: source, kept })))
    )
    yield* answer(Restored, { ...copied, from: source, kept }, ({ bytes, kept, messages, sessions }) => [
      `Restored ${sessions} conversations with ${messages} messages (${megabytes(bytes)}) from ${source}.`,
      `What was there before is kept in ${kept}.`
    ])
  })
).pipe(
  Command.withDescription(
    "Puts a backup in the place of the database, while no gateway runs; the present one is kept."
  ),
  Command.provide(care)
)
