import * as NodeContext from "@effect/platform-node/NodeContext"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as Ids from "../../../src/layers/node/Ids.js"
import { sourceOf } from "../../../src/layers/http/Surfaces.js"
import * as ChannelDirectoryLayer from "../../../src/layers/sqlite/ChannelDirectory.js"
import * as SessionStoreLayer from "../../../src/layers/sqlite/SessionStore.js"
import * as TranscriptLayer from "../../../src/layers/sqlite/Transcript.js"
import { ChannelDirectory } from "../../../src/services/adapter/ChannelDirectory.js"
import { SessionId } from "../../../src/services/session/Session.js"
import { SessionKey } from "../../../src/services/session/SessionKey.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { Database } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"

const stores = Layer.mergeAll(ChannelDirectoryLayer.layer, SessionStoreLayer.layer, TranscriptLayer.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Testing.SqliteInMemory, Ids.layer, Testing.Settings.layer())),
  Layer.provide(NodeContext.layer)
)

describe("the chats of the page", () => {
  it.scopedLive("are its conversations under their titles, whether anybody has written in them or not", () =>
    Effect.gen(function* () {
      const sessions = yield* SessionStore
      const database = yield* Database
      const open = (name: string) =>
        Effect.gen(function* () {
          const id = SessionId.make(name)
          const origin = sourceOf({ surface: "web", sessionId: id, profile: "default", uiSessionId: null })
          const key = SessionKey.make(`agent:main:web:dm:${name}`)
          yield* database.write(
            "test.open",
            sessions.create({ id, key, source: "web", origin, parentId: null, hidden: false, model: null }),
            "transcript"
          )
          return { id, key, origin }
        })
      yield* open("ses_silent")
      const garden = yield* open("ses_garden")
      yield* sessions.setTitle(garden.id, "The garden", "user")
      const names = Effect.flatMap(ChannelDirectory, (directory) =>
        Effect.map(directory.list(["web"], 10), (chats) =>
          Object.fromEntries(chats.map(({ chatId, name }) => [chatId, name]))
        )
      )
      assert.deepStrictEqual(yield* names, { ses_silent: null, ses_garden: "The garden" })
      const { fresh } = yield* sessions.reset(garden.key, garden.origin)
      yield* sessions.setTitle(fresh.id, "The house", "user")
      assert.deepStrictEqual(yield* names, { ses_silent: null, ses_garden: "The house" })
      assert.deepStrictEqual(yield* Effect.flatMap(ChannelDirectory, ({ list }) => list(["telegram"], 10)), [])
    }).pipe(Effect.provide(stores))
  )
})
