/** What stands in the log of a home: lines whose own words no fact displaces, and no secret. */
import { FileSystem } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Effect, FiberRef, Layer } from "effect"
import { closeSync, openSync, readFileSync } from "node:fs"
import path from "node:path"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as ConfigFile from "../../../src/layers/node/ConfigFile.js"
import * as HomeLayer from "../../../src/layers/node/Home.js"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as LogFile from "../../../src/layers/node/LogFile.js"
import * as Redactor from "../../../src/services/delivery/Redactor.js"

const logOf = (home: string) =>
  LogFile.layer({ stderr: "nothing" }).pipe(
    Layer.provide(Layer.succeed(Redactor.Redactor, Redactor.make(["a-secret-of-the-owner"]))),
    Layer.provide(ConfigFile.layer.pipe(Layer.provide(Ids.layer))),
    Layer.provide(HomeLayer.layer(home)),
    Layer.provide(AmbientEnvironment.layer({}))
  )

it.scoped("a line that comes when the log is closed goes into no other file", () =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const home = yield* fs.makeTempDirectoryScoped()
    const loggers = yield* Effect.scoped(Effect.provide(FiberRef.get(FiberRef.currentLoggers), logOf(home)))
    // Whoever opens a file now gets the number that the log had.
    const files = Array.from({ length: 16 }, (_, index) => path.join(home, `database-${index}`))
    const descriptors = files.map((file) => openSync(file, "w+"))
    yield* Effect.logWarning("late").pipe(Effect.locally(FiberRef.currentLoggers, loggers))
    descriptors.forEach(closeSync)
    expect(files.map((file) => readFileSync(file, "utf8")).join("")).toBe("")
    expect(readFileSync(path.join(home, "logs", "hermes.log"), "utf8")).not.toContain("late")
  }).pipe(Effect.provide(NodeContext.layer))
)

it.scoped("a fact that is called as a part of the line stands beside it, and secrets do not stand in it", () =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const home = yield* fs.makeTempDirectoryScoped()
    yield* Effect.logInfo("what happened").pipe(
      Effect.annotateLogs({ message: "evt_1", level: "high", turn: "trn_1", key: "a-secret-of-the-owner" }),
      Effect.provide(logOf(home))
    )
    const lines = (yield* fs.readFileString(`${home}/logs/hermes.log`)).trim().split("\n")
    expect(lines.map((line): unknown => JSON.parse(line)).at(-1)).toMatchObject({
      level: "INFO",
      message: "what happened",
      its_message: "evt_1",
      its_level: "high",
      turn: "trn_1"
    })
    expect(lines.join("\n")).not.toContain("a-secret-of-the-owner")
    expect((yield* fs.stat(`${home}/logs/hermes.log`)).mode & 0o777).toBe(0o600)
  }).pipe(Effect.provide(NodeContext.layer))
)
