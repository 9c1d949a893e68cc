/**
 * `kill -9` of the built gateway while commands run in the background of two chats: the next one takes them over, and
 * each chat hears of its own, once, and of nothing else (issue 6, gateway.md 8.3).
 */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fresh } from "../../../build/fresh.mjs"
import * as Notice from "../../../src/services/delivery/Notice.js"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import * as GatewayProcess from "./GatewayProcess.js"

const config = `
display:
  busy_input_mode: queue
platforms:
  telegram:
    allow_all_users: true
    streaming: false
`

/** \`run: command\` starts it in the background; everything else is said again. */
const answer = (request: ModelServer.ModelServerRequest): ModelServer.ModelServerReply => {
  const { messages } = request.body as {
    readonly messages: ReadonlyArray<{ readonly role: string; readonly content?: unknown }>
  }
  const last = messages.at(-1)
  const text = String(last?.content ?? "")
  return last?.role === "user" && text.startsWith("run: ")
    ? ModelServer.callsTools([
        {
          name: "terminal",
          arguments: { command: text.slice(5), background: true, notify_on_complete: true }
        }
      ])
    : ModelServer.says(`heard ${text}`)
}

beforeAll(() => fresh("bin", "page"), 150_000)

describe("kill -9 while commands run in the background", () => {
  it.scopedLive(
    "each chat hears of its own command, once",
    () =>
      Effect.gen(function* () {
        const model = yield* ModelServer.make(answer)
        const telegram = yield* TelegramServer.make()
        const directory = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(path.join(tmpdir(), "hermes-processes-"))),
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
        const [a, b, c] = [telegram.user(1), telegram.user(2), telegram.user(3)]
        const texts = (person: typeof a) =>
          Effect.map(telegram.calls.all, (calls) =>
            calls.flatMap((call) =>
              call.method === "sendMessage" && call.outcome === "ok" && call.chatId === String(telegram.dm(person).id)
                ? [call.text ?? ""]
                : []
            )
          )
        const hears = (person: typeof a, text: string) =>
          texts(person).pipe(
            Effect.zipLeft(Effect.sleep("50 millis")),
            Effect.repeat({ until: (all) => all.some((one) => one.includes(text)) }),
            Effect.timeoutFail({
              duration: "40 seconds",
              onTimeout: () => new GatewayProcess.GatewayProcessFailed({ detail: `nobody heard "${text}"` })
            })
          )
        const say = (person: typeof a, text: string) => telegram.say({ chat: telegram.dm(person), from: person, text })
        const flag = (name: string) => path.join(directory, name)
        const waits = (name: string) =>
          `until [ -e ${flag(name)} ]; do sleep 0.1; done; echo $HERMES_SESSION_CHAT_ID ${name}`

        const first = yield* GatewayProcess.start(home)
        yield* say(c, "hello")
        yield* say(a, `run: ${waits("while-dead")}`)
        yield* say(b, `run: ${waits("after")}; exit 7`)
        for (const person of [a, b]) yield* hears(person, "Started in the background")
        yield* hears(c, "heard hello")
        yield* first.kill
        writeFileSync(flag("while-dead"), "")
        yield* Effect.sleep("500 millis")

        const second = yield* GatewayProcess.start(home)
        const ofA = yield* hears(a, "exit code 0")
        expect(ofA.at(-1)).toContain(`${telegram.dm(a).id} while-dead`)
        // Killed again before the other one ends: it is taken over a second time.
        yield* second.kill
        const third = yield* GatewayProcess.start(home)
        writeFileSync(flag("after"), "")
        const ofB = yield* hears(b, "exit code 7")
        expect(ofB.at(-1)).toContain(`${telegram.dm(b).id} after`)
        yield* Effect.sleep("1 second")
        expect(yield* third.stop).toBe(0)

        // Of what was on its way at a kill there is a marked copy (decision 22).
        const unmarked = (person: typeof a) =>
          Effect.map(texts(person), (all) => all.filter((text) => !text.startsWith("(Recovered")))
        for (const person of [a, b])
          expect((yield* unmarked(person)).filter((text) => text.includes("[Background process"))).toHaveLength(1)
        // Whoever is heard first, of the three that write together, is told of the home that there is none yet.
        const hint = Notice.homeMissing({ platform: "telegram" }).text
        expect((yield* unmarked(c)).filter((text) => text !== hint)).toEqual(["heard hello"])
        const rows = (sql: string) => GatewayProcess.rows(home, sql)
        expect(rows("SELECT state FROM internal_events")).toEqual([{ state: "accepted" }, { state: "accepted" }])
        expect(rows("SELECT state, exit_code FROM processes ORDER BY exit_code")).toEqual([
          { state: "exited", exit_code: 0 },
          { state: "exited", exit_code: 7 }
        ])
        expect(rows("SELECT id FROM inbound_events WHERE state <> 'answered'")).toEqual([])
      }),
    180_000
  )
})
