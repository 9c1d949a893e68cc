/** The zone that a command shows times in. */
import * as FileSystem from "@effect/platform/FileSystem"
import { Effect } from "effect"
import path from "node:path"
import { Invocation } from "../invocation.js"

export const systemZone = Effect.gen(function* () {
  const { environment } = yield* Invocation
  const { name } = yield* Effect.promise(() => import("../../../layers/node/SystemZone.js"))
  return name(environment)
})

/** The home's zone, or the system's where there is no home: asking makes none. */
export const configuredZone = Effect.gen(function* () {
  const { environment, home } = yield* Invocation
  const fs = yield* FileSystem.FileSystem
  const isHome = yield* Effect.orElseSucceed(fs.exists(path.join(home, "config.yaml")), () => false)
  if (!isHome) return environment["HERMES_TIMEZONE"] || (yield* systemZone)
  const { timezone } = yield* Effect.promise(() => import("../settled.js"))
  return yield* timezone
})
