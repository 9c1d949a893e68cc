/** What the owner sets for chats and people, in the whole gateway in memory: prompts, project files, quick commands, tiers, models. */
import { FileSystem } from "@effect/platform"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { ModelChoice } from "../../../src/services/agent/ModelChoice.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import * as Testing from "../../../src/testing/index.js"

const lastUser = (request: ModelRequest): string =>
  request.messages.filter((message) => message._tag === "user").at(-1)?.text ?? ""

const echo = (request: ModelRequest): Testing.StepInput => Testing.say(`you said: ${lastUser(request)}`)
const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)
const say = (text: string | Parameters<Testing.InMemoryAdapter["say"]>[0]) =>
  Effect.flatMap(only, (adapter) => adapter.say(text))
const heard = (text: string, count = 1) =>
  Effect.flatMap(only, (adapter) =>
    adapter.sent.waitFor(text, (sent) => sent.text.includes(text), { count, seconds: 20 })
  )
const prompts = Effect.map(
  Effect.flatMap(Testing.ScriptedModel, ({ requests }) => requests),
  (requests) => requests.map(({ systemPrompt }) => systemPrompt)
)

describe("what the owner sets", () => {
  it.scopedLive("is said in the prompt of its chat and of no other, and project files where work happens", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      yield* fs.writeFileString(`${folder}/AGENTS.md`, "Run the tests with make check.")
      yield* Effect.gen(function* () {
        const { profile } = yield* only
        yield* say({ text: "one", in: profile.dm(1), by: profile.person(1) })
        yield* heard("you said: one")
        yield* say({ text: "two", in: profile.dm(2), by: profile.person(2) })
        yield* heard("you said: two")
        const [first = "", second = ""] = yield* prompts
        expect(first).toContain("## For this chat (written by your owner)\nAnswer in French.")
        expect(second).not.toContain("French")
        for (const prompt of [first, second])
          expect(prompt).toContain("## AGENTS.md of the working directory\nRun the tests with make check.")
      }).pipe(
        Effect.provide(
          Testing.gateway({
            model: echo,
            environment: { TERMINAL_CWD: folder },
            settings: {
              channelOverrides: new Map([
                ["telegram:500000001", { model: null, prompt: "Answer in French.", quiet: false }]
              ])
            }
          })
        )
      )
    }).pipe(Effect.provide(NodeContext.layer))
  )

  it.scopedLive("stands behind a command of the owner's own, with what is typed behind it", () =>
    Effect.gen(function* () {
      yield* say("/standup and today")
      yield* heard("you said: Say what I did yesterday and today")
      yield* say("/me")
      yield* heard("You are Bob")
      yield* say("/loop")
      yield* heard("I don't know /loop")
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: echo,
          settings: {
            quickCommands: new Map([
              ["standup", { type: "alias", target: "Say what I did yesterday" }],
              ["me", { type: "alias", target: "/whoami" }],
              ["loop", { type: "alias", target: "/loop" }]
            ])
          }
        })
      )
    )
  )

  it.scopedLive("leaves commands to those who are named, and what is harmless to all", () =>
    Effect.gen(function* () {
      const { profile } = yield* only
      const [admin, guest] = [profile.person(1), profile.person(2)]
      yield* say({ text: "/pause", in: profile.dm(2), by: guest })
      yield* heard("/pause is not for you here")
      yield* say({ text: "/whoami", in: profile.dm(2), by: guest })
      yield* heard("You are")
      yield* say({ text: "/status", in: profile.dm(2), by: guest })
      yield* heard("Idle.")
      yield* say({ text: "hello", in: profile.dm(2), by: guest })
      yield* heard("you said: hello")
      yield* say({ text: "/pause", in: profile.dm(1), by: admin })
      yield* heard("Paused by")
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: echo,
          settings: {
            telegram: {
              commandTiers: {
                dm: { admins: ["500000001"], allowed: ["/status"] },
                group: { admins: null, allowed: [] }
              }
            }
          }
        })
      )
    )
  )

  const another = {
    provider: "openai-compatible" as const,
    model: "default",
    baseUrl: "http://127.0.0.1:9/v1",
    apiKey: Redacted.make("k"),
    contextWindow: 8_000
  }

  it.scopedLive(
    "says which model answers where: the conversation's own word, the chat's, everybody's, the settings'",
    () =>
      Effect.gen(function* () {
        const sessions = yield* SessionStore
        const choice = yield* ModelChoice
        yield* say("hello")
        yield* heard("you said: hello")
        yield* say("/model")
        yield* heard("scripted/script answers here (as configured)")
        yield* say("/context")
      yield* heard("of 200,000 tokens")
      yield* say("/model nonsense/ name")
        yield* heard("cannot be used")
        yield* say("/model anthropic/claude")
        yield* heard('the provider "anthropic" is not set up here')
        const [session] = yield* sessions.list({ owner: null, limit: 1 })
        yield* say("/model quick --global")
        yield* heard("openai-compatible/qwen3 answers everywhere")
        expect(yield* choice.of(session ?? null)).toMatchObject({ backend: { model: "qwen3" }, by: "all" })
        yield* say("/model script")
        yield* heard("scripted/script answers here.")
        expect(yield* choice.of(session ?? null)).toMatchObject({ backend: { model: "script" }, by: "session" })
        yield* say("again")
        yield* heard("you said: again")
        yield* say("/model reset")
        yield* heard("openai-compatible/qwen3 answers here.")
      }).pipe(
        Effect.provide(
          Testing.gateway({
            model: echo,
            settings: {
              modelAliases: new Map([["quick", "openai-compatible/qwen3"]]),
              cron: { backends: [another] }
            }
          })
        )
      )
  )
})
