import { assert, describe, it } from "@effect/vitest"
import type { KnownChat } from "../../../src/services/adapter/ChannelDirectory.js"
import * as Target from "../../../src/services/delivery/Target.js"

const chat = (name: string | null, chatId: string, threadId: string | null = null): KnownChat => ({
  platform: "telegram",
  chatId,
  threadId,
  name,
  type: "group",
  lastSeenAt: 0
})

describe("a target", () => {
  it("is a platform in any case, and a reference as written", () => {
    assert.deepStrictEqual(Target.parse(" TeleGram "), { platform: "telegram", reference: null })
    assert.deepStrictEqual(Target.parse("Telegram: Team A "), { platform: "telegram", reference: "Team A" })
    assert.deepStrictEqual(Target.parse("matrix:!a:b.org:$e"), { platform: "matrix", reference: "!a:b.org:$e" })
  })

  const forms: ReadonlyArray<readonly [platform: string, reference: string, chatId: string, threadId: string | null]> =
    [
      ["telegram", "-1001234:77", "-1001234", "77"],
      ["telegram", "55", "55", null],
      ["telegram", "55:Daily news: all", "55", "Daily news: all"],
      ["telegram", "@some_channel", "@some_channel", null],
      ["web", "ses_01h2j3k4m5n6", "ses_01h2j3k4m5n6", null],
      ["discord", "123456789012345678:223456789012345678", "123456789012345678", "223456789012345678"],
      ["slack", "C0123ABCD:1764400000.000100", "C0123ABCD", "1764400000.000100"],
      ["slack", "<@U0123ABCD>", "U0123ABCD", null],
      ["slack", "@anna.b", "@anna.b", null],
      ["matrix", "!room:server.org:$event", "!room:server.org", "$event"],
      ["matrix", "@anna:server.org", "@anna:server.org", null],
      ["whatsapp", "+491701234567", "+491701234567", null],
      ["whatsapp", "12345-678@g.us", "12345-678@g.us", null],
      ["signal", "group:abc=", "group:abc=", null],
      ["email", "a@b.org", "a@b.org", null],
      ["somewhere", "42", "42", null]
    ]
  for (const [platform, reference, chatId, threadId] of forms)
    it(`in ${platform}'s own form: ${reference}`, () => {
      assert.deepStrictEqual(Target.native(platform, reference), { chatId, threadId })
    })

  it("in no form of the platform is a name", () => {
    for (const [platform, reference] of [
      ["telegram", "-12:ab"],
      ["telegram", "12:"],
      ["telegram", "12: "],
      ["telegram", "12:3:4"],
      ["telegram", "12:ab,telegram:3"],
      ["telegram", "@ab"],
      ["telegram", "#general"],
      ["telegram", "1 2"],
      ["telegram", "-100\n:5"],
      ["web", "Groceries"],
      ["discord", "12"],
      ["slack", "general"],
      ["somewhere", "@anna"]
    ] as const)
      assert.isNull(Target.native(platform, reference), `${platform}:${reference}`)
  })
})

describe("the directory", () => {
  const one = (chatId: string, threadId: string | null = null): Target.Found => ({
    _tag: "One",
    place: { chatId, threadId }
  })

  it("finds by id, name, topic and unique beginning, in this order", () => {
    const chats = [
      chat("Dev", "1"),
      chat("Dev", "1", "5"),
      chat("Bugs", "1", "6"),
      chat("Developers", "2"),
      chat("7", "9")
    ]
    assert.deepStrictEqual(Target.find("1:6", chats), one("1", "6"))
    assert.deepStrictEqual(Target.find("9", chats), one("9"))
    assert.deepStrictEqual(Target.find("7", chats), one("9"))
    assert.deepStrictEqual(Target.find("dev", chats), one("1"))
    assert.deepStrictEqual(Target.find("#DEV", chats), one("1"))
    assert.deepStrictEqual(Target.find("dev/bugs", chats), one("1", "6"))
    assert.deepStrictEqual(Target.find("Dev / 5", chats), one("1", "5"))
    assert.deepStrictEqual(Target.find("bugs", chats), one("1", "6"))
    assert.deepStrictEqual(Target.find("develop", chats), one("2"))
  })

  it("takes threads that all bear the chat's name for the chat", () => {
    assert.deepStrictEqual(Target.find("forum", [chat("Forum", "1", "5"), chat("Forum", "1", "6")]), one("1"))
  })

  it("never guesses", () => {
    const chats = [chat("Anna", "1"), chat("anna", "2"), chat(null, "3"), chat("", "4")]
    const found: Target.Found = Target.find("Anna", chats)
    assert.deepStrictEqual(found._tag === "Several" ? found.chats.map((each) => each.chatId) : found, ["1", "2"])
    assert.deepStrictEqual(Target.find("an", chats)._tag, "Several")
    assert.deepStrictEqual(Target.find("nobody", chats), { _tag: "None" })
    assert.deepStrictEqual(Target.find("", chats), { _tag: "None" })
    assert.deepStrictEqual(Target.find("#", chats), { _tag: "None" })
  })

  it("is written in the form that is read", () => {
    const bugs = chat("Bugs", "-1", "6")
    const { platform, reference } = Target.parse(Target.write(bugs))
    assert.deepStrictEqual(
      [platform, Target.native(platform, reference ?? "")],
      ["telegram", { chatId: "-1", threadId: "6" }]
    )
  })
})

describe("a session key", () => {
  it("names its chat, and a thread only where the suffix can be nothing else", () => {
    assert.deepStrictEqual(Target.ofSessionKey("agent:main:telegram:dm:5:7"), {
      platform: "telegram",
      chatId: "5",
      threadId: "7"
    })
    assert.deepStrictEqual(Target.ofSessionKey("agent:main:telegram:group:-5:7"), {
      platform: "telegram",
      chatId: "-5",
      threadId: null
    })
    assert.deepStrictEqual(Target.ofSessionKey("agent:work:slack:group:T1:C1:U1"), {
      platform: "slack",
      chatId: "C1",
      threadId: null
    })
    assert.isNull(Target.ofSessionKey("agent:main:telegram:dm"))
    assert.isNull(Target.ofSessionKey("nonsense"))
    assert.isNull(Target.ofSessionKey(""))
  })
})
