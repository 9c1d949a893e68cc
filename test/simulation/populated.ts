/** A home that has lived: conversations, questions, helpers, jobs and deliveries in every state, left by a death. */
import Sqlite from "better-sqlite3"
import { Effect } from "effect"
import { chatOf, personOf } from "./Cast.js"
import { profiles } from "../../src/testing/AdapterInMemory.js"
import { World } from "./World.js"

/** Says `text` in a chat; not waited for. */
export const say = (world: World, chat: number, text: string, number: number) =>
  Effect.suspend(() => {
    const { place, platform } = chatOf(chat)
    const saying = world.adapters[platform].say({
      text,
      in: place,
      by: personOf(chatOf(chat), 0),
      messageId: profiles[platform].messageId(70_000 + number)
    })
    return Effect.zipRight(world.within(Effect.forkDaemon(Effect.ignore(saying))), world.settle)
  })

/** What is done in it, by chat; chat 7 hears nothing, so that nothing that is wrong here is its own. */
const life = [
  [0, "plain", 0],
  [0, "todo", 0],
  [1, "job", 1],
  [2, "job", 2],
  [2, "send", 5],
  [3, "delegate", 0],
  [3, "behind", 0],
  [4, "malformed", 0],
  [4, "broken", 0],
  [5, "gate", 0],
  [6, "slow", 0]
] as const

/** What no word of theirs brings about. */
const besides = (at: number) => [
  `INSERT INTO home_channels (platform, chat_id, set_at) VALUES ('telegram', '1', ${at})`,
  `INSERT INTO paired_users (platform, user_id, user_name, approved_at) VALUES ('slack', 'U9', 'nine', ${at})`,
  `INSERT INTO pairing_requests (platform, user_id, user_name, salt, hash, requested_at, expires_at)
    VALUES ('slack', 'U8', 'eight', 'aa', 'bb', ${at}, ${at + 86_400_000})`,
  `INSERT INTO notepad (job, key, value, updated_at) VALUES (1, 'seen', 'nothing', ${at})`,
  `INSERT INTO incidents (id, job, kind, error, state, count, first_at, last_at)
    VALUES ('inc_1', 1, 'run_failed', 'it failed', 'alerted', 1, ${at}, ${at})`,
  `INSERT INTO wakes (job, at, kind, attempt, context) VALUES (2, ${at}, 'manual', 0, NULL)`
]

/** Lives it and copies what its death leaves to `file`, its log folded in. */
export const make = (file: string): Effect.Effect<void> =>
  Effect.gen(function* () {
    const world = new World(1)
    yield* world.begin(false)
    for (const [index, [chat, verb, argument]] of life.entries()) {
      if (verb === "slow" || verb === "gate") continue
      yield* say(world, chat, `#${index} ${verb} ${argument}`, index)
      yield* world.pass(10_000)
    }
    yield* world.pass(4 * 60_000)
    for (const [index, [chat, verb, argument]] of life.entries())
      if (verb === "slow" || verb === "gate") yield* say(world, chat, `#${index} ${verb} ${argument}`, index)
    yield* say(world, 3, "#90 behind 0", 90)
    yield* world.pass(1_000)
    world.planCut({ writes: 1, when: "after" })
    yield* say(world, 0, "#91 plain 0", 91)
    const left = world.left
    yield* world.end
    const database = new Sqlite(left)
    const at = world.time
    for (const statement of besides(at)) database.exec(statement)
    database.pragma("wal_checkpoint(TRUNCATE)")
    yield* Effect.promise(() => database.backup(file))
    database.close()
    world.remove()
  })
