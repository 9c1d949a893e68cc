/** Files that came in go when they are old or too many, and never while something may still open them. */
import { assert, describe, it } from "@effect/vitest"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { Effect, Layer, Schema, TestClock } from "effect"
import { existsSync, mkdirSync, utimesSync, writeFileSync } from "node:fs"
import * as path from "node:path"
import { Turn } from "../../../src/fibers/Turn.js"
import * as SqliteDatabase from "../../../src/layers/sqlite/Database.js"
import * as MediaRetention from "../../../src/layers/sqlite/MediaRetention.js"
import { Settings } from "../../../src/services/operation/Settings.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as TestSettings from "../../../src/testing/Settings.js"
import { turn } from "../delivery/support.js"
import { folder } from "./temporary.js"

const day = 86_400_000
const now = Date.UTC(2026, 10, 30)
const sizes = { small: 10, large: 600 }

/** Files by name and age in days. */
const place = (home: string, files: Readonly<Record<string, number>>) => {
  mkdirSync(path.join(home, "media/telegram"), { recursive: true })
  for (const [name, age] of Object.entries(files)) {
    const file = path.join(home, "media/telegram", name)
    writeFileSync(file, "x".repeat(name.includes("large") ? sizes.large : sizes.small))
    utimesSync(file, (now - age * day) / 1_000, (now - age * day) / 1_000)
  }
}

const run = (rows: ReadonlyArray<string>, files: Readonly<Record<string, number>>) =>
  Effect.gen(function* () {
    const home = yield* folder
    place(home, files)
    yield* TestClock.setTime(now)
    const settings = TestSettings.settings(home)
    yield* Effect.gen(function* () {
      const database = yield* Database
      yield* database.write(
        "test",
        Effect.flatMap(Transaction, (sql) => Effect.forEach(rows, (row) => sql.unsafe(row), { discard: true }))
      )
      yield* MediaRetention.forget
    }).pipe(
      Effect.provide(
        Layer.mergeAll(
          SqliteDatabase.layerMemory,
          NodeContext.layer,
          Layer.succeed(Settings, {
            ...settings,
            media: { ...settings.media, retentionDays: 30, maxTotalBytes: 1_000 }
          })
        )
      )
    )
    return Object.keys(files).filter((name) => existsSync(path.join(home, "media/telegram", name)))
  })

const delivery = (state: string, file: string): string =>
  `INSERT INTO deliveries (id, cause_kind, cause_id, platform, chat_id, part, parts, text, via, state, attempts,
    reply_to_person, is_cron, created_at, media) VALUES ('dlv_${file}', 'turn', '${file}', 'telegram', '1', 1, 1, '',
    'origin', '${state}', 0, 0, 0, 0, '[{"path":"/home/media/telegram/${file}"}]')`

describe("files that came in", () => {
  it.scoped("go when they are old, and the oldest of what is too much; what came just now stays", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* run([], { "aaaaaaaaaaaa-old.png": 31, "bbbbbbbbbbbb-new.png": 29 }), [
        "bbbbbbbbbbbb-new.png"
      ])
      assert.deepStrictEqual(
        yield* run([], { "aaaaaaaaaaaa-large.png": 3, "bbbbbbbbbbbb-large.png": 2, "cccccccccccc-new.png": 4 }),
        ["bbbbbbbbbbbb-large.png"]
      )
      assert.lengthOf(yield* run([], { "aaaaaaaaaaaa-large.png": 0, "bbbbbbbbbbbb-large.png": 0.01 }), 2)
    })
  )

  it.scoped("stay while a message that waits or a turn that runs may need them", () =>
    Effect.gen(function* () {
      const { identity } = yield* Schema.encode(Turn)(turn("1"))
      const files = {
        "aaaaaaaaaaaa-waits.png": 99,
        "bbbbbbbbbbbb-sent.png": 99,
        "cccccccccccc-asked.png": 99,
        "dddddddddddd-said.png": 99,
        "eeeeeeeeeeee-ended.png": 99
      }
      const kept = yield* run(
        [
          delivery("pending", "aaaaaaaaaaaa-waits.png"),
          delivery("sent", "bbbbbbbbbbbb-sent.png"),
          ...["1", "2"].map(
            (id) =>
              `INSERT INTO sessions (id, source, started_at, last_activity_at) VALUES ('ses_${id}', 'telegram', 0, 0)`
          ),
          `INSERT INTO turns (id, depth, identity, marker, origin, presence, state, started_at)
            VALUES ('trn_1', 0, '${JSON.stringify(identity)}', '{}', '{}', '{}', 'running', 0)`,
          `INSERT INTO messages (session_id, at, role, text) VALUES ('ses_1', 0, 'user', 'look: media/telegram/dddddddddddd-said.png')`,
          `INSERT INTO messages (session_id, at, role, text) VALUES ('ses_2', 0, 'user', 'look: media/telegram/eeeeeeeeeeee-ended.png')`,
          `INSERT INTO inbound_events (id, platform, bot_id, chat_id, session_key, event, arrival, state, accepted_at)
            VALUES ('evt_1', 'telegram', 'b', '1', 'k', '{"media":[{"path":"media/telegram/cccccccccccc-asked.png"}]}', '{}', 'accepted', 0)`
        ],
        files
      )
      assert.deepStrictEqual(kept, ["aaaaaaaaaaaa-waits.png", "cccccccccccc-asked.png", "dddddddddddd-said.png"])
    })
  )
})
