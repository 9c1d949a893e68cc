import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { address } from "../../../src/fibers/DeliveryOrigin.js"
import * as Deliver from "../../../src/services/delivery/Deliver.js"

const words = (deliver: string | ReadonlyArray<string> | null) => Deliver.parse(deliver).map(({ word }) => word)

describe("the words of deliver", () => {
  it.each([
    [null, [{ _tag: "Local" }]],
    ["", [{ _tag: "Local" }]],
    [[], [{ _tag: "Local" }]],
    ["LOCAL", [{ _tag: "Local" }]],
    ["Origin", [{ _tag: "Origin" }]],
    [" All , origin ", [{ _tag: "All" }, { _tag: "Origin" }]],
    ["Telegram", [{ _tag: "Platform", platform: "telegram" }]],
    ["Slack:C0123456:1700.1", [{ _tag: "Chat", platform: "slack", reference: "C0123456:1700.1" }]],
    ["telegram:#Team Rocket", [{ _tag: "Chat", platform: "telegram", reference: "#Team Rocket" }]],
    ["Bot-Chat", [{ _tag: "BotChat", profile: null }]],
    ["bot-chat:", [{ _tag: "BotChat", profile: null }]],
    ["bot-chat:Work", [{ _tag: "BotChat", profile: "Work" }]],
    [
      ["telegram", "discord:1,local"],
      [
        { _tag: "Platform", platform: "telegram" },
        { _tag: "Chat", platform: "discord", reference: "1" },
        { _tag: "Local" }
      ]
    ]
  ] as const)("%j", (deliver, expected) => {
    expect(words(deliver)).toEqual(expected)
  })

  it("are written as they are read", () => {
    const deliver = "origin,telegram:#team,bot-chat:x"
    expect(Deliver.parse(Deliver.write(Deliver.parse(deliver)))).toEqual(Deliver.parse(deliver))
  })
})

const vias = ["origin", "origin_fallback", "explicit", "home", "broadcast"] as const
const routed = fc.record({
  token: fc.string(),
  address: fc
    .tuple(fc.constantFrom("telegram", "slack"), fc.constantFrom("1", "2"), fc.constantFrom(null, "7"))
    .map(([platform, chatId, threadId]) => address({ platform, chatId, threadId })),
  via: fc.constantFrom(...vias),
  note: fc.constant(null)
})
const strength = { origin: 3, origin_fallback: 2, explicit: 1, home: 0, broadcast: 0 }

describe("targets of several words", () => {
  it.prop(
    "are one a place, by the strongest rule, whatever the order",
    [fc.array(routed), fc.infiniteStream(fc.nat())],
    ([all, chance]) => {
      const shuffled = all.map((target) => [chance.next().value ?? 0, target] as const).toSorted(([a], [b]) => a - b)
      const summary = (targets: ReadonlyArray<Deliver.Routed>) =>
        targets.map(({ address: at, via }) => `${at.platform}:${at.chatId}:${at.threadId} ${strength[via]}`).toSorted()
      const merged = Deliver.merge(all)
      expect(summary(Deliver.merge(shuffled.map(([, target]) => target)))).toEqual(summary(merged))
      const places = new Set(all.map(({ address: at }) => `${at.platform}:${at.chatId}:${at.threadId}`))
      expect(merged.length).toBe(places.size)
      for (const target of all)
        for (const kept of merged)
          if (
            kept.address.chatId === target.address.chatId &&
            kept.address.threadId === target.address.threadId &&
            kept.address.platform === target.address.platform
          )
            expect(strength[kept.via]).toBeGreaterThanOrEqual(strength[target.via])
    }
  )

  it("keep the order of their first mention", () => {
    const one = address({ platform: "telegram", chatId: "1" })
    const two = address({ platform: "slack", chatId: "2" })
    const to = (at: typeof one, via: Deliver.Routed["via"]) => ({ token: via, address: at, via, note: null })
    expect(Deliver.merge([to(one, "home"), to(two, "explicit"), to(one, "origin")]).map(({ token }) => token)).toEqual([
      "origin",
      "explicit"
    ])
  })
})

describe("an address that equals the origin's", () => {
  const chat = address({ platform: "telegram", chatId: "-100" })
  const topic = address({ platform: "telegram", chatId: "-100", threadId: "7" })
  it.each([
    ["the chat itself", chat, chat, true],
    ["its topic, when the origin pins none", topic, chat, true],
    ["the pinned topic", topic, topic, true],
    ["the chat, when the origin pins a topic", chat, topic, false],
    ["another chat", address({ platform: "telegram", chatId: "-1" }), chat, false],
    ["another platform", address({ platform: "slack", chatId: "-100" }), chat, false],
    ["no origin", chat, null, false]
  ] as const)("%s", (_name, at, origin, expected) => {
    expect(Deliver.matchesOrigin(at, origin)).toBe(expected)
  })
})
