/** How each notice comes about in the whole gateway in memory. */
import { Effect, type Layer, type Scope } from "effect"
import { expect } from "vitest"
import { SendRefused } from "../../../src/services/adapter/Adapter.js"
import type { ModelErrorReason, ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import * as PairingDesk from "../../../src/layers/conversation/PairingDesk.js"
import { Admission } from "../../../src/services/conversation/Admission.js"
import { InboundEvent, Source } from "../../../src/services/conversation/InboundEvent.js"
import type * as Notice from "../../../src/services/delivery/Notice.js"
import { Drain } from "../../../src/services/operation/Drain.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"
import { words } from "./noticeWords.js"

export const { telegram } = Testing.profiles
const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)
export const say = (said: string | Testing.Said) => Effect.flatMap(only, (adapter) => adapter.say(said))
export const heard = (text: string | RegExp) =>
  Effect.flatMap(only, (adapter) =>
    adapter.sent.waitFor(String(text), (sent) => sent.error === null && sent.text.search(text) !== -1, { seconds: 20 })
  )
const change = (sql: string) =>
  Effect.flatMap(Database, (database) =>
    database.write(
      "test",
      Effect.flatMap(Transaction, (client) => Effect.asVoid(client.unsafe(sql))),
      "transcript"
    )
  )
const lastUser = (request: ModelRequest): string =>
  request.messages.findLast((message) => message._tag === "user")?.text ?? ""

/** Answers everything but what begins with `hold`, which it works on for good. */
export const model = (request: ModelRequest): Testing.StepInput =>
  lastUser(request).startsWith("hold") ? Testing.hang() : Testing.say(`you said: ${lastUser(request)}`)

/** Says something that the model holds, and waits until it does. */
const hold = Effect.gen(function* () {
  const { requests } = yield* Testing.ScriptedModel
  yield* say("hold")
  yield* requests.pipe(
    Effect.zipLeft(Effect.sleep("10 millis")),
    Effect.repeat({ until: (all) => all.some((request) => lastUser(request).startsWith("hold")) })
  )
})

let isPutAside = false
/** Waits until a scenario has put its conversation aside. */
const putAside = Effect.sleep("10 millis").pipe(Effect.repeat({ until: () => isPutAside }))

type Gateway = Layer.Layer.Success<ReturnType<typeof Testing.gateway>>

/** What a surface without chats was told. */
export const elsewhere: Array<string> = []
const said = (text: string) => Effect.sync(() => void elsewhere.push(text))

export interface Scenario {
  readonly about: string
  readonly codes: ReadonlyArray<Notice.Code>
  readonly options?: Partial<Testing.Options>
  /** An earlier life over the same database, left as it is: it never ends in order. */
  readonly before?: Effect.Effect<unknown, unknown, Gateway>
  readonly run: Effect.Effect<unknown, unknown, Gateway | Scope.Scope>
}

const failures: { readonly [text: string]: ModelErrorReason } = {
  key: "auth",
  credit: "billing",
  rate: "rate_limit",
  load: "overloaded",
  size: "context_overflow",
  away: "content_policy_blocked"
}

const isResult = (request: ModelRequest): boolean => request.messages.at(-1)?._tag === "tool"
const risky = Testing.call("terminal", { command: "rm -rf ./build" })

/** A message of a surface that nothing can be sent to later. */
const fromAnApi = new InboundEvent({
  text: "hello",
  source: new Source({
    platform: "",
    surface: "api_server",
    botId: null,
    chatId: null,
    chatName: null,
    chatType: "dm",
    threadId: null,
    parentChatId: null,
    scopeId: null,
    userId: "owner",
    userIdAlt: null,
    userName: "owner",
    isBot: false,
    profile: null,
    uiSessionId: null
  }),
  messageId: null,
  replyTo: null,
  media: [],
  sentAt: 0,
  sessionId: null,
  internal: null,
  instructions: null
})

