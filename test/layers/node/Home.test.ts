import { FileSystem } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import * as AmbientEnvironment from "../../../src/fibers/AmbientEnvironment.js"
import * as HomeDirectory from "../../../src/layers/node/Home.js"
import { Home } from "../../../src/services/operation/Home.js"

const keyOf = (home: string) =>
  Effect.map(Home, ({ apiKey }) => Redacted.value(apiKey)).pipe(
    Effect.provide(HomeDirectory.layer(home).pipe(Layer.provide(AmbientEnvironment.layer({})))),
    Effect.provide(Layer.fresh(NodeContext.layer))
  )

describe("a home", () => {
  it.scopedLive("that several programs make at once has one key, the one that each of them uses", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const home = `${yield* fs.makeTempDirectoryScoped()}/new`
      const keys = yield* Effect.all(
        Array.from({ length: 8 }, () => keyOf(home)),
        { concurrency: "unbounded" }
      )
      expect((yield* fs.readDirectory(home)).toSorted()).toEqual([".env", "config.yaml", "workspace"])
      const text = yield* fs.readFileString(`${home}/.env`)
      expect(text.match(/^API_SERVER_KEY=.*$/gm)).toEqual([`API_SERVER_KEY=${keys[0]}`])
      expect(new Set(keys).size).toBe(1)
      yield* fs.writeFileString(`${home}/.env`, "OPENAI_API_KEY=mine")
      const others = yield* Effect.all(
        Array.from({ length: 8 }, () => keyOf(home)),
        { concurrency: "unbounded" }
      )
      expect(yield* fs.readFileString(`${home}/.env`)).toBe(`OPENAI_API_KEY=mine\nAPI_SERVER_KEY=${others[0]}\n`)
      expect(new Set(others).size).toBe(1)
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scopedLive("gets a key behind what its owner wrote, without a word of that being written anew", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const home = yield* fs.makeTempDirectoryScoped()
      yield* fs.writeFileString(`${home}/.env`, "OPENAI_API_KEY=mine", { mode: 0o644 })
      const { ino } = yield* fs.stat(`${home}/.env`)
      const key = yield* keyOf(home)
      expect(yield* fs.readFileString(`${home}/.env`)).toBe(`OPENAI_API_KEY=mine\nAPI_SERVER_KEY=${key}\n`)
      const after = yield* fs.stat(`${home}/.env`)
      expect([after.ino, after.mode & 0o777]).toEqual([ino, 0o600])
    }).pipe(Effect.provide(NodeContext.layer))
  )
})
