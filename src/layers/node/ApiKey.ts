import { Effect, Redacted } from "effect"
import { randomBytes } from "node:crypto"
import path from "node:path"
import type { Environment } from "../../fibers/AmbientEnvironment.js"
import * as DotEnv from "./DotEnv.js"
import * as PlainFile from "./PlainFile.js"

/** Its name in `.env` and in the environment. */
export const variable = "API_SERVER_KEY"

/** One that nobody had before. */
export const fresh: Effect.Effect<Redacted.Redacted> = Effect.sync(() =>
  Redacted.make(randomBytes(24).toString("base64url"))
)

/** The key of a home's API: the environment's, else the one in its `.env`; empty where neither has one. Makes nothing. */
export const read = (home: string, environment: Environment): Effect.Effect<Redacted.Redacted> =>
  Effect.gen(function* () {
    const given = environment[variable]
    if (given) return Redacted.make(given)
    const written = yield* Effect.orElseSucceed(PlainFile.text(path.join(home, ".env")), () => "")
    return Redacted.make(DotEnv.parse(written)[variable] ?? "")
  })
