import { FileSystem } from "@effect/platform"
import { Effect, Layer } from "effect"
import { JobRefused } from "../../services/schedule/JobError.js"
import { LifecycleGuard } from "../../services/schedule/LifecycleGuard.js"
import * as LifecycleScan from "../../services/schedule/LifecycleScan.js"
import { Scripts } from "../../services/schedule/Script.js"

const mostBytes = 1024 * 1024

const refuse = (detail: string) => new JobRefused({ reason: "lifecycle", detail })

const make = Effect.gen(function* () {
  const scripts = yield* Scripts
  const fs = yield* FileSystem.FileSystem

  const scan = (what: string, text: string) => {
    const found = LifecycleScan.find(text)
    return found === null
      ? Effect.void
      : refuse(
          `${what} would stop the gateway that runs it ("${found}"), which would start it again and again; nothing was stored`
        )
  }

  const script = (name: string) =>
    Effect.gen(function* () {
      const file = yield* scripts.locate(name)
      const info = yield* fs.stat(file)
      if (Number(info.size) > mostBytes)
        return yield* refuse(`script ${name} is larger than 1 MiB and cannot be looked through; nothing was stored`)
      yield* scan(`script ${name}`, yield* fs.readFileString(file))
    }).pipe(
      Effect.catchTags({
        ScriptRefused: (error) => refuse(error.message),
        SystemError: (error) => refuse(`script ${name} cannot be read (${error.reason}); nothing was stored`),
        BadArgument: (error) => refuse(`script ${name} cannot be read: ${error.message}`)
      })
    )

  return LifecycleGuard.of({
    check: (job) =>
      Effect.gen(function* () {
        yield* scan("the prompt", job.prompt)
        if (job.script !== null) yield* script(job.script)
        if (job.monitorScript !== null) yield* script(job.monitorScript)
      })
  })
})

/** Looks at the text of a job and of its script. */
export const layer: Layer.Layer<LifecycleGuard, never, Scripts | FileSystem.FileSystem> = Layer.effect(
  LifecycleGuard,
  make
)
