/** The owner's own commands that run a line in the shell, in the whole gateway in memory: what a chat sees, and what never runs. */
import { FileSystem } from "@effect/platform"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Schedule, Scope } from "effect"
import * as CronMarker from "../../../src/fibers/CronMarker.js"
import { Database } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)
const say = (text: string | Parameters<Testing.InMemoryAdapter["say"]>[0]) =>
  Effect.flatMap(only, (adapter) => adapter.say(text))
const heard = (text: string, count = 1) =>
  Effect.flatMap(only, (adapter) =>
    adapter.sent.waitFor(text, (sent) => sent.text.includes(text), { count, seconds: 20 })
  )
const last = Effect.map(
  Effect.flatMap(only, (adapter) => adapter.sent.all),
  (all) => all.at(-1)?.text
)

const commands = (lines: Readonly<Record<string, string>>): Testing.Settings.Changes => ({
  quickCommands: new Map(Object.entries(lines).map(([name, command]) => [name, { type: "exec", command } as const]))
})

const asked = Effect.map(
  Effect.flatMap(Testing.ScriptedModel, ({ requests }) => requests),
  (requests) => requests.length
)

const until = <E, R>(what: Effect.Effect<boolean, E, R>) =>
  what.pipe(
    Effect.repeat({ until: (done) => done, schedule: Schedule.spaced("10 millis") }),
    Effect.timeout("20 seconds")
  )

describe("a command of the owner's own that runs a line in the shell", () => {
  it.scopedLive("answers with what it printed, as code, and asks no model", () =>
    Effect.gen(function* () {
      yield* say("/Disk")
      yield* heard("*three* MEDIA:/etc/hosts")
      expect(yield* last).toBe("```\n*three* MEDIA:/etc/hosts\n```")
      yield* say("/my_own")
      yield* heard("```\nmine\n```\n/my-own ended with exit code 3.")
      yield* say("/quiet")
      yield* heard("/quiet is done; it printed nothing.")
      yield* say("/disk; touch never")
      yield* heard("/disk takes nothing behind it.")
      yield* say("/disk $(touch never)")
      yield* heard("/disk takes nothing behind it.", 2)
      yield* say("/help")
      yield* heard("/disk — runs: printf")
      expect(yield* asked).toBe(0)
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: [],
          settings: commands({
            disk: "printf '*three* MEDIA:/etc/hosts'",
            "my-own": "echo mine; exit 3",
            quiet: "true"
          })
        })
      )
    )
  )

  it.scopedLive("wins over the beginning of a command of ours, and never over its name", () =>
    Effect.gen(function* () {
      yield* say("/mod")
      yield* heard("```\nmine\n```")
      yield* say("/model")
      yield* heard("answers here")
      yield* say("/status")
      yield* heard("Idle.")
    }).pipe(
      Effect.provide(Testing.gateway({ model: [], settings: commands({ mod: "echo mine", status: "echo stolen" }) }))
    )
  )

  it.scopedLive("is told its chat by the bridge and no secret", () =>
    Effect.gen(function* () {
      yield* say("/who")
      yield* heard("telegram 500000001 none")
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: [],
          environment: { MY_API_KEY: "sk-secret", PATH: "/usr/bin:/bin" },
          settings: commands({
            who: 'echo "$HERMES_SESSION_PLATFORM $HERMES_SESSION_CHAT_ID ${MY_API_KEY:-none}"'
          })
        })
      )
    )
  )

  it.scopedLive(
    "is for those who may type it, and not begun in a pause, beside a turn or past what nobody may allow",
    () =>
      Effect.gen(function* () {
        const { profile } = yield* only
        const guest = { in: profile.dm(2), by: profile.person(2) }
        yield* say({ text: "/ask", ...guest })
        yield* heard("/ask is not for you here")
        // What asks where the agent wants it is the owner's own word here.
        yield* say("/ask")
        yield* heard("/ask ended with exit code 1 and printed nothing.")
        yield* say("/answers")
        yield* heard("/answers was not run: this is for you alone, outside of the gateway (answering approvals")
        yield* say("/pause")
        yield* heard("Paused by")
        yield* say("/ask")
        yield* heard("Paused by", 2)
        yield* say("/unpause")
        yield* heard("I go on")
        yield* say("hello")
        yield* until(Effect.map(asked, (count) => count === 1))
        yield* say("/ask")
        yield* heard("/ask can't run while I work.")
      }).pipe(
        Effect.provide(
          Testing.gateway({
            model: [Testing.hang()],
            settings: {
              ...commands({ ask: "rm -r /nowhere/at/all 2> /dev/null", answers: "hermes approvals approve 1" }),
              telegram: {
                commandTiers: {
                  dm: { admins: ["500000001"], allowed: [] },
                  group: { admins: null, allowed: [] }
                }
              }
            }
          })
        )
      )
  )

  it.scopedLive("is held to what a job is where nobody is present", () =>
    Effect.gen(function* () {
      const marker = CronMarker.cron({ job: "job-1", run: "run-1" })
      yield* say({ text: "/ask", arrival: { marker } })
      yield* heard("/ask was not run: nobody is there to answer for it")
      yield* say({ text: "/harmless", arrival: { marker } })
      yield* heard("```\nfine\n```")
    }).pipe(
      Effect.provide(
        Testing.gateway({ model: [], settings: commands({ ask: "rm -r /nowhere/at/all", harmless: "echo fine" }) })
      )
    )
  )

  it.scopedLive("is ended by /stop with all that it started, and says nothing more", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      yield* Effect.gen(function* () {
        yield* say("/slow")
        yield* until(fs.exists(`${folder}/begun`))
        yield* say("/stop")
        yield* heard("Stopped.")
        const database = yield* Database
        const states = Effect.map(
          database.read(
            "test.events",
            (sql) => sql<{ readonly state: string }>`SELECT state FROM inbound_events ORDER BY sequence`
          ),
          (rows) => rows.map(({ state }) => state).join(" ")
        )
        yield* until(Effect.map(states, (now) => now === "dropped answered"))
        expect((yield* (yield* only).sent.all).map(({ text }) => text)).toEqual(["Stopped."])
      }).pipe(
        Effect.provide(
          Testing.gateway({ model: [], settings: commands({ slow: `touch ${folder}/begun; sleep 25; echo late` }) })
        )
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scopedLive("is not run again by the start after a death in its middle, and whoever typed it is told", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const scope = yield* Effect.scope
      const database = Layer.succeedContext(yield* Layer.buildWithScope(Testing.SqliteInMemory, scope))
      const settings = commands({ count: `echo once >> ${folder}/ran; sleep 25` })
      const dying = yield* Scope.make()
      const dead = yield* Layer.buildWithScope(Testing.gateway({ model: [], database, settings }), dying)
      yield* Effect.provide(say("/count"), dead)
      yield* until(fs.exists(`${folder}/ran`))
      const alive = yield* Layer.buildWithScope(
        Testing.gateway({ model: [], database, settings, unclean: true }),
        scope
      )
      yield* Effect.provide(heard("The gateway ended while /count ran."), alive)
      expect(yield* fs.readFileString(`${folder}/ran`)).toBe("once\n")
      yield* Scope.close(dying, yield* Effect.exit(Effect.void))
    }).pipe(Effect.provide(NodeContext.layer))
  )
})
