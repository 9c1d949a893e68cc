/** The end of a gateway while somebody is asked something: nobody waits for the answer, and it counts after the restart. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { existsSync, readFileSync } from "node:fs"
import path from "node:path"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { Clarifications } from "../../../src/services/agent/Clarification.js"
import { Conversations } from "../../../src/services/conversation/Conversations.js"
import { Drain } from "../../../src/services/operation/Drain.js"
import { Database } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"
import { environment, folder } from "../support/repository.js"

/** What a person says is the command that the agent runs, or the question that it asks. */
const model = (request: ModelRequest): Testing.StepInput => {
  const last = request.messages.at(-1)
  if (last?._tag === "tool") return Testing.say(`it said: ${last.text}`)
  const text = request.messages.filter((message) => message._tag === "user").at(-1)?.text ?? ""
  return text.endsWith("?")
    ? Testing.call("clarify", { question: text, choices: ["red", "blue"] })
    : Testing.call("terminal", { command: text })
}

/** A platform in memory counts its messages anew: one of the second gateway's has a number of its own. */
const say = (text: string, messageId = "1") =>
  Effect.flatMap(Testing.AdapterInMemory, ({ only }) =>
    only.say({ text, in: only.profile.dm(1), by: only.profile.person(1), messageId })
  )

const heard = (text: string, count = 1) =>
  Effect.flatMap(Testing.AdapterInMemory, ({ only }) =>
    only.sent.waitFor(text, (sent) => sent.text.includes(text), { count, seconds: 20 })
  )

const rows = (sql: string) =>
  Effect.flatMap(Database, (database) => database.read("test", (client) => client.unsafe<Record<string, unknown>>(sql)))

const until = (sql: string) =>
  rows(sql).pipe(
    Effect.zipLeft(Effect.sleep("20 millis")),
    Effect.repeat({ until: (found) => found.length > 0 }),
    Effect.timeout("15 seconds")
  )

/** What the end of a gateway does first, until nothing works any more or `patience` is over. */
const drained = (patience: "10 seconds" | "600 millis") =>
  Effect.gen(function* () {
    const drain = yield* Drain
    const conversations = yield* Conversations
    yield* drain.begin({ restart: false })
    return yield* Effect.raceFirst(
      Effect.timeoutOption(drain.idle(["turn", "delegate", "api"]), patience),
      conversations.parkWaiting
    )
  })

const over = <A, E, B, E2>(
  directory: string,
  before: Effect.Effect<A, E, Layer.Layer.Success<ReturnType<typeof Testing.gateway>>>,
  after: Effect.Effect<B, E2, Layer.Layer.Success<ReturnType<typeof Testing.gateway>>>
) =>
  Effect.gen(function* () {
    const database = Layer.succeedContext(yield* Layer.build(Testing.SqliteInMemory))
    const gateway = Testing.gateway({
      model,
      database,
      environment,
      settings: { approvals: { mode: "manual" }, terminal: { workingDirectory: directory } }
    })
    const first = yield* Scope.make()
    yield* Effect.provide(before, yield* Layer.buildWithScope(gateway, first))
    yield* Scope.close(first, Exit.void)
    return yield* Effect.provide(after, yield* Layer.build(gateway))
  })

describe("a drain", () => {
  it.scopedLive("waits for nobody's yes: the command runs once, after the restart, when it has come", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const done = path.join(directory, "done")
      const stillOpen = rows(
        "SELECT a.state AS question, t.state AS turn FROM approvals a JOIN turns t ON t.id = a.turn_id"
      )
      yield* over(
        directory,
        Effect.gen(function* () {
          yield* say(`rm -rf ${directory}/nothing && echo one >> ${done}`)
          yield* until("SELECT 1 FROM approvals WHERE state = 'open'")
          expect((yield* drained("10 seconds"))._tag).toBe("Some")
          expect(yield* stillOpen).toEqual([{ question: "open", turn: "running" }])
        }),
        Effect.gen(function* () {
          yield* until("SELECT 1 FROM tool_calls WHERE state = 'waiting'")
          expect(yield* stillOpen).toEqual([{ question: "open", turn: "running" }])
          expect(existsSync(done)).toBe(false)
          yield* say("/approve", "901")
          yield* heard("it said:")
          expect(readFileSync(done, "utf8")).toBe("one\n")
          expect(yield* rows("SELECT state FROM approvals")).toEqual([{ state: "approved" }])
        })
      )
    })
  )

  it.scopedLive("waits for no answer to a question of the agent's either", () =>
    Effect.gen(function* () {
      yield* over(
        yield* folder,
        Effect.gen(function* () {
          yield* say("which colour?")
          yield* until("SELECT 1 FROM tool_calls WHERE state = 'waiting'")
          yield* heard("which colour?")
          expect((yield* drained("10 seconds"))._tag).toBe("Some")
        }),
        Effect.gen(function* () {
          yield* Effect.flatMap(Clarifications, ({ open }) => open).pipe(
            Effect.zipLeft(Effect.sleep("20 millis")),
            Effect.repeat({ until: (open) => open.length === 1 }),
            Effect.timeout("15 seconds")
          )
          yield* say("blue", "901")
          yield* heard("it said: The answer: blue")
        })
      )
    })
  )

  it.scopedLive("gives a command that has begun its time", () =>
    Effect.gen(function* () {
      const directory = yield* folder
      const done = path.join(directory, "done")
      yield* Effect.gen(function* () {
        yield* say(`sleep 1; echo one > ${done}`)
        yield* until("SELECT 1 FROM tool_calls WHERE state = 'started'")
        expect((yield* drained("600 millis"))._tag).toBe("None")
        expect(existsSync(done)).toBe(false)
        expect((yield* drained("10 seconds"))._tag).toBe("Some")
        expect(existsSync(done)).toBe(true)
        yield* heard("it said:")
      }).pipe(
        Effect.provide(
          Testing.gateway({
            model,
            environment,
            settings: { approvals: { mode: "off" }, terminal: { workingDirectory: directory } }
          })
        )
      )
    })
  )
})
