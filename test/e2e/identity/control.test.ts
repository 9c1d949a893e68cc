/**
 * The same rounds through a gateway in memory: with its own parts nothing is missed, and with one part broken as the
 * original was (a fact in a place with the wrong lifetime) they find it.
 */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger, LogLevel } from "effect"
import { vi } from "vitest"
import * as Turn from "../../../src/fibers/Turn.js"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import * as Testing from "../../../src/testing/index.js"
import { scaled } from "../../scale.js"
import * as Cast from "./Cast.js"
import * as Heard from "./Heard.js"
import * as Judge from "./Judge.js"
import * as Plan from "./Plan.js"
import * as Rounds from "./Rounds.js"

type Fault = "none" | "global origin" | "global environment" | "lost origin"

/** What the original had: one place in the process for who is being served, written by whoever came last. */
const process = vi.hoisted(() => ({
  fault: "none" as string,
  latest: { chatId: "", threadId: null as string | null, userId: "", sessionKey: "" }
}))

vi.mock("../../../src/layers/delivery/TargetResolver.js", async (importOriginal) => {
  const actual = await importOriginal<typeof import("../../../src/layers/delivery/TargetResolver.js")>()
  const { Effect, Layer } = await import("effect")
  const { address } = await import("../../../src/fibers/DeliveryOrigin.js")
  const Turns = await import("../../../src/fibers/Turn.js")
  const { HomeChannels } = await import("../../../src/services/delivery/HomeChannels.js")
  const { TargetResolver } = await import("../../../src/services/delivery/TargetResolver.js")
  const broken = Effect.gen(function* () {
    const resolver = yield* TargetResolver
    const homes = yield* HomeChannels
    return TargetResolver.of({
      ...resolver,
      resolve: (target) =>
        Effect.gen(function* () {
          if (process.fault === "global origin") {
            const { chatId, threadId } = process.latest
            const at = address({ platform: "telegram", chatId, threadId })
            return { address: at, via: "origin", tripwire: false } as const
          }
          const { origin } = yield* Turns.peek
          const home = yield* homes.get("telegram")
          return process.fault === "lost origin" && origin._tag === "Routing" && home !== null
            ? ({ address: home, via: "home", tripwire: false } as const)
            : yield* resolver.resolve(target)
        })
    })
  })
  return { ...actual, layer: Layer.effect(TargetResolver, broken).pipe(Layer.provide(actual.layer)) }
})

vi.mock("../../../src/fibers/ChildEnvironment.js", async (importOriginal) => {
  const actual = await importOriginal<typeof import("../../../src/fibers/ChildEnvironment.js")>()
  const { Effect } = await import("effect")
  const make: typeof actual.make = (options) =>
    Effect.map(actual.make(options), (environment) =>
      process.fault === "global environment"
        ? {
            ...environment,
            HERMES_SESSION_CHAT_ID: process.latest.chatId,
            HERMES_SESSION_THREAD_ID: process.latest.threadId ?? "",
            HERMES_SESSION_USER_ID: process.latest.userId,
            HERMES_SESSION_KEY: process.latest.sessionKey
          }
        : environment
    )
  return { ...actual, make }
})

const seed = 41

const profile = Testing.profiles.telegram
const group = profile.group(1)
const topic = { ...group, threadId: "7700001" }
const stray = profile.dm(99)

const cast = Cast.of(1, [profile.person(1), profile.person(2), profile.person(3), profile.person(4)], {
  id: group.chatId,
  name: group.chatName,
  topic: topic.threadId
})

const placeOf = (member: Cast.Member) =>
  member.threadId !== null
    ? topic
    : member.chatType === "group"
      ? group
      : profile.dm(Number(member.userId) - 500_000_000)

const heardOf = (request: ModelRequest): ReadonlyArray<Heard.Heard> =>
  request.messages.map((message) => ({
    role: message._tag,
    text: message.text,
    calls: message._tag === "assistant" ? message.toolCalls : [],
    callId: message._tag === "tool" ? message.callId : null
  }))

const stepOf = (place: Heard.Place | null): Testing.StepInput => {
  if (place === null) return Testing.say("nobody asked")
  const plan = Plan.of(place.token)
  const step = plan.steps[place.made]
  return step === undefined
    ? Testing.delay(plan.answerDelay, Testing.say(plan.answer))
    : Testing.delay(step.delay, Testing.calls(Heard.calls(place), step.aside ?? ""))
}

/** Plays the rounds and answers with the judge. */
const play = (fault: Fault, rounds: number) =>
  Effect.gen(function* () {
    process.fault = fault
    const judge = Judge.make(cast, [stray.chatId])
    const model = (request: ModelRequest): Testing.StepInput =>
      stepOf(judge.asked(JSON.stringify(request), heardOf(request)))
    yield* Effect.gen(function* () {
      const { only: adapter } = yield* Testing.AdapterInMemory
      let read = 0
      const tell = Effect.map(adapter.sent.all, (sent) => {
        for (const { address, error, text } of sent.slice(read)) if (error === null) judge.arrived({ ...address, text })
        read = sent.length
      })
      yield* Turn.forkWorker(Effect.forever(Effect.zipRight(tell, Effect.sleep("5 millis"))))
      let lastId = 900_000
      yield* Rounds.run({
        judge,
        casts: [cast],
        rounds,
        seed,
        renewEvery: 12,
        enough: 10,
        say: (member, text, spoke) =>
          Effect.suspend(() => {
            const messageId = String(++lastId)
            spoke(messageId)
            process.latest = member
            return adapter.say({
              text,
              messageId,
              in: placeOf(member),
              by: { id: member.userId, name: member.userName }
            })
          })
      })
      yield* tell
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model,
          settings: {
            approvals: { mode: "off" },
            delegation: {
              maxSpawnDepth: Plan.deepest,
              defaultToolsets: ["terminal", "file", "messaging", "delegation"]
            },
            telegram: { homeChannel: { chatId: stray.chatId, threadId: null } }
          }
        })
      )
    )
    return judge
  }).pipe(Logger.withMinimumLogLevel(LogLevel.Error))

describe("identity through the gateway in memory", () => {
  it.scopedLive(
    "with its own parts nothing is missed",
    () =>
      Effect.gen(function* () {
        const rounds = scaled(200)
        const judge = yield* play("none", rounds)
        expect(judge.misses()).toEqual([])
        expect(judge.counts.replies).toBe(cast.length * rounds)
      }),
    600_000
  )

  it.scopedLive.each([
    ["global origin", "the chat of a send is a variable of the process", /^words of .* arrived in /],
    ["lost origin", "a delegate is given no origin", /^words of .* arrived in 500000099/],
    [
      "global environment",
      "what a child process is told is a variable of the process",
      /^a child process of .* was told of /
    ]
  ] as const)(
    "finds that %s",
    ([fault, , found]) =>
      Effect.gen(function* () {
        const judge = yield* play(fault, 30)
        expect(judge.misses().some((miss) => found.test(miss))).toBe(true)
      }),
    300_000
  )
})
