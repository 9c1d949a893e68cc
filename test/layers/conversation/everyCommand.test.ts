/**
 * Every typed command once with right and once with wrong input, in one conversation of a gateway in memory. The table
 * has a case for each command of the program's own list: one without is an error of types.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type CommandName, commands } from "../../../src/services/conversation/SlashCommand.js"
import * as Testing from "../../../src/testing/index.js"

interface Case {
  readonly right?: string
  readonly says: RegExp
  /** Left out for a command that takes nothing: then its name is misspelt, and the answer names the right one. */
  readonly wrong?: string
  readonly complains?: RegExp
}

/** In the order of `/help`, which is also that of the conversation. */
const cases: { readonly [name in CommandName]: Case } = {
  help: { says: /\/status — what is going on here/ },
  status: { says: /Conversation: / },
  stop: { says: /nothing|stopped/i },
  new: { right: "Tea", says: /new conversation|Tea/i },
  queue: { right: "think of tea", says: /heard: think of tea/, wrong: "", complains: /queue/ },
  steer: { right: "think of milk", says: /heard: think of milk/, wrong: "", complains: /steer/ },
  busy: { right: "queue", says: /queue/, wrong: "nap", complains: /\/busy interrupt, \/busy queue or \/busy steer/ },
  approve: { right: "session", says: /no open question/i, wrong: "perhaps", complains: /\/approve all/ },
  deny: { right: "not today", says: /no open question/i },
  agents: { says: /No helpers/, wrong: "praise", complains: /\/agents stop ID/ },
  sessions: { says: /\(ses_/ },
  resume: { right: "Tea", says: /Back in "Tea"/, wrong: "Coffee", complains: /Coffee/ },
  branch: { right: "More tea", says: /copy, "More tea"/ },
  undo: { right: "1", says: /Taken back/, wrong: "all", complains: /\/undo 2/ },
  retry: { says: /heard: / },
  compress: { says: /too little/, wrong: "here many", complains: /too little|\/compress/ },
  title: { right: "Cake", says: /now called "Cake"/, wrong: "x".repeat(400), complains: /./ },
  cron: { right: "list", says: /No jobs/, wrong: "pause nobody", complains: /nobody/ },
  sethome: { says: /now the home channel/ },
  pause: { right: "the garden burns", says: /the garden burns/ },
  unpause: { says: /I go on/ },
  restart: { says: /./ },
  skills: { says: /no skills yet/ },
  model: { says: /\// , wrong: "oracle/of-delphi", complains: /oracle/ },
  context: { says: /./ },
  "reload-mcp": { says: /no MCP servers/ },
  usage: { says: /token/i },
  whoami: { says: /You are / },
  start: { says: /^$/ }
}

const model = (): Testing.StepInput => Testing.say("heard")

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)

/** What is answered to a message; empty where nothing is. */
const answerTo = (text: string) =>
  Effect.gen(function* () {
    const adapter = yield* only
    const before = (yield* adapter.sent.all).length
    yield* adapter.say(text)
    const next = yield* adapter.sent.waitFor(`an answer to ${text}`, () => true, { count: before + 1, seconds: 2 }).pipe(Effect.option)
    return next._tag === "Some" ? (yield* adapter.sent.all).slice(before).map((s) => s.text).join("\n") : ""
  })

describe("every typed command", () => {
  it.scopedLive("does what it is for, and says what is wrong", () =>
    Effect.gen(function* () {
      yield* answerTo("hello")
      for (const { name } of commands) {
        const wanted = cases[name]
        console.error("RIGHT", name, JSON.stringify(yield* answerTo(`/${name} ${wanted.right ?? ""}`.trim())).slice(0,160))
        const wrong = wanted.wrong === undefined ? `/${name}x` : `/${name} ${wanted.wrong}`.trim()
        console.error("WRONG", wrong.slice(0,40), JSON.stringify(yield* answerTo(wrong)).slice(0,160))
      }
      expect(1).toBe(1)
    }).pipe(Effect.provide(Testing.gateway({ model })))
  , 120_000)
})
