/** A job's message is gone on from: what the model is asked when a person answers there, on each platform's own ids. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import type { Profile } from "../../../src/layers/memory/Profile.js"
import * as Memory from "../../../src/layers/memory/InMemoryAdapter.js"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import { ChannelDirectory } from "../../../src/services/adapter/ChannelDirectory.js"
import { Continuation, type Saying } from "../../../src/services/delivery/Continuation.js"
import { Delivery } from "../../../src/services/delivery/Delivery.js"
import { Mirror } from "../../../src/services/delivery/Mirror.js"
import { JobOrigin } from "../../../src/services/schedule/Job.js"
import * as Testing from "../../../src/testing/index.js"

const { discord, slack, telegram } = Testing.profiles

const echo = (request: ModelRequest): Testing.StepInput => {
  const users = request.messages.flatMap((message) => (message._tag === "user" ? [message.text] : []))
  return Testing.say(`I have read: ${users.join(" | ")}`)
}

const report = "the report: all is well"

interface Cell {
  readonly name: string
  readonly profile: Profile
  readonly surface: "thread" | "in_channel"
  readonly attach: boolean | null
  readonly via?: Saying["target"]["via"]
  /** The chat that the job was made in, and its message goes to. */
  readonly place: (profile: Profile) => Testing.Place
  /** Where somebody answers, given the message and the thread that was opened. */
  readonly answer: (profile: Profile, place: Testing.Place, message: string, opened: string | null) => Testing.Place
  readonly knows: boolean
  /** The thread in which the bytes arrived: `opened`, or as given. */
  readonly arrives: "opened" | null
}

const cells: ReadonlyArray<Cell> = [
  {
    name: "Slack, in the channel: a plain answer",
    profile: slack,
    surface: "in_channel",
    attach: null,
    place: (p) => p.group(1),
    answer: (_p, place) => place,
    knows: true,
    arrives: null
  },
  {
    name: "Slack, in the channel: an answer in the message's thread",
    profile: slack,
    surface: "in_channel",
    attach: null,
    place: (p) => p.group(1),
    answer: (_p, place, message) => ({ ...place, threadId: message }),
    knows: true,
    arrives: null
  },
  {
    name: "Slack, in the channel: a direct conversation",
    profile: slack,
    surface: "in_channel",
    attach: null,
    place: (p) => p.dm(1),
    answer: (_p, place) => place,
    knows: true,
    arrives: null
  },
  {
    name: "Slack, in the channel: a direct conversation's thread",
    profile: slack,
    surface: "in_channel",
    attach: null,
    place: (p) => p.dm(1),
    answer: (_p, place, message) => ({ ...place, threadId: message }),
    knows: true,
    arrives: null
  },
  {
    name: "Slack, in the channel: the thread of the origin is cleared",
    profile: slack,
    surface: "in_channel",
    attach: null,
    place: (p) => p.thread(p.group(1), 3),
    answer: (p) => p.group(1),
    knows: true,
    arrives: null
  },
  {
    name: "Slack, a thread of its own",
    profile: slack,
    surface: "thread",
    attach: true,
    place: (p) => p.group(1),
    answer: (_p, place, _m, opened) => ({ ...place, threadId: opened }),
    knows: true,
    arrives: "opened"
  },
  {
    name: "Slack, not attached",
    profile: slack,
    surface: "thread",
    attach: null,
    place: (p) => p.group(1),
    answer: (_p, place) => place,
    knows: false,
    arrives: null
  },
  {
    name: "Telegram cannot go on in the channel: a topic of its own",
    profile: telegram,
    surface: "thread",
    attach: true,
    place: (p) => p.group(1),
    answer: (_p, place, _m, opened) => ({ ...place, threadId: opened }),
    knows: true,
    arrives: "opened"
  },
  {
    name: "Telegram, in the channel, not attached: nothing is known",
    profile: telegram,
    surface: "in_channel",
    attach: null,
    place: (p) => p.group(1),
    answer: (_p, place) => place,
    knows: false,
    arrives: null
  },
  {
    name: "Telegram, a direct conversation has no topics: it is told",
    profile: telegram,
    surface: "thread",
    attach: true,
    place: (p) => p.dm(1),
    answer: (_p, place) => place,
    knows: true,
    arrives: null
  },
  {
    name: "Telegram, to a bare platform: never",
    profile: telegram,
    surface: "thread",
    attach: true,
    via: "home",
    place: (p) => p.dm(1),
    answer: (_p, place) => place,
    knows: false,
    arrives: null
  },
  {
    name: "Discord, a thread of its own",
    profile: discord,
    surface: "thread",
    attach: true,
    place: (p) => p.group(1),
    answer: (_p, place, _m, opened) => ({
      ...place,
      chatId: opened ?? "",
      threadId: opened,
      parentChatId: place.chatId,
      chatType: "thread"
    }),
    knows: true,
    arrives: "opened"
  }
]

