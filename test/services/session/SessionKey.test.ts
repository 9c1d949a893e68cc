import { describe, expect, it } from "@effect/vitest"
import { Source } from "../../../src/services/conversation/InboundEvent.js"
import { isShared, profileOf, sessionKey } from "../../../src/services/session/SessionKey.js"

const defaults = { groupSessionsPerUser: true, threadSessionsPerUser: false }

const source = (fields: Partial<ConstructorParameters<typeof Source>[0]>): Source =>
  new Source({
    platform: "telegram",
    surface: null,
    botId: null,
    chatId: "100",
    chatName: null,
    chatType: "dm",
    threadId: null,
    parentChatId: null,
    scopeId: null,
    userId: "7",
    userIdAlt: null,
    userName: null,
    isBot: false,
    profile: null,
    uiSessionId: null,
    ...fields
  })

/** gateway.md 2.2, rule by rule. */
const table: ReadonlyArray<readonly [what: string, fields: Partial<Source>, key: string]> = [
  ["a direct message by its chat", {}, "agent:main:telegram:dm:100"],
  ["a direct message with a topic", { threadId: "5" }, "agent:main:telegram:dm:100:5"],
  ["a direct message without a chat by its sender", { chatId: null }, "agent:main:telegram:dm:7"],
  ["neither chat nor sender: one for the platform", { chatId: null, userId: null }, "agent:main:telegram:dm"],
  ["a group member by himself", { chatType: "group" }, "agent:main:telegram:group:100:7"],
  ["the alternative id is the person", { chatType: "group", userIdAlt: "u-9" }, "agent:main:telegram:group:100:u-9"],
  ["a group member nobody knows shares", { chatType: "group", userId: null }, "agent:main:telegram:group:100"],
  ["a thread is shared", { chatType: "group", threadId: "3" }, "agent:main:telegram:group:100:3"],
  ["a forum topic is shared", { chatType: "forum", threadId: "3" }, "agent:main:telegram:forum:100:3"],
  [
    "slack carries its workspace",
    { platform: "slack", scopeId: "T1", chatType: "channel" },
    "agent:main:slack:channel:T1:100:7"
  ],
  ["discord does not", { platform: "discord", scopeId: "G1", chatType: "channel" }, "agent:main:discord:channel:100:7"],
  ["a profile is the namespace", { profile: "work" }, "agent:work:telegram:dm:100"],
  ["the default profile is main", { profile: "default" }, "agent:main:telegram:dm:100"],
  ["a profile called main is escaped", { profile: "main" }, "agent:main~:telegram:dm:100"],
  ["a terminal by its surface", { platform: "", surface: "cli", chatId: "local" }, "agent:main:cli:dm:local"]
]

describe("SessionKey", () => {
  it.each(table)("%s", (_what, fields, key) => {
    expect(sessionKey(source(fields), defaults)).toBe(key)
  })

  it("follows the two settings of isolation", () => {
    const together = { groupSessionsPerUser: false, threadSessionsPerUser: false }
    const apart = { groupSessionsPerUser: true, threadSessionsPerUser: true }
    expect(sessionKey(source({ chatType: "group" }), together)).toBe("agent:main:telegram:group:100")
    expect(sessionKey(source({ chatType: "group", threadId: "3" }), apart)).toBe("agent:main:telegram:group:100:3:7")
  })

  it("says which conversations several people share", () => {
    expect(isShared(source({}), defaults)).toBe(false)
    expect(isShared(source({ chatType: "group" }), defaults)).toBe(false)
    expect(isShared(source({ chatType: "group", threadId: "3" }), defaults)).toBe(true)
    expect(isShared(source({ chatType: "group" }), { ...defaults, groupSessionsPerUser: false })).toBe(true)
  })

  it("can be read back to its profile", () => {
    for (const profile of ["default", "main", "work"])
      expect(profileOf(sessionKey(source({ profile }), defaults))).toBe(profile)
    expect(profileOf("not a key")).toBe(null)
  })
})
