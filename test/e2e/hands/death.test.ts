/**
 * The built gateway dies by `kill -9` while helpers work behind their conversations and while people are asked: what
 * comes back goes to whom it is for, once (issue 6; decision 25, gateway.md 5.7 and 7.7).
 */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fresh } from "../../../build/fresh.mjs"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import * as GatewayProcess from "../kill/GatewayProcess.js"
import { textOf } from "../support/Spoken.js"

const config = `
display:
  busy_input_mode: queue
  busy_ack_enabled: false
  hints: false
approvals:
  timeout: 600
platforms:
  telegram:
    allowed_users: [500000001, 500000002, 500000003]
    streaming: false
`

interface Spoken {
  readonly role: string
  readonly content?: unknown
}

const messagesOf = (request: ModelServer.ModelServerRequest): ReadonlyArray<Spoken> =>
  (request.body as { readonly messages: ReadonlyArray<Spoken> }).messages

const lastUser = (request: ModelServer.ModelServerRequest): string =>
  textOf(
    messagesOf(request)
      .filter(({ role }) => role === "user")
      .at(-1)?.content
  )

const opening = "[Internal event: work in the background has ended.]"

/** A gateway's world: a model that follows `answer`, a Bot API, and a home. */
const world = (answer: (request: ModelServer.ModelServerRequest) => ModelServer.ModelServerReply) =>
  Effect.gen(function* () {
    const model = yield* ModelServer.make(answer)
    const telegram = yield* TelegramServer.make()
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(path.join(tmpdir(), "hermes-death-"))),
      (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
    )
    const home: GatewayProcess.Home = {
      directory: path.join(directory, "home"),
      environment: {
        HERMES_MODEL_PROVIDER: "openai-compatible",
        HERMES_MODEL_TITLES: "false",
        HERMES_MODEL_BASE_URL: model.baseUrl,
        HERMES_MODEL: "test",
        TELEGRAM_BOT_TOKEN: telegram.token,
        TELEGRAM_API_ROOT: telegram.apiRoot,
        XDG_STATE_HOME: path.join(directory, "state")
      }
    }
    GatewayProcess.prepare(home.directory, config)
    const person = (n: number) => telegram.user(n)
    const chat = (n: number) => telegram.dm(person(n))
    return {
      home,
      directory,
      telegram,
      person,
      chat,
      say: (n: number, text: string) => telegram.say({ chat: chat(n), from: person(n), text }),
      heard: (n: number, text: string) =>
        telegram.calls.waitFor(
          `${text} in chat ${n}`,
          (call) =>
            call.method === "sendMessage" &&
            call.outcome === "ok" &&
            call.chatId === String(chat(n).id) &&
            (call.text ?? "").includes(text),
          { seconds: 40 }
        ),
      /** Chats that a text was sent to, once for each time. */
      told: (text: string) =>
        Effect.map(telegram.calls.all, (calls) =>
          calls.flatMap((call) =>
            call.method === "sendMessage" && call.outcome === "ok" && (call.text ?? "").includes(text)
              ? [call.chatId]
              : []
          )
        )
    }
  })

const settled = (home: GatewayProcess.Home, sql: string) =>
  Effect.sync(() => GatewayProcess.rows(home, sql)).pipe(
    Effect.zipLeft(Effect.sleep("50 millis")),
    Effect.repeat({ until: (rows) => rows.length > 0 }),
    Effect.timeout("40 seconds")
  )

beforeAll(() => fresh("bin", "page"), 150_000)