export const scenarios: ReadonlyArray<Scenario> = [
  {
    about: "strangers",
    codes: ["pairing.offer", "pairing.ratelimited", "pairing.approved"],
    options: { settings: { gateway: { allowAllUsers: false } } },
    run: Effect.gen(function* () {
      const stranger = { by: telegram.person(9), in: telegram.dm(9) }
      yield* say({ text: "let me in", ...stranger })
      yield* say({ text: "let me in!", ...stranger })
      const [, code = ""] = /code is (\w+)/.exec((yield* heard(words["pairing.offer"])).text) ?? []
      yield* Effect.flatMap(PairingDesk.make, (desk) => desk.approve("telegram", code))
    })
  },
  {
    about: "what is told once",
    codes: ["home.missing", "busy.tip", "busy.interrupting"],
    options: { settings: { notices: { hints: true } } },
    run: Effect.zipRight(hold, say("and this"))
  },
  {
    about: "a queue",
    codes: ["busy.queued", "queue.ok", "busy.full", "busy.command", "command.unknown"],
    options: { settings: { conversation: { busyMode: "queue", queueCap: 2 } } },
    run: Effect.gen(function* () {
      yield* hold
      yield* say("/title x")
      yield* say("/frobnicate")
      yield* heard(words["command.unknown"])
      yield* say("two")
      yield* heard(words["busy.queued"])
      yield* say("/queue three")
      yield* heard(words["queue.ok"])
      yield* say("four")
    })
  },
  {
    about: "steering",
    codes: ["busy.steered"],
    options: { settings: { conversation: { busyMode: "steer" } } },
    run: Effect.zipRight(hold, say("mind the cat"))
  },
  {
    about: "helpers",
    codes: ["busy.subagents"],
    options: {
      model: (request) =>
        lastUser(request) === "work" ? Testing.call("delegate_task", { goal: "hold the door" }) : model(request)
    },
    run: Effect.gen(function* () {
      const { requests } = yield* Testing.ScriptedModel
      yield* say("work")
      yield* requests.pipe(Effect.zipLeft(Effect.sleep("10 millis")), Effect.repeat({ until: (all) => all.length > 1 }))
      yield* say("two")
    })
  },
  {
    about: "a summary in the making",
    codes: ["busy.compressing"],
    options: {
      settings: { compression: { protectFirst: 1, protectLast: 2 } },
      model: (request) =>
        request.messages.some(({ text }) => text.includes("you said")) && request.tools.length === 0
          ? Testing.hang()
          : model(request)
    },
    run: Effect.gen(function* () {
      for (const text of ["a", "b", "c", "d"]) yield* Effect.zipRight(say(text), heard(`you said: ${text}`))
      yield* say("/compress")
      yield* hold
      yield* say("more")
    })
  },
  {
    about: "a drain",
    codes: ["drain.refused"],
    run: Effect.zipRight(
      Effect.flatMap(Drain, (drain) => drain.begin({ restart: true })),
      say("hello")
    )
  },
  {
    about: "a drain where messages wait",
    codes: ["drain.queued"],
    options: { settings: { conversation: { busyMode: "queue" } } },
    run: Effect.zipRight(
      Effect.flatMap(Drain, (drain) => drain.begin({ restart: true })),
      say("hello")
    )
  },
  {
    about: "a pause",
    codes: ["pause.holds", "pause.held", "pause.refused"],
    run: Effect.gen(function* () {
      yield* say("/pause the garden burns")
      yield* heard(words["pause.holds"])
      yield* say("hello")
      yield* heard(words["pause.held"])
      // Nowhere to send a later answer to: whoever asked is told at once.
      const receipt = yield* (yield* Admission).accept(fromAnApi, {
        authorizedUpstream: true,
        asyncDelivery: false,
        marker: { _tag: "NotCron" },
        unattended: null,
        workingDirectory: null
      })
      expect(receipt).toMatchObject({ _tag: "Refused", text: expect.stringMatching(words["pause.refused"]) })
      yield* said(receipt._tag === "Refused" ? receipt.text : "")
    })
  },
  {
    about: "a limit",
    codes: ["limit.reached"],
    options: { settings: { limits: { dailyTokens: 1 } }, model: () => costly },
    run: Effect.gen(function* () {
      yield* say("hello")
      yield* heard("that was much")
      yield* say("more")
    })
  },
  {
    about: "a conversation that rested",
    codes: ["session.autoreset", "session.suspended"],
    options: { settings: { conversation: { reset: { mode: "idle", idleMinutes: 60, atHour: 4 } } } },
    run: Effect.gen(function* () {
      yield* say("one")
      yield* heard("you said: one")
      yield* change("UPDATE sessions SET last_activity_at = 1000")
      yield* say("two")
      yield* heard(words["session.autoreset"])
      yield* heard("you said: two")
      yield* change("UPDATE sessions SET suspended = 1")
      yield* say("three")
    })
  },
  {
    about: "a history that cannot be read",
    codes: ["history.unreadable"],
    before: Effect.gen(function* () {
      yield* say("one")
      yield* heard("you said: one")
      yield* change("UPDATE messages SET tool_calls = '{' WHERE role = 'assistant'")
    }),
    run: say({ text: "two", messageId: "902" })
  },
  {
    about: "models that fail",
    codes: ["fail.auth", "fail.credit", "fail.rate", "fail.overloaded", "fail.toolarge", "fail.before", "fail.after"],
    options: {
      settings: { agent: { apiMaxRetries: 0 } },
      model: (request) => {
        const reason = failures[lastUser(request)]
        if (reason !== undefined) return Testing.fail(reason)
        return isResult(request) ? Testing.fail("model_not_found") : Testing.call("read_file", { path: "x" })
      }
    },
    run: Effect.gen(function* () {
      for (const [text, code] of [
        ["key", "fail.auth"],
        ["credit", "fail.credit"],
        ["rate", "fail.rate"],
        ["load", "fail.overloaded"],
        ["size", "fail.toolarge"],
        ["away", "fail.before"],
        ["act", "fail.after"]
      ] as const)
        yield* Effect.zipRight(say(text), heard(words[code]))
    })
  },
  {
    about: "answers that are not whole",
    codes: ["reply.empty", "reply.truncated", "reply.cut", "reply.undelivered", "media.failed", "media.left"],
    options: {
      model: (request) => {
        switch (lastUser(request)) {
          case "nothing":
            return Testing.say("")
          case "half":
            return Testing.parts([
              { _tag: "Text", delta: "half a" },
              { _tag: "Finish", reason: "length" }
            ])
          case "much":
            return Testing.say("words ".repeat(100_000))
          case "file":
            return Testing.say("MEDIA:nothing.png")
          case "files":
            return Testing.say(Array.from({ length: 30 }, (_, n) => `MEDIA:picture-${n}.png`).join("\n"))
          default:
            return model(request)
        }
      }
    },
    run: Effect.gen(function* () {
      const elsewhere = { in: telegram.dm(2), by: telegram.person(2) }
      yield* Effect.zipRight(say({ text: "nothing", ...elsewhere }), heard(words["reply.empty"]))
      yield* Effect.zipRight(say("half"), heard(words["reply.truncated"]))
      yield* Effect.zipRight(say("file"), heard(words["media.failed"]))
      yield* Effect.zipRight(say("files"), heard(words["media.left"]))
      yield* Effect.zipRight(say("much"), heard(words["reply.cut"]))
      yield* (yield* only).fail({
        error: new SendRefused({ platform: "telegram", code: "bad_request", detail: "no such thing" }),
        times: 2
      })
      yield* say("hello")
    })
  },
  {
    about: "a voice that nobody writes down",
    codes: ["media.unheard"],
    run: say({ text: "", media: [{ path: "/nowhere/voice.ogg", mimeType: "audio/ogg", name: "voice.ogg" }] })
  },
  {
    about: "work in the background of a conversation that was put aside",
    codes: ["report.waits"],
    options: {
      model: (request) => {
        if (request.systemPrompt.startsWith("You are a helper"))
          return Testing.effect(Effect.as(putAside, Testing.say("done")))
        if (isResult(request)) return Testing.say("it is at work")
        return lastUser(request) === "delegate"
          ? Testing.call("delegate_task", { goal: "slow", background: true })
          : model(request)
      }
    },
    run: Effect.gen(function* () {
      isPutAside = false
      yield* Effect.zipRight(say("another matter"), heard("you said: another matter"))
      yield* Effect.zipRight(say("/new"), heard("A new conversation"))
      yield* Effect.zipRight(say("delegate"), heard("it is at work"))
      yield* Effect.zipRight(say("/resume another matter"), heard('Back in "another matter"'))
      isPutAside = true
      yield* heard(words["report.waits"])
    })
  },
  {
    about: "what an earlier life left behind",
    codes: ["reply.late", "reply.recovered"],
    options: { settings: { conversation: { busyMode: "queue" } } },
    before: Effect.gen(function* () {
      const adapter = yield* only
      const second = { in: telegram.dm(2), by: telegram.person(2) }
      yield* hold
      yield* say("later")
      yield* heard(words["busy.queued"])
      yield* change("UPDATE inbound_events SET accepted_at = accepted_at - 7200000")
      yield* change("UPDATE turns SET started_at = started_at - 7200000")
      yield* adapter.fail({ error: "never", chatId: second.in.chatId })
      yield* say({ text: "one", ...second })
      yield* adapter.sent.waitFor("one", (sent) => sent.text.includes("you said: one"), { seconds: 20 })
    }),
    run: Effect.void
  },
  {
    about: "questions",
    codes: ["approval.request", "approval.denied", "approval.interrupted", "approval.expired", "clarify.question"],
    options: {
      settings: { approvals: { timeoutSeconds: 1 } },
      model: (request) =>
        isResult(request)
          ? Testing.say("so be it")
          : lastUser(request) === "colour"
            ? Testing.call("clarify", { question: "Which colour?" })
            : risky
    },
    run: Effect.gen(function* () {
      yield* say("clean")
      yield* heard(words["approval.request"])
      yield* say("/deny")
      yield* heard(words["approval.denied"])
      yield* heard("so be it")
      const second = { in: telegram.dm(2), by: telegram.person(2) }
      yield* say({ text: "clean", ...second })
      yield* (yield* only).sent.waitFor("asked", (sent) => words["approval.request"].test(sent.text), {
        count: 2,
        seconds: 20
      })
      yield* say({ text: "/stop", ...second })
      yield* heard(words["approval.interrupted"])
      yield* say({ text: "clean", in: telegram.dm(3), by: telegram.person(3) })
      yield* heard(words["approval.expired"])
      yield* say({ text: "colour", in: telegram.dm(4), by: telegram.person(4) })
    })
  },
  {
    about: "a question that cannot be asked",
    codes: ["approval.notifyfailed"],
    options: { model: (request) => (isResult(request) ? Testing.say("so be it") : risky) },
    run: Effect.gen(function* () {
      yield* (yield* only).fail({
        error: new SendRefused({ platform: "telegram", code: "bad_request", detail: "no such thing" }),
        times: 2
      })
      yield* say("clean")
    })
  },
  {
    about: "tiers",
    codes: ["command.refused"],
    options: {
      settings: {
        telegram: { commandTiers: { dm: { admins: ["1"], allowed: [] }, group: { admins: ["1"], allowed: [] } } }
      }
    },
    run: say("/pause")
  }
]

const costly = Testing.parts([
  { _tag: "Text", delta: "that was much" },
  {
    _tag: "Finish",
    reason: "stop",
    usage: { inputTokens: 40, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 }
  }
])
