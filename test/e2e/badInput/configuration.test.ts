/** A configuration that is wrong: said where and what, never a stack trace, and nobody is let in by mistake. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdirSync, readFileSync, rmSync } from "node:fs"
import path from "node:path"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as Command from "../support/Command.js"
import * as Gateway from "../support/Gateway.js"
import * as HomeDirectory from "../support/HomeDirectory.js"
import * as Loopback from "../support/Loopback.js"

const wrong = `
modle:
  name: x
model:
  context_length: large
timezone: Atlantis/Center
agent: 5
approvals:
  mode: sometimes
platforms:
  telegram:
    allowed_users: { first: 500000001 }
    allow_all_users: "yes, everybody"
    group_allowed_chats: all
`

const complaints = [
  "modle: no such setting; did you mean model?",
  'model.context_length: expected a whole number above 0, not "large"',
  "timezone: expected an IANA time zone such as Europe/Lisbon",
  "agent: expected a section of settings",
  'approvals.mode: expected manual, smart or off, not "sometimes"',
  "platforms.telegram.allowed_users: expected a list of ids, such as [123456789]",
  "platforms.telegram.allow_all_users: expected true or false",
  "platforms.telegram.group_allowed_chats: expected a list of ids",
  "HERMES_GATEWAY_BUSY_INPUT_MODE: expected interrupt, queue or steer"
]

describe("a wrong configuration", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "is complained about by path, the default is used, and who may write stays shut",
    () =>
      Effect.gen(function* () {
        const { home, model, person, telegram } = yield* Loopback.make(
          () => ModelServer.says("you should not hear this"),
          {
            config: wrong,
            env: { HERMES_GATEWAY_BUSY_INPUT_MODE: "panic" }
          }
        )
        const gateway = yield* Gateway.start(home)
        const log = readFileSync(path.join(home.directory, "logs", "hermes.log"), "utf8")
        for (const complaint of complaints) {
          expect(gateway.stderr()).toContain(complaint)
          expect(log).toContain(complaint.replaceAll('"', '\\"'))
        }
        expect(gateway.stderr()).not.toMatch(Command.stackTrace)

        // Somebody who is on no list that could be read is a stranger, also the one whom the owner meant to name.
        const stranger = person(1)
        yield* stranger.says("let me in")
        const answer = yield* stranger.hears(/.+/)
        expect(answer).not.toContain("you should not hear this")
        expect(answer).toMatch(/pairing/)
        const group = telegram.group(1)
        yield* telegram.say({ chat: group, from: telegram.user(1), text: "@hermes_test_bot and me here" })
        yield* stranger.says("still there?")
        yield* Effect.repeat(Effect.zipRight(Effect.sleep("20 millis"), telegram.pending), {
          until: (left) => left === 0
        })
        expect(yield* model.requests).toEqual([])

        const shown = yield* Command.run({ home, args: ["config", "get", "approvals.mode"] })
        expect(shown).toMatchObject({ code: 0, stdout: "manual\n" })
        const checked = yield* Command.run({ home, args: ["config", "check"] })
        expect(checked.code).toBe(1)
        expect(checked.stdout).toContain('model.context_length: expected a whole number above 0, not "large"')
        expect((yield* Gateway.stop(gateway)).code).toBe(0)
      }),
    300_000
  )

  it.scopedLive.each([
    ["an open bracket", "model:\n  name: [a\n", 3],
    ["a tab", "model:\n\tname: x\n", 2],
    ["a key twice", "timezone: UTC\ntimezone: UTC\n", 2],
    ["no map", "- a\n- b\n", 1],
    ["an open quote", 'timezone: "UTC\n', 2],
    ["two documents", "timezone: UTC\n---\ntimezone: UTC\n", 2]
  ] as const)(
    "that is no YAML ends the start with line and column, and nothing is made: %s",
    ([, config, line]) =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make({ config })
        const file = path.join(home.directory, "config.yaml")
        const ended = yield* Gateway.fails(home)
        expect(ended.code).toBe(78)
        expect(ended.stdout).toBe("")
        expect(ended.stderr).toMatch(/^hermes: \S+\n$|^hermes: [^\n]+\n$/)
        expect(ended.stderr).toMatch(new RegExp(`config\\.yaml:${line}:\\d+: `))
        expect(ended.stderr).not.toMatch(Command.stackTrace)
        expect(readFileSync(file, "utf8")).toBe(config)
        expect(existsSync(path.join(home.directory, "state.db"))).toBe(false)
        const checked = yield* Command.run({ home, args: ["config", "check"] })
        expect(checked.code).toBe(78)
        expect(checked.stderr).toMatch(new RegExp(`config\\.yaml:${line}:\\d+: `))
      }),
    120_000
  )

  it.scopedLive.each(["config.yaml", ".env"])(
    "that cannot be read ends the start and says which file: %s is a directory",
    (name) =>
      Effect.gen(function* () {
        const home = yield* HomeDirectory.make()
        const file = path.join(home.directory, name)
        rmSync(file, { force: true })
        mkdirSync(file)
        const ended = yield* Gateway.fails(home)
        expect(ended.code).toBe(78)
        expect(ended.stderr).toContain(file)
        expect(ended.stderr).not.toMatch(Command.stackTrace)
      }),
    120_000
  )
})