describe("kill -9", () => {
  it.scopedLive(
    "of a gateway with helpers in the background: each conversation hears of its own, once",
    () => {
      let lives = 0
      const answer = (request: ModelServer.ModelServerRequest): ModelServer.ModelServerReply => {
        const text = lastUser(request)
        const system = textOf(messagesOf(request)[0]?.content)
        if (system.startsWith("You are a helper"))
          return text === "hang" ? ModelServer.hangs : { ...ModelServer.says(`result of ${text}`), delay: "300 millis" }
        if (text.startsWith(opening))
          return ModelServer.says(
            `report: ${/"status":"\w+"/.exec(text)?.[0]} ${/result of \w+/.exec(text)?.[0] ?? ""}`
          )
        if (messagesOf(request).at(-1)?.role === "tool") return ModelServer.says("helpers are at work")
        const goal = /^start (\w+)$/.exec(text)?.[1]
        if (goal !== undefined)
          return ModelServer.callsTools([{ name: "delegate_task", arguments: { goal, background: true } }])
        // It speaks in the gateway's second life only, so the report waits behind it when the first one dies.
        if (text === "long") return lives === 1 ? ModelServer.hangs : ModelServer.says("long is done")
        return ModelServer.says(`you said ${text}`)
      }
      return Effect.gen(function* () {
        const { chat, heard, home, say, told } = yield* world(answer)
        lives = 1
        const first = yield* GatewayProcess.start(home)
        yield* say(1, "start hang")
        yield* heard(1, "helpers are at work")
        yield* say(2, "start quick")
        yield* heard(2, "helpers are at work")
        yield* say(2, "long")
        yield* say(1, "hello")
        yield* heard(1, "you said hello")
        yield* say(3, "hello too")
        yield* heard(3, "you said hello too")
        // The second chat's helper has reported, and its report waits behind the turn that runs.
        yield* settled(home, "SELECT cause_id FROM internal_events WHERE state = 'accepted'")
        yield* first.kill
        lives = 2
        const second = yield* GatewayProcess.start(home)
        yield* heard(1, 'report: "status":"unknown"')
        yield* heard(2, "long is done")
        yield* heard(2, 'report: "status":"completed" result of quick')
        yield* say(1, "still there")
        yield* heard(1, "you said still there")
        yield* second.kill
        // A third life finds nothing left to tell.
        const third = yield* GatewayProcess.start(home)
        yield* say(2, "and now")
        yield* heard(2, "you said and now")
        expect(yield* third.stop).toBe(0)
        expect((yield* told("report:")).toSorted()).toEqual([String(chat(1).id), String(chat(2).id)].toSorted())
        expect(GatewayProcess.rows(home, "SELECT status FROM delegations ORDER BY goal")).toEqual([
          { status: "unknown" },
          { status: "completed" }
        ])
        expect(GatewayProcess.rows(home, "SELECT DISTINCT state FROM internal_events")).toEqual([{ state: "accepted" }])
        expect(GatewayProcess.rows(home, "SELECT id FROM turns WHERE state <> 'ended'")).toEqual([])
      })
    },
    240_000
  )

  it.scopedLive(
    "with three questions open: they are still open, each answer goes to its own, and a stranger's counts for nothing",
    () => {
      const answer = (request: ModelServer.ModelServerRequest): ModelServer.ModelServerReply => {
        const text = lastUser(request)
        const last = messagesOf(request).at(-1)
        if (last?.role === "tool") return ModelServer.says(`it said: ${textOf(last.content)}`)
        const file = /^make (\S+)$/.exec(text)?.[1]
        return file === undefined
          ? ModelServer.says(`you said ${text}`)
          : ModelServer.callsTools([
              { name: "terminal", arguments: { command: `sh -c 'echo made by ${path.basename(file)} | tee ${file}'` } }
            ])
      }
      return Effect.gen(function* () {
        const { chat, directory, heard, home, person, say, telegram, told } = yield* world(answer)
        const file = (n: number) => path.join(directory, `file${n}`)
        const first = yield* GatewayProcess.start(home)
        for (const n of [1, 2, 3]) yield* say(n, `make ${file(n)}`)
        const questions = yield* Effect.forEach([1, 2, 3], (n) => heard(n, "May I run this"))
        const open = "SELECT id, session_key, turn_id FROM approvals WHERE state = 'open' ORDER BY id"
        // Known to have arrived: one in doubt would be said once more, marked.
        yield* settled(home, "SELECT 1 FROM deliveries WHERE state = 'sent' GROUP BY state HAVING count(*) = 3")
        yield* first.kill
        const before = GatewayProcess.rows(home, open)
        expect(before.length).toBe(3)
        const second = yield* GatewayProcess.start(home)
        yield* say(1, "/whoami")
        yield* heard(1, "You are")
        expect(GatewayProcess.rows(home, open)).toEqual(before)
        expect([1, 2, 3].map((n) => existsSync(file(n)))).toEqual([false, false, false])
        // Asked once: the questions from before are the questions.
        expect((yield* told("May I run this")).length).toBe(3)

        const idOf = (n: number) =>
          String(before.find((row) => String(row["session_key"]).endsWith(`:${chat(n).id}`))?.["id"])
        const press = (n: number, who: number, value: string) =>
          telegram.press({ chat: chat(n), from: person(who), messageId: questions[n - 1]?.messageId ?? 0, value })
        yield* press(1, 9, `approve:${idOf(1)}`)
        // Somebody who may speak to the agent, and not in that conversation.
        yield* press(2, 2, `approve:${idOf(1)}`)
        yield* say(2, "/deny not today")
        yield* heard(2, "not today")
        yield* say(3, "/approve session")
        yield* heard(3, "it said: made by file3")
        expect([1, 2, 3].map((n) => existsSync(file(n)))).toEqual([false, false, true])
        yield* press(1, 1, `approve-session:${idOf(1)}`)
        yield* heard(1, "it said: made by file1")
        expect(existsSync(file(2))).toBe(false)
        expect(yield* second.stop).toBe(0)
        const answered = GatewayProcess.rows(home, "SELECT id, state, answer FROM approvals")
        expect(Object.fromEntries(answered.map((row) => [row["id"], [row["state"], row["answer"]]]))).toEqual({
          [idOf(1)]: ["approved", "session"],
          [idOf(2)]: ["denied", "not today"],
          [idOf(3)]: ["approved", "session"]
        })
        expect(GatewayProcess.rows(home, "SELECT DISTINCT outcome FROM turns")).toEqual([{ outcome: "answered" }])
      })
    },
    240_000
  )
})
