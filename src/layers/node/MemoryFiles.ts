import { FileSystem, Path } from "@effect/platform"
import { Clock, Effect, Layer } from "effect"
import { Memory, MemoryRefused, type MemoryState, MemoryUnusable } from "../../services/agent/Memory.js"
import * as MemoryText from "../../services/agent/MemoryText.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"
import * as Directories from "./Directories.js"
import * as FileReplacement from "./FileReplacement.js"
import * as PlainFile from "./PlainFile.js"

const names: { readonly [target in MemoryText.MemoryTarget]: string } = { memory: "MEMORY.md", user: "USER.md" }
const ownerOnlyDirectory = 0o700
const ownerOnlyFile = 0o600
/** Another process or the person may write at the same moment: then it is read again. */
const mostTries = 5

const make = Effect.gen(function* () {
  const settings = yield* Settings
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const ids = yield* Ids
  const turns = yield* Effect.makeSemaphore(1)
  const directory = path.join(settings.home, "memories")
  const limits = { memory: settings.memory.charLimit, user: settings.memory.userCharLimit }
  const fileOf = (target: MemoryText.MemoryTarget) => path.join(directory, names[target])

  const unusable = (file: string) => (error: { readonly message: string }) =>
    new MemoryUnusable({ file, detail: error.message })

  const read = (file: string) =>
    PlainFile.text(file).pipe(
      Effect.catchIf(
        (error) => error._tag === "SystemError" && error.reason === "NotFound",
        () => Effect.succeed("")
      ),
      Effect.mapError(unusable(file))
    )

  const write = (file: string, text: string) =>
    Effect.gen(function* () {
      yield* Effect.try({
        try: () => Directories.make(directory, ownerOnlyDirectory),
        catch: (error) => unusable(file)(error instanceof Error ? error : { message: String(error) })
      })
      yield* FileReplacement.replace(file, new TextEncoder().encode(text), {
        suffix: yield* ids.next("call"),
        mode: ownerOnlyFile
      }).pipe(Effect.provideService(FileSystem.FileSystem, fs), Effect.mapError(unusable(file)))
    })

  /** What would be lost with a change is kept beside it. */
  const keepDrifted = (file: string, text: string) =>
    Effect.gen(function* () {
      const copy = `${file}.bak.${yield* Clock.currentTimeMillis}`
      yield* Effect.mapError(fs.writeFileString(copy, text, { mode: ownerOnlyFile }), unusable(file))
      return yield* new MemoryRefused({
        full: false,
        problem: `${file} is not in its form (entries between lines of §), so it is only added to; a copy is in ${copy}. Its person should look at it.`
      })
    })

  const attempt = (
    target: MemoryText.MemoryTarget,
    operations: ReadonlyArray<MemoryText.Operation>,
    tries: number
  ): Effect.Effect<MemoryState, MemoryRefused | MemoryUnusable> =>
    Effect.gen(function* () {
      const file = fileOf(target)
      const limit = limits[target]
      const text = yield* read(file)
      const drifted = MemoryText.hasDrifted(text, limit)
      if (drifted && operations.some(({ action }) => action !== "add")) return yield* keepDrifted(file, text)
      const before = MemoryText.parse(text)
      const applied = MemoryText.apply(before, operations, limit)
      if (applied._tag === "Refused") return yield* new MemoryRefused(applied)
      const { entries, notes } = applied
      const state = { entries, used: MemoryText.used(entries), limit, notes }
      if (MemoryText.render(entries) === MemoryText.render(before)) return state
      if ((yield* read(file)) !== text)
        return tries <= 1
          ? yield* new MemoryUnusable({ file, detail: "somebody else keeps writing it; try again" })
          : yield* attempt(target, operations, tries - 1)
      const added = MemoryText.render(entries.slice(before.length))
      yield* write(file, `${drifted ? `${text.trimEnd()}\n§\n${added}` : MemoryText.render(entries)}\n`)
      return state
    })

  return Memory.of({
    change: Effect.fn("Memory.change")((target, operations) =>
      turns.withPermits(1)(Effect.uninterruptible(attempt(target, operations, mostTries)))
    ),
    snapshot: Effect.forEach(["memory", "user"] as const, (target) =>
      read(fileOf(target)).pipe(
        Effect.map((text) => MemoryText.snapshot(target, text, limits[target])),
        Effect.catchAll((error) =>
          Effect.as(Effect.logWarning("what the agent remembers could not be read", error), "")
        )
      )
    ).pipe(Effect.map((parts) => parts.filter((part) => part !== "").join("\n\n")))
  })
})

/** Memory as two files in the home's `memories`. */
export const layer: Layer.Layer<Memory, never, Settings | FileSystem.FileSystem | Path.Path | Ids> = Layer.effect(
  Memory,
  make
)
