/**
 * Two direct messages, two people in one group and a topic of it talk at once through the built gateway, delegates
 * included: whatever they send, run and are told is their own (issue: identity).
 */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ModelServer from "../../../src/testing/ModelServer.js"
import * as TelegramServer from "../../../src/testing/TelegramServer.js"
import { scaled } from "../../scale.js"
import * as Command from "../support/Command.js"
import * as Gateway from "../support/Gateway.js"
import * as HomeDirectory from "../support/HomeDirectory.js"
import * as Cast from "./Cast.js"
import * as Heard from "./Heard.js"
import * as Judge from "./Judge.js"
import * as Plan from "./Plan.js"
import * as Rounds from "./Rounds.js"

const seed = 20_260_611
const castsAtOnce = 3

const config = `
approvals:
  mode: off
delegation:
  max_spawn_depth: ${Plan.deepest}
  default_toolsets: [terminal, file, messaging, delegation]
platforms:
  telegram:
    allow_all_users: true
    require_mention: false
`

/** The topic of the n-th group: no other number here looks like it. */
const topicOf = (n: number): number => 7_700_000 + n

const makeCasts = (telegram: TelegramServer.TelegramServer) =>
  Effect.forEach(
    Array.from({ length: castsAtOnce }, (_, index) => index + 1),
    (n) =>
      Effect.gen(function* () {
        const users = [1, 2, 3, 4].map((index) => telegram.user(10 * n + index))
        const group = telegram.group(n, { is_forum: true })
        yield* telegram.addTopic(group, topicOf(n))
        const person = (index: number): Cast.Person => {
          const user = users[index] ?? telegram.user(0)
          telegram.dm(user)
          return { id: String(user.id), name: user.first_name }
        }
        return Cast.of(n, [person(0), person(1), person(2), person(3)], {
          id: String(group.id),
          name: group.title ?? "",
          topic: String(topicOf(n))
        })
      })
  )

const reply = (place: Heard.Place | null): ModelServer.ModelServerReply => {
  if (place === null) return ModelServer.says("nobody asked")
  const plan = Plan.of(place.token)
  const step = plan.steps[place.made]
  if (step !== undefined)
    return ModelServer.streams(step.aside === null ? [] : [step.aside], {
      calls: Heard.calls(place),
      delay: step.delay
    })
  return plan.slow
    ? ModelServer.streams(plan.answer.split(/(?<= )/), { every: 300 })
    : ModelServer.streams([plan.answer], { delay: plan.answerDelay })
}

describe("identity through the built gateway", () => {
  beforeAll(Command.built, Command.buildMillis)

  it.scopedLive(
    "nothing of one conversation ever reaches another",
    () =>
      Effect.gen(function* () {
        const rounds = scaled(1_000)
        let judge = Judge.make([])
        const posted = new Map<string, Judge.Arrived>()
        const told = (call: TelegramServer.Call): void => {
          if (call.outcome !== "ok" || call.text === null || call.chatId === null) return
          const id = `${call.chatId}/${call.messageId}`
          const before = posted.get(id)
          const message: Judge.Arrived = {
            chatId: call.chatId,
            threadId: before?.threadId ?? (call.threadId === null ? null : String(call.threadId)),
            anchor: before?.anchor ?? (call.replyTo === null ? null : String(call.replyTo)),
            text: call.text
          }
          posted.set(id, message)
          judge.arrived(message)
        }
        const telegram = yield* TelegramServer.make({ observe: told })
        const casts = yield* makeCasts(telegram)
        // Where a message would go that nobody's turn decides: the home channel and what the process was started with.
        const stray = telegram.user(99)
        telegram.dm(stray)
        judge = Judge.make(casts.flat(), [String(stray.id)])
        const model = yield* ModelServer.make(
          (request) => reply(judge.asked(JSON.stringify(request.body), Heard.fromWire(request.body))),
          { remember: 10 }
        )
        const home = yield* HomeDirectory.make({
          config,
          env: {
            TELEGRAM_BOT_TOKEN: telegram.token,
            TELEGRAM_API_ROOT: telegram.apiRoot,
            TELEGRAM_HOME_CHANNEL: String(stray.id),
            HERMES_MODEL_PROVIDER: "openai-compatible",
            HERMES_MODEL_TITLES: "false",
            HERMES_MODEL_BASE_URL: model.baseUrl,
            HERMES_MODEL: "loopback"
          }
        })
        const gateway = yield* Gateway.start(home, {
          environment: {
            HERMES_SESSION_PLATFORM: "telegram",
            HERMES_SESSION_CHAT_ID: String(stray.id),
            HERMES_SESSION_USER_ID: String(stray.id),
            HERMES_SESSION_KEY: `agent:main:telegram:dm:${stray.id}`
          }
        })
        const say = (member: Cast.Member, text: string, spoke: (messageId: string) => void) =>
          Effect.map(
            telegram.say({
              chat: { id: Number(member.chatId), type: member.chatType === "dm" ? "private" : "supergroup" },
              from: { id: Number(member.userId), is_bot: false, first_name: member.userName },
              text,
              ...(member.threadId === null ? {} : { topic: Number(member.threadId) })
            }),
            (id) => spoke(String(id))
          )
        const began = performance.now()
        yield* Rounds.run({ judge, casts, rounds, seed, say, renewEvery: 12, enough: 20 })
        const seconds = (performance.now() - began) / 1_000
        const ended = yield* Gateway.stop(gateway)
        const { counts } = judge
        const total = (byDepth: ReadonlyArray<number>): number => byDepth.reduce((sum, count) => sum + count, 0)
        console.log(
          `${counts.rounds} rounds of ${casts[0]?.length} conversations in ${seconds.toFixed(1)} s, ${castsAtOnce} at once: ` +
            `${counts.replies} replies, ${counts.modelCalls} model calls, ` +
            `${total(counts.environments)} child processes (by depth ${counts.environments.join(", ")}), ` +
            `${total(counts.sends)} sends without reference (by depth ${counts.sends.join(", ")}), ` +
            `${counts.partial} partial messages; seed ${seed}`
        )
        expect(judge.misses()).toEqual([])
        expect(counts.rounds).toBe(rounds)
        expect(counts.replies).toBe(5 * rounds)
        for (const depth of [0, 1, 2, Plan.deepest]) {
          expect(counts.environments[depth], `child processes at depth ${depth}`).toBeGreaterThan(0)
          expect(counts.sends[depth], `sends at depth ${depth}`).toBeGreaterThan(0)
        }
        expect(ended.code).toBe(0)
      }),
    2_400_000
  )
})
