/**
 * `kill -9` of the built gateway at random moments while people talk, restart, until done: every message that was
 * acknowledged is answered once and in order, and nothing is left unsettled (issue 2; decisions 22 and 25).
 */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Random } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fresh } from "../../../build/fresh.mjs"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import { scaled } from "../../scale.js"
import * as GatewayProcess from "./GatewayProcess.js"

const chats = scaled(200, 20)
const messagesPerChat = 3
const kills = scaled(40, 5)

const config = `
display:
  busy_input_mode: queue
  busy_ack_enabled: false
  hints: false
platforms:
  telegram:
    allow_all_users: true
    streaming: false
`

/** Every second answer calls a tool first, and each takes its time, so that a kill finds turns in every state. */
const answer = (request: ModelServer.ModelServerRequest): ModelServer.ModelServerReply => {
  const body = request.body as {
    readonly messages: ReadonlyArray<{ readonly role: string; readonly content?: unknown }>
  }
  const last = body.messages.at(-1)
  const user = body.messages.filter((message) => message.role === "user").at(-1)
  const token =
    String(user?.content ?? "")
      .split("\n")
      .at(-1) ?? ""
  const number = Number(/(\d+)$/.exec(token)?.[1] ?? "0")
  const delay = `${(request.index * 7) % 40} millis` as const
  return last?.role !== "tool" && number % 2 === 0
    ? { ...ModelServer.callsTools([{ name: "read_file", arguments: { path: "notes.txt" } }]), delay }
    : { ...ModelServer.says(`answer ${token}`), delay }
}

const tokenOf = (text: string): string | null => /answer (\S+)$/.exec(text)?.[1] ?? null

beforeAll(() => fresh("bin", "page"), 150_000)

describe("kill -9", () => {
  it.scopedLive(
    `loses and doubles nothing in ${chats} conversations and ${kills} kills`,
    () =>
      Effect.gen(function* () {
        const model = yield* ModelServer.make(answer)
        const telegram = yield* TelegramServer.make()
        const directory = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(path.join(tmpdir(), "hermes-kill-"))),
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

        const people = Array.from({ length: chats }, (_, index) => telegram.user(index + 1))
        const expected = new Map(
          people.map((person, index) => [
            String(telegram.dm(person).id),
            Array.from({ length: messagesPerChat }, (_, turn) => `m${index}-${index + turn}`)
          ])
        )
        const wanted = new Set([...expected.values()].flat())

        const answers = Effect.map(telegram.calls.all, (calls) =>
          calls.flatMap((call) => {
            const token = call.method === "sendMessage" && call.outcome === "ok" ? tokenOf(call.text ?? "") : null
            return token === null
              ? []
              : [{ token, chatId: call.chatId, marked: call.text?.startsWith("(Recovered") === true }]
          })
        )
        const missing = Effect.map(answers, (given) => {
          const told = new Set(given.map((one) => one.token))
          return [...wanted].filter((token) => !told.has(token))
        })
        // A copy of what was in doubt may follow the last answer.
        const waiting = Effect.sync(() =>
          GatewayProcess.rows(home, "SELECT id FROM deliveries WHERE state IN ('pending', 'sending')")
        )
        const done = Effect.zipWith(missing, waiting, (left, unsent) => left.length + unsent.length).pipe(
          Effect.zipLeft(Effect.sleep("100 millis")),
          Effect.repeat({ until: (left) => left === 0 }),
          Effect.timeoutFail({
            duration: "4 minutes",
            onTimeout: () =>
              new GatewayProcess.GatewayProcessFailed({ detail: "not everything was answered in 4 minutes" })
          })
        )

        // People write while gateways come and go.
        for (const person of people)
          for (const token of expected.get(String(telegram.dm(person).id)) ?? [])
            yield* telegram.say({ chat: telegram.dm(person), from: person, text: token })

        let struck = 0
        for (let round = 0; round < kills; round++) {
          const gateway = yield* GatewayProcess.start(home)
          // A turn that was struck once is given the time to end: three strikes suspend its session.
          if (struck >= 1) yield* Effect.timeoutOption(struckTurnsEnded(home), "20 seconds")
          yield* Effect.sleep(`${yield* Random.nextIntBetween(20, 900)} millis`)
          yield* gateway.kill
          const [row] = GatewayProcess.rows(home, "SELECT max(strikes) AS strikes FROM turns WHERE state <> 'ended'")
          struck = Number(row?.["strikes"] ?? 0)
          if ((yield* missing).length === 0) break
        }

        const last = yield* GatewayProcess.start(home)
        yield* done
        expect(yield* last.stop).toBe(0)

        const given = yield* answers
        for (const [chatId, tokens] of expected) {
          const here = given.filter((one) => one.chatId === chatId)
          // In order: a marked copy may come late, so the first time that each is heard counts.
          const order = here.map((one) => one.token).filter((token, index, all) => all.indexOf(token) === index)
          expect(order).toEqual(tokens)
          for (const token of tokens) {
            const copies = here.filter((one) => one.token === token)
            expect(copies.filter((copy) => !copy.marked).length, `${token} unmarked`).toBeLessThanOrEqual(1)
            expect(copies.filter((copy) => copy.marked).length, `${token} marked`).toBeLessThanOrEqual(1)
          }
        }
        expect(given.every((one) => expected.get(one.chatId ?? "")?.includes(one.token))).toBe(true)

        const unsettled = (sql: string) => GatewayProcess.rows(home, sql)
        expect(unsettled("SELECT id, state FROM turns WHERE state <> 'ended'")).toEqual([])
        expect(unsettled("SELECT turn_id, state FROM tool_calls WHERE state <> 'settled'")).toEqual([])
        expect(unsettled("SELECT id, state FROM deliveries WHERE state IN ('pending', 'sending')")).toEqual([])
        expect(unsettled("SELECT id, state FROM inbound_events WHERE state NOT IN ('answered')")).toEqual([])
        const marked = given.filter((one) => one.marked).length
        yield* Effect.log(`${wanted.size} messages in ${chats} conversations, ${kills} kills, ${marked} marked copies`)
      }),
    600_000
  )
})

/** Waits until no turn that was struck is open any more: read beside the running gateway, as any command would. */
const struckTurnsEnded = (home: GatewayProcess.Home) =>
  Effect.sync(() =>
    GatewayProcess.rows(home, "SELECT count(*) AS open FROM turns WHERE state <> 'ended' AND strikes > 0")
  ).pipe(Effect.zipLeft(Effect.sleep("100 millis")), Effect.repeat({ until: ([row]) => row?.["open"] === 0 }))
