/**
 * Every typed command once with right and once with wrong input, in one conversation of a gateway in memory. The table
 * has a case for each command of the program's own list: one without fails, and is an error of types.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { type CommandName, commands } from "../../../src/services/conversation/SlashCommand.js"
import * as Testing from "../../../src/testing/index.js"

interface Case {
  /** What follows the name; nothing when left out. */
  readonly right?: string
  /** Null for silence. */
  readonly says: RegExp | null
  /** Left out for a command that takes nothing or anything: then its name is misspelt, and the answer names the right one. */
  readonly wrong?: string
  readonly complains?: RegExp
}

/** In the order of the conversation: what one makes the next ones find. */
const cases: { readonly [name in CommandName]: Case } = {
  help: { says: /\/status — what is going on here/ },
  status: { says: /Conversation: / },
  start: { says: null },
  whoami: { says: /You are Bob/ },
  stop: { says: /Nothing was running/ },
  new: { right: "Tea", says: /A new conversation/ },
  queue: { right: "think of tea", says: /heard: think of tea/, wrong: "", complains: /\/queue TEXT/ },
  steer: { right: "think of milk", says: /heard: think of milk/, wrong: "", complains: /\/steer TEXT/ },
  busy: {
    right: "queue",
    says: /does: queue/,
    wrong: "nap",
    complains: /\/busy interrupt, \/busy queue or \/busy steer/
  },
  approve: { right: "session", says: /no open question/, wrong: "perhaps", complains: /\/approve all/ },
  deny: { right: "not today", says: /no open question/ },
  agents: { says: /No helpers/, wrong: "praise", complains: /\/agents stop ID/ },
  sessions: { says: /Tea — 4 messages/ },
  resume: { right: "Tea", says: /Back in "Tea"/, wrong: "Coffee", complains: /"Coffee"; \/sessions lists/ },
  branch: { right: "More tea", says: /copy, "More tea"/ },
  undo: { right: "1", says: /Taken back.*"think of milk"/, wrong: "all", complains: /\/undo 2/ },
  retry: { says: /heard: think of tea/ },
  compress: { says: /too little/ },
  title: { right: "Cake", says: /now called "Cake"/ },
  context: { says: /of 200,000 tokens/ },
  usage: { says: /This conversation: .* tokens/ },
  cron: { right: "list", says: /No jobs/, wrong: "pause nobody", complains: /no job "nobody"/ },
  sethome: { says: /now the home channel/ },
  skills: { says: /no skills yet/ },
  model: { right: "other", says: /scripted\/other answers here/ },
  "reload-mcp": { says: /no MCP servers/ },
  pause: { right: "the garden burns", says: /Paused by Bob \(the garden burns\)/ },
  unpause: { says: /I go on/ },
  // Once asked for, nothing new is taken: its own misspelling gets no other answer either.
  restart: { says: /I'm restarting/, wrong: "", complains: /restarting/ }
}

const heard = (request: ModelRequest): Testing.StepInput =>
  Testing.say(`heard: ${request.messages.findLast((message) => message._tag === "user")?.text ?? ""}`)

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)

/** The next thing that is said there after a message. */
const answerTo = (text: string) =>
  Effect.gen(function* () {
    const { say, sent } = yield* only
    yield* sent.clear
    yield* say(text)
    return (yield* sent.waitFor(`an answer to ${text}`, () => true)).text
  })

describe("every typed command", () => {
  it.scopedLive("does what it is for, and says what is wrong", () =>
    Effect.gen(function* () {
      yield* answerTo("hello")
      for (const [name, { complains, right = "", says, wrong }] of Object.entries(cases)) {
        const command = `/${name} ${right}`.trim()
        if (says === null) yield* Effect.flatMap(only, ({ say }) => say(command))
        else expect(yield* answerTo(command), command).toMatch(says)
        const misspelt = wrong === undefined ? `/${name}x` : `/${name} ${wrong}`.trim()
        const named = complains ?? new RegExp(`I don't know /${name}x\\. Did you mean /${name}`)
        expect(yield* answerTo(misspelt), misspelt).toMatch(named)
      }
      expect(Object.keys(cases).toSorted()).toEqual(commands.map(({ name }) => name).toSorted())
    }).pipe(Effect.provide(Testing.gateway({ model: heard })))
  )
})
