import { assert, describe, expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as Inbound from "../../../src/layers/telegram/Inbound.js"
import * as Mention from "../../../src/layers/telegram/Mention.js"
import * as Update from "../../../src/layers/telegram/Update.js"
import { scaled } from "../../scale.js"

const bot: Update.Identity = { id: 42, username: "hermes_bot", first_name: "Hermes" }
const everything: Mention.Rules = { requireMention: false, freeResponseChats: [] }
const named: Mention.Rules = { requireMention: true, freeResponseChats: ["-100200", "-100300:7"] }

const ada = { id: 7, is_bot: false, first_name: "Ada", last_name: "Lovelace", username: "ada" }
const dm = { id: 7, type: "private", first_name: "Ada", last_name: "Lovelace" }
const group = { id: -100100, type: "supergroup", title: "Engines" }

const messageOf = (fields: Record<string, unknown>, kind = "message"): unknown => ({
  update_id: 1,
  [kind]: { message_id: 10, date: 1_764_417_600, chat: dm, from: ada, ...fields }
})

const incoming = (input: unknown): Inbound.Incoming => {
  const update = Update.decode(input)
  return update === null ? assert.fail("no update") : Inbound.incoming(update, bot)
}

const eventOf = (fields: Record<string, unknown>, rules = everything) => {
  const found = incoming(messageOf(fields))
  return found._tag === "Written" ? Inbound.eventOf(found.written, bot, rules) : assert.fail(JSON.stringify(found))
}

const textIn = (chat: object, text: string, rules = named, more: Record<string, unknown> = {}): string | null =>
  eventOf({ chat, text, ...more }, rules)?.text ?? null

describe("Telegram inbound", () => {
  it("maps a message with everything that admission wants to know", () => {
    const event = eventOf({ text: "hello" })
    expect(event).toMatchObject({
      text: "hello",
      messageId: "10",
      replyTo: null,
      media: [],
      sentAt: 1_764_417_600_000,
      sessionId: null,
      source: {
        platform: "telegram",
        surface: null,
        botId: "42",
        chatId: "7",
        chatName: "Ada Lovelace",
        chatType: "dm",
        threadId: null,
        userId: "7",
        userName: "Ada Lovelace",
        isBot: false
      }
    })
    expect(Object.keys(event?.source ?? {})).not.toContain("updates")
  })

  it.each([
    [
      "a forum topic",
      { chat: { ...group, is_forum: true }, message_thread_id: 77, is_topic_message: true },
      "77",
      "group"
    ],
    ["a private topic", { chat: dm, message_thread_id: 5, is_topic_message: true }, "5", "dm"],
    ["General, which has no id", { chat: { ...group, is_forum: true } }, null, "group"],
    ["a chain of replies, which is no topic", { chat: group, message_thread_id: 9 }, null, "group"],
    [
      "a channel's direct messages",
      { chat: { ...group, is_direct_messages: true }, direct_messages_topic: { topic_id: 3 } },
      "3",
      "group"
    ]
  ])("knows the thread of %s", (_, fields, thread, type) => {
    expect(eventOf({ text: "x", ...fields })?.source).toMatchObject({ threadId: thread, chatType: type })
  })

  it("hears in a group only what is meant for it, and without its name", () => {
    expect(textIn(group, "lunch?")).toBe(null)
    expect(textIn(group, "@hermes_bot lunch?")).toBe("lunch?")
    expect(textIn(group, "so @Hermes_Bot, lunch?")).toBe("so lunch?")
    expect(textIn(group, "ask @hermes_bot")).toBe("ask")
    expect(textIn(group, "@hermes_bot2 lunch?")).toBe(null)
    expect(textIn(group, "mail me@hermes_bot.example")).toBe(null)
    expect(textIn(group, "/status@hermes_bot now")).toBe("/status now")
    expect(textIn(group, "/status")).toBe(null)
    expect(textIn(group, "/status@other_bot", everything)).toBe(null)
    expect(textIn(group, "@hermes_bot")).toBe("@hermes_bot")
    expect(textIn({ ...group, id: -100200 }, "anything")).toBe("anything")
    expect(textIn({ ...group, id: -100200 }, "/status@other_bot")).toBe(null)
    expect(textIn({ ...group, id: -100300 }, "anything")).toBe(null)
    expect(textIn({ ...group, id: -100300 }, "anything", named, { message_thread_id: 7, is_topic_message: true })).toBe(
      "anything"
    )
    expect(textIn(dm, "anything")).toBe("anything")
  })

  it("takes an answer to the bot as meant for it, but not the note that opened a topic", () => {
    const own = { message_id: 9, from: { id: 42, is_bot: true, first_name: "Hermes" }, text: "earlier" }
    expect(textIn(group, "and then?", named, { reply_to_message: own })).toBe("and then?")
    const opened = { ...own, text: undefined, forum_topic_created: { name: "t", icon_color: 1 } }
    expect(textIn(group, "and then?", named, { reply_to_message: opened })).toBe(null)
    expect(eventOf({ text: "x", reply_to_message: opened })?.replyTo).toBe(null)
    expect(eventOf({ text: "x", reply_to_message: own })?.replyTo).toEqual({
      messageId: "9",
      text: "earlier",
      author: "Hermes"
    })
    expect(eventOf({ text: "x", reply_to_message: own, quote: { text: "earl", position: 0 } })?.replyTo?.text).toBe(
      "earl"
    )
  })

  it("is silent about /start alone", () => {
    for (const text of ["/start", "/start deep-link", "/start@hermes_bot"]) expect(textIn(dm, text)).toBe(null)
    expect(textIn(dm, "/started")).toBe("/started")
  })

  it.each([
    [
      "photo",
      {
        photo: [
          { width: 90, height: 60 },
          { width: 1280, height: 720, file_size: 90_000 }
        ]
      },
      "photo (1280×720, 88 KB)"
    ],
    [
      "document",
      { document: { file_name: "plan] [x\n.pdf", mime_type: "application/pdf", file_size: 3_000_000 } },
      "document (plan x .pdf, application/pdf, 2.9 MB)"
    ],
    ["voice", { voice: { duration: 12, mime_type: "audio/ogg" } }, "voice message (audio/ogg, 12 s)"],
    ["video note", { video_note: { duration: 3 } }, "video message (3 s)"],
    ["animation, a document too", { animation: {}, document: {} }, "animation"],
    ["sticker", { sticker: { emoji: "🦆" } }, "sticker 🦆"],
    ["story", { story: {} }, "story"],
    ["paid media", { paid_media: { star_count: 3 } }, "paid media"]
  ])("never keeps silent about a %s", (_, fields, name) => {
    const note = `[attached: ${name}. They cannot be opened here; only their kind is known]`
    expect(eventOf(fields)?.text).toBe(note)
    expect(eventOf({ ...fields, caption: "look" })?.text).toBe(`look\n\n${note}`)
  })

  it("tells places, contacts, polls and dice in full", () => {
    expect(eventOf({ location: { latitude: 48.1, longitude: 11.5 } })?.text).toBe("[location: 48.1, 11.5]")
    expect(eventOf({ contact: { first_name: "Bob", phone_number: "+1" } })?.text).toBe("[contact: Bob +1]")
    expect(eventOf({ poll: { question: "Tea?", options: [{ text: "yes" }, { text: "no" }] } })?.text).toBe(
      "[poll: Tea? — yes / no]"
    )
    expect(eventOf({ dice: { emoji: "🎲", value: 5 } })?.text).toBe("[dice: 🎲 5]")
  })

  it.each([
    ["its own message", messageOf({ text: "x", from: { id: 42, is_bot: true, first_name: "H" } })],
    ["another bot", messageOf({ text: "x", from: { id: 43, is_bot: true, first_name: "B" } })],
    ["an edit", messageOf({ text: "x" }, "edited_message")],
    ["a service message", messageOf({ new_chat_members: [ada] })],
    ["a channel's post copied into its group", messageOf({ text: "x", is_automatic_forward: true })],
    ["a member's change", { update_id: 1, my_chat_member: { chat: dm } }],
    ["a kind of the future", { update_id: 1, telepathy: {} }],
    ["a message without a chat", { update_id: 1, message: { message_id: 1, date: 1 } }]
  ])("drops %s, and confirms it", (_, input) => {
    expect(incoming(input)).toMatchObject({ _tag: "Dropped", update: 1 })
  })

  it("says where an unknown shape is", () => {
    const found = incoming({ update_id: 1, message: { message_id: "ten", date: 1, chat: dm } })
    expect(found._tag === "Dropped" ? found.problem : null).toMatch(/message_id/)
  })

  it("costs a message no more than the field that it cannot read", () => {
    expect(
      eventOf({
        text: "x",
        reply_to_message: "nonsense",
        sticker: 3,
        media_group_id: {},
        from: { ...ada, last_name: 7 }
      })
    ).toMatchObject({
      text: "x",
      replyTo: null,
      source: { userName: "Ada" }
    })
  })

  it("names nobody where nobody can be told", () => {
    const anonymous = { id: 1_087_968_824, is_bot: true, first_name: "Group", username: "GroupAnonymousBot" }
    expect(eventOf({ chat: group, text: "x", from: anonymous, sender_chat: group })?.source).toMatchObject({
      userId: null,
      userName: "Engines"
    })
    const post = incoming(
      messageOf({ chat: { id: -5, type: "channel", title: "News" }, text: "x", from: undefined }, "channel_post")
    )
    expect(post._tag === "Written" ? Inbound.eventOf(post.written, bot, everything)?.source : null).toMatchObject({
      chatType: "channel",
      userId: null
    })
  })

  it("reads a button press with its place and presser", () => {
    const press = {
      id: "q",
      from: ada,
      data: "approve:1",
      message: { message_id: 5, date: 0, chat: group, message_thread_id: 7, is_topic_message: true }
    }
    const found = incoming({ update_id: 1, callback_query: press })
    expect(found).toMatchObject({ _tag: "Pressed", pressed: { callbackId: "q", value: "approve:1", threadId: "7" } })
    if (found._tag !== "Pressed") return
    expect(Inbound.pressEventOf(found.pressed, bot, 3)).toMatchObject({
      text: "",
      messageId: null,
      sentAt: 3,
      source: { userId: "7", chatId: "-100100", threadId: "7", chatType: "group" }
    })
    expect(incoming({ update_id: 1, callback_query: { ...press, message: undefined } })._tag).toBe("Dropped")
  })

  const anything = fc.jsonValue({ maxDepth: 6 })
  const almost = fc
    .record(
      {
        message_id: fc.oneof(fc.integer(), anything),
        date: fc.oneof(fc.integer(), anything),
        chat: fc.oneof(fc.constantFrom(dm, group), anything),
        from: fc.oneof(fc.constant(ada), anything),
        text: fc.oneof(fc.string({ unit: "binary" }), anything),
        caption: anything,
        photo: anything,
        reply_to_message: anything,
        poll: anything,
        venue: anything,
        media_group_id: anything
      },
      { requiredKeys: [] }
    )
    .chain((message) =>
      fc.constantFrom("message", "channel_post", "callback_query", "edited_message", "x").map((kind) => ({
        update_id: 1,
        [kind]: message
      }))
    )

  it.prop(
    "never throws, whatever comes",
    [fc.oneof(anything, almost, fc.anything())],
    ([input]) => {
      const update = Update.decode(input)
      if (update === null) return
      const found = Inbound.incoming(update, bot)
      if (found._tag === "Written") Inbound.eventOf(found.written, bot, named)
      if (found._tag === "Pressed") Inbound.pressEventOf(found.pressed, bot, 0)
    },
    { fastCheck: { numRuns: scaled(20_000) } }
  )
})