describe("a job's message is gone on from", () => {
  it.scopedLive.each(cells)("$name", ({ answer, arrives, attach, knows, place, profile, surface, via = "origin" }) =>
    Effect.gen(function* () {
      const { only } = yield* Testing.AdapterInMemory
      const continuation = yield* Continuation
      const delivery = yield* Delivery
      const at = place(profile)
      const person = profile.person(1)
      // The conversation is there before the job speaks.
      yield* only.say({ text: "hello", in: at, by: person })
      yield* only.sent.waitFor("the first answer", ({ text }) => text.startsWith("I have read"), { seconds: 20 })

      const origin = new JobOrigin({
        platform: profile.platform,
        chatId: at.chatId,
        chatName: at.chatName,
        chatType: at.chatType,
        threadId: at.threadId,
        userId: person.id,
        scopeId: at.scopeId
      })
      const target = { address: { ...Memory.addressOf(profile, at), scopeId: null }, via }
      const job = { name: "Morning report", attachToSession: attach, origin }
      const way = yield* continuation.begin({ job, target })
      const { deliveries } = yield* delivery.deliver({
        cause: { kind: "cron", id: "run" },
        address: way.address,
        text: report,
        via,
        transcriptId: null,
        replyToPerson: false
      })
      yield* way.arrived(deliveries[0]?.platformMessageId ?? null, report)

      const bytes = (yield* only.sent.all).find(({ text }) => text === report)
      const [opened] = yield* only.opened
      // Discord's thread is a chat of its own, as the messages that come from it say.
      expect(bytes?.address.chatId).toBe(arrives === "opened" && profile === discord ? opened?.threadId : at.chatId)
      const wanted =
        arrives === "opened" ? opened?.threadId : surface === "in_channel" && profile === slack ? null : at.threadId
      expect(bytes?.address.threadId).toBe(wanted)
      expect(bytes?.address.scopeId).toBe(via === "origin" ? at.scopeId : null)
      expect(opened?.name).toBe(arrives === "opened" ? "Morning report" : undefined)

      const where = answer(profile, at, bytes?.platformMessageId ?? "", opened?.threadId ?? null)
      yield* only.say({ text: "and then?", in: where, by: person })
      const reply = yield* only.sent.waitFor("the answer", ({ text }) => text.includes("and then?"), { seconds: 20 })
      expect(reply.text.includes(report)).toBe(knows)
      if (knows) expect(reply.text).toContain("The scheduled job “Morning report” said in this chat")
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: echo,
          platforms: [profile],
          settings: { cron: { continuableSurfaces: { [profile.platform]: surface } } }
        })
      )
    )
  )

  it.scopedLive.each([
    ["attached: also in a topic that nobody has written in yet", true],
    ["not attached: nothing is known", null]
  ] as const)("a topic that was named, %s", ([, attach]) =>
    Effect.gen(function* () {
      const { only } = yield* Testing.AdapterInMemory
      const at = telegram.dm(1)
      const name = "Reports"
      yield* (yield* ChannelDirectory).rememberTopic({ platform: "telegram", chatId: at.chatId, threadId: "17", name })
      const target = { address: { ...Memory.addressOf(telegram, at), threadId: name }, via: "explicit" as const }
      const job = { name: "Morning report", attachToSession: attach, origin: null }
      const way = yield* (yield* Continuation).begin({ job, target })
      expect(way.address.threadId).toBe(name)
      yield* way.arrived("5", report)
      yield* only.say({ text: "and then?", in: { ...at, threadId: "17" }, by: telegram.person(1) })
      const reply = yield* only.sent.waitFor("the answer", ({ text }) => text.includes("and then?"), { seconds: 20 })
      expect(reply.text.includes(report)).toBe(attach === true)
    }).pipe(Effect.provide(Testing.gateway({ model: echo, platforms: [telegram] })))
  )

  it.scopedLive("who writes to a topic by its name tells the conversation that goes on there", () =>
    Effect.gen(function* () {
      const { only } = yield* Testing.AdapterInMemory
      const mirror = yield* Mirror
      const at = { ...telegram.dm(1), threadId: "17" }
      yield* (yield* ChannelDirectory).rememberTopic({
        platform: "telegram",
        chatId: at.chatId,
        threadId: "17",
        name: "Reports"
      })
      yield* only.say({ text: "hello", in: at, by: telegram.person(1) })
      yield* only.sent.waitFor("the first answer", ({ text }) => text.startsWith("I have read"), { seconds: 20 })
      const into = (name: string) =>
        mirror.into({ ...Memory.addressOf(telegram, at), threadId: name }, null, { label: "The agent", text: report })
      expect([yield* into("News"), yield* into("reports")]).toEqual([false, true])
      yield* only.say({ text: "and then?", in: at, by: telegram.person(1) })
      const reply = yield* only.sent.waitFor("the answer", ({ text }) => text.includes("and then?"), { seconds: 20 })
      expect(reply.text.split(report)).toHaveLength(2)
    }).pipe(Effect.provide(Testing.gateway({ model: echo, platforms: [telegram] })))
  )

  it.scopedLive("a conversation that could not be told is a warning, and the message stays delivered", () =>
    Effect.gen(function* () {
      const continuation = yield* Continuation
      const at = slack.group(2)
      const job = {
        name: "Report",
        attachToSession: true,
        origin: new JobOrigin({
          platform: "slack",
          chatId: at.chatId,
          chatName: null,
          chatType: "group",
          threadId: null,
          userId: null,
          scopeId: null
        })
      }
      const way = yield* continuation.begin({ job, target: { address: Memory.addressOf(slack, at), via: "origin" } })
      const said: Array<string> = []
      const listening = Logger.add(
        Logger.make(({ logLevel, message }) => void said.push(`${logLevel.label} ${String(message)}`))
      )
      yield* Effect.provide(way.arrived("17.1", report), listening)
      expect(said).toEqual([
        "WARN a conversation does not know of what a job said in its chat: whose it is in this group is not known"
      ])
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model: echo,
          platforms: [slack],
          settings: { cron: { continuableSurfaces: { slack: "in_channel" } } }
        })
      )
    )
  )
})
