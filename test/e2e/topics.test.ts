/** A topic that is named instead of numbered, over the built program: the preview, `kill -9` between opening and sending, the record (cron-delivery.md 4.7). */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as ModelServer from "../../src/testing/ModelServer.js"
import * as TelegramServer from "../../src/testing/TelegramServer.js"
import * as Command from "./support/Command.js"
import * as Gateway from "./support/Gateway.js"
import * as Loopback from "./support/Loopback.js"

const Job = Schema.Struct({
  id: Schema.String,
  targets: Schema.Array(Schema.Struct({ chatId: Schema.String, threadId: Schema.NullOr(Schema.String) })),
  notes: Schema.Array(Schema.String)
})
const Sent = Schema.Struct({ delivery: Schema.Struct({ id: Schema.String, state: Schema.String }) })

describe("a job for a topic that is named", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "says that it will open it, opens one, and finds it after a kill before anything was sent there",
    () =>
      Effect.gen(function* () {
        const { home, telegram } = yield* Loopback.make(() => ModelServer.says("all is well"))
        const chat = telegram.dm(telegram.user(1), { is_forum: true })
        const deliver = `telegram:${chat.id}:Reports`
        const openings = Effect.map(telegram.calls.all, (calls) =>
          calls.filter(({ method, outcome }) => method === "createForumTopic" && outcome === "ok")
        )
        yield* telegram.fault("sendMessage", TelegramServer.Faults.hang)

        const first = yield* Gateway.start(home)
        const made = yield* first.ask("POST", "/api/jobs", { schedule: "every 1h", prompt: "how is it?", deliver })
        const job = Schema.decodeUnknownSync(Job)(made.json)
        expect(job.targets).toMatchObject([{ chatId: String(chat.id), threadId: "Reports" }])
        expect(job.notes.join()).toContain(
          "the topic “Reports” is opened in that chat when something is first sent there"
        )
        expect(yield* openings).toEqual([])
        yield* first.ask("POST", `/api/jobs/${job.id}/run`, {})
        yield* telegram.calls.waitFor("the report", ({ outcome }) => outcome === "Hang")
        yield* first.signal("SIGKILL")
        yield* first.ended()

        const second = yield* Gateway.start(home)
        const send = (text: string) =>
          Effect.map(
            second.ask("POST", "/api/send", { target: deliver, text }),
            ({ json }) => Schema.decodeUnknownSync(Sent)(json).delivery
          )
        expect((yield* send("hello")).state).toBe("sent")
        expect(yield* openings).toHaveLength(1)
        // The word about the run that was lost, and the message: nothing beside the topic.
        const threadId = (yield* telegram.posted(chat)).find(({ text }) => text === "hello")?.threadId ?? null
        expect(threadId).not.toBeNull()
        expect((yield* telegram.posted(chat)).filter((message) => message.threadId !== threadId)).toEqual([])

        // The person throws it away: the next message opens it anew, and its story says so.
        yield* telegram.removeTopic(chat, threadId ?? 0)
        const { id } = yield* send("again")
        const story = yield* second.ask("GET", `/api/explain/${id}`)
        expect(story.text).toMatch(/opened the topic “Reports” \(\d+\) anew, because topic \d+ is gone/)
        const anew = (yield* telegram.posted(chat)).find(({ text }) => text === "again")?.threadId ?? null
        expect([null, threadId]).not.toContain(anew)

        const other = telegram.dm(telegram.user(2))
        const refused = yield* Command.run({ home, args: ["send", "--to", `telegram:${other.id}:Reports`, "hello"] })
        expect(refused.code).toBe(1)
        expect(refused.stderr).toMatch(/the topic “Reports” could not be opened: .*not a forum.*@BotFather/s)
      }),
    120_000
  )
})
