import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import * as Gathering from "../../../src/layers/telegram/Gathering.js"
import type { Written } from "../../../src/layers/telegram/Inbound.js"
import { Chat } from "../../../src/layers/telegram/Update.js"
import { Schema } from "effect"
import { scaled } from "../../scale.js"

const chatOf = (id: number) => Schema.decodeUnknownSync(Chat)({ id, type: "private" })

const written = (update: number, fields: Partial<Written> = {}): Written => ({
  updates: [update],
  chat: chatOf(1),
  threadId: null,
  userId: "1",
  userName: "Ada",
  messageId: String(update),
  album: null,
  text: `text ${update}`,
  files: [],
  attachments: [],
  replyTo: null,
  answersBot: false,
  sentAt: update,
  ...fields
})

const photo = (update: number, fields: Partial<Written> = {}): Written =>
  written(update, { album: "a", text: "", files: ["photo"], ...fields })

const long = (update: number): Written => written(update, { text: String(update).repeat(4_000).slice(0, 4_000) })

const take = (steps: ReadonlyArray<readonly [at: number, ...messages: ReadonlyArray<Written>]>) => {
  let gathering = Gathering.empty
  return steps.map(([at, ...messages]) => {
    const taken = Gathering.take(gathering, messages, at)
    gathering = taken.gathering
    return taken.whole
  })
}

describe("Gathering", () => {
  it("lets every ordinary message go on at once, also one of 3,999 units", () => {
    const edge = written(2, { text: "x".repeat(3_999) })
    expect(take([[0, written(1), edge, written(3)]])).toEqual([[written(1), edge, written(3)]])
  })

  it("merges an album, wherever it is cut into answers, with the id of its last piece", () => {
    const [first, second, third] = take([
      [0, photo(1, { text: "look", replyTo: { messageId: "0", text: "t", author: "b" } }), photo(2)],
      [100, photo(3)],
      [700]
    ])
    expect(first).toEqual([])
    expect(second).toEqual([])
    expect(third).toEqual([
      photo(3, {
        updates: [1, 2, 3],
        text: "look",
        files: ["photo", "photo", "photo"],
        replyTo: { messageId: "0", text: "t", author: "b" }
      })
    ])
  })

  it("waits no longer than 600 ms for the next picture, 2 s for all, and not at all after ten", () => {
    expect(take([[0, photo(1)], [599], [600]]).map((whole) => whole.length)).toEqual([0, 0, 1])
    const slow = Array.from({ length: 5 }, (_, n) => [n * 500, photo(n)] as const)
    expect(take(slow).map((whole) => whole.length)).toEqual([0, 0, 0, 0, 1])
    const ten = Array.from({ length: 10 }, (_, n) => photo(n))
    expect(take([[0, ...ten]])[0]).toHaveLength(1)
  })

  it("merges a text that the client split; a short piece ends it", () => {
    const [whole] = take([[0, long(1), long(2), written(3, { text: "the end" })]])
    expect(whole).toHaveLength(1)
    expect(whole?.[0]?.text).toBe(`${long(1).text}\n${long(2).text}\nthe end`)
    expect(whole?.[0]).toMatchObject({ messageId: "3", updates: [1, 2, 3] })
    expect(take([[0, long(1)], [1_999], [2_000]]).map((one) => one.length)).toEqual([0, 0, 1])
  })

  it.each([
    ["a command", written(2, { text: "/stop" })],
    ["a photo", written(2, { files: ["photo"] })],
    ["an answer to something", written(2, { replyTo: { messageId: "0", text: null, author: null } })],
    ["another album", photo(2, { album: "b" })]
  ])("lets go of what it holds when %s follows", (_, next) => {
    const [whole] = take([[0, long(1), next]])
    expect(whole?.[0]).toEqual(long(1))
  })

  it("keeps people, chats and topics apart, and holds up nobody else", () => {
    const bob = written(2, { userId: "2", text: "me too" })
    const topic = written(3, { threadId: "9" })
    const other = written(4, { chat: chatOf(2) })
    expect(take([[0, long(1), bob, topic, other]])).toEqual([[bob, topic, other]])
  })

  it("says what may not be confirmed and until when", () => {
    const { gathering } = Gathering.take(Gathering.empty, [photo(5), photo(6)], 1_000)
    expect(Gathering.heldUpdates(gathering)).toEqual([5, 6])
    expect(Gathering.untilDue(gathering, 1_100)).toBe(500)
    expect(Gathering.untilDue(Gathering.empty, 0)).toBe(null)
  })

  const messages = fc.array(
    fc.record({
      user: fc.constantFrom("1", "2"),
      chat: fc.constantFrom(1, 2),
      kind: fc.constantFrom("plain", "long", "album a", "album b", "command"),
      after: fc.constantFrom(0, 50, 500, 3_000)
    }),
    { maxLength: 30 }
  )

  it.prop(
    "loses nothing, repeats nothing and keeps each person's order",
    [messages],
    ([all]) => {
      let gathering = Gathering.empty
      let now = 0
      const whole: Array<Written> = []
      for (const [index, { user, chat, kind, after }] of all.entries()) {
        now += after
        const fields = {
          userId: user,
          chat: chatOf(chat),
          text: kind === "long" ? "l".repeat(4_096) : kind === "command" ? "/x" : "p"
        }
        const album = kind.startsWith("album") ? kind : null
        const taken = Gathering.take(
          gathering,
          [written(index, { ...fields, album, files: album === null ? [] : ["photo"] })],
          now
        )
        gathering = taken.gathering
        whole.push(...taken.whole)
      }
      whole.push(...Gathering.take(gathering, [], Number.POSITIVE_INFINITY).whole)
      expect(whole.flatMap((one) => one.updates).sort((a, b) => a - b)).toEqual(all.map((_, index) => index))
      for (const user of ["1", "2"])
        for (const chat of [1, 2]) {
          const own = whole.filter((one) => one.userId === user && one.chat.id === chat).flatMap((one) => one.updates)
          expect(own).toEqual([...own].sort((a, b) => a - b))
        }
    },
    { fastCheck: { numRuns: scaled(3_000) } }
  )
})
