/** `hermes --version`: which program this is, and whether its home was written by a newer one. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as FileSystem from "@effect/platform/FileSystem"
import { Effect, Layer, Schema } from "effect"
import path from "node:path"
import * as Database from "../../layers/sqlite/Database.js"
import { version } from "../../services/operation/Version.js"
import { Invocation } from "./invocation.js"
import { answer } from "./output.js"

const Version = Schema.Struct({
  version: Schema.String,
  /** What the home says of a newer program that wrote it; null where none did. */
  newer: Schema.NullOr(Schema.String)
})

/** A home that cannot be read is no news here: `doctor` says why. */
const newer = Effect.gen(function* () {
  const { home } = yield* Invocation
  const fs = yield* FileSystem.FileSystem
  const file = path.join(home, "state.db")
  if (!(yield* Effect.orElseSucceed(fs.exists(file), () => false))) return null
  return yield* Layer.build(Database.layerReadOnly({ file })).pipe(
    Effect.as(null),
    Effect.catchAll(({ detail, reason }) => Effect.succeed(reason === "newer" ? `${file}: ${detail}` : null)),
    Effect.scoped
  )
})

/** Prints the version, and a second line where the home needs a newer program. */
export const show = Effect.flatMap(newer, (found) =>
  answer(Version, { version, newer: found }, () => [version, ...(found === null ? [] : [found])])
).pipe(Effect.provide(NodeFileSystem.layer))
