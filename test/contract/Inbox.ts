/** What every layer that provides `Inbox` and `ChannelDirectory` does. */
import { assert, describe, layer as suiteLayer } from "@effect/vitest"
import { Clock, Effect, FastCheck as fc, type Layer, TestClock } from "effect"
import * as CronMarker from "../../src/fibers/CronMarker.js"
import { ChannelDirectory } from "../../src/services/adapter/ChannelDirectory.js"
import { Inbox, type StoredArrival } from "../../src/services/conversation/Inbox.js"
import { Database } from "../../src/services/state/Database.js"
import { event, key, source } from "./sources.js"

const arrival: StoredArrival = {
  asyncDelivery: true,
  marker: CronMarker.cron({ job: "j", run: null, createdBy: { platform: "telegram", userId: "u" } }),
  unattended: "single_query",
  workingDirectory: "/tmp"
}

const nullable = fc.constantFrom(null, "", "1", "2")

export const suite = (name: string, stores: Layer.Layer<Database | Inbox | ChannelDirectory>) =>
  describe(`Inbox ${name}`, () => {
    suiteLayer(stores)((it) => {
      it.effect("what was accepted comes back as it was, in order of acceptance", () =>
        Effect.gen(function* () {
          const inbox = yield* Inbox
          const sent = event({
            text: "look",
            messageId: "m-1",
            replyTo: { messageId: "m-0", text: "see", author: null },
            media: [{ path: "/tmp/a", mimeType: "image/png", name: null }]
          })
          const first = yield* inbox.accept(key("inbox"), sent, arrival)
          const second = yield* inbox.accept(key("inbox"), event({ text: "more" }), arrival)
          const unbegun = yield* inbox.unbegun
          assert.deepStrictEqual(
            unbegun.map((entry) => entry.id),
            [first?.id, second?.id]
          )
          assert.deepStrictEqual(unbegun[0]?.event, sent)
          assert.isTrue(CronMarker.same(unbegun[0]!.arrival.marker, arrival.marker))
          assert.deepStrictEqual({ ...unbegun[0]!.arrival, marker: null }, { ...arrival, marker: null })
          assert.deepStrictEqual(yield* inbox.get(first!.id), unbegun[0])
          assert.isBelow(first!.sequence, second!.sequence)
          const db = yield* Database
          yield* db.write(
            "test",
            Effect.zipRight(inbox.settle(first!.id, "running", "t1"), inbox.settle(second!.id, "dropped", null))
          )
          yield* db.write("test", inbox.settle(first!.id, "answered", null))
          assert.deepStrictEqual(yield* inbox.unbegun, [])
          const settled = yield* inbox.get(first!.id)
          assert.deepStrictEqual([settled?.state, settled?.turnId], ["answered", "t1"])
          assert.isNull(yield* inbox.get("none"))

          // Taken up by a turn as it comes: nothing that waits, and once.
          const again = event({ text: "now", messageId: "m-now" })
          const take = (id: string, turnId: string) =>
            db.write("test", inbox.acceptWith(id, key("inbox"), again, arrival, turnId))
          const taken = yield* take("evt_now", "t2")
          assert.deepStrictEqual(yield* inbox.get("evt_now"), taken)
          assert.deepStrictEqual([taken?.state, taken?.turnId], ["running", "t2"])
          assert.isAbove(taken!.sequence, second!.sequence)
          assert.isNull(yield* take("evt_again", "t3"))
          assert.isNull(yield* inbox.get("evt_again"))
          assert.deepStrictEqual(yield* inbox.unbegun, [])
        })
      )

      it.effect("tells what was handed to turns that ran: of one conversation, by when it was accepted, in order", () =>
        Effect.gen(function* () {
          const inbox = yield* Inbox
          const db = yield* Database
          const begin = yield* Clock.currentTimeMillis
          const accepted = (name: string, text: string) => inbox.accept(key(name), event({ text }), arrival)
          const entries = [
            yield* accepted("steer", "one"),
            yield* accepted("steer", "two"),
            yield* accepted("steer", "waits"),
            yield* accepted("other", "elsewhere")
          ]
          yield* TestClock.adjust("1 minute")
          const later = yield* accepted("steer", "later")
          for (const entry of [...entries.filter((entry) => entry?.event.text !== "waits"), later])
            yield* db.write("test", inbox.settle(entry!.id, "steered", null))
          const texts = (from: number, to: number) =>
            Effect.map(inbox.steered(key("steer"), { from, to }), (found) => found.map(({ event }) => event.text))
          assert.deepStrictEqual(yield* texts(begin, begin), ["one", "two"])
          assert.deepStrictEqual(yield* texts(begin, begin + 60_000), ["one", "two", "later"])
          assert.deepStrictEqual(yield* texts(begin + 1, begin + 59_999), [])
          yield* db.write("test", inbox.settle(entries[2]!.id, "dropped", null))
        })
      )

      let batches = 0
      it.effect.prop(
        "a platform message is accepted once per (platform, bot, chat, message id), null and empty being one",
        {
          arrivals: fc.array(
            fc.record({
              platform: fc.constantFrom("telegram", "slack"),
              botId: nullable,
              chatId: nullable,
              messageId: fc.constantFrom(null, "a", "b")
            }),
            { minLength: 1, maxLength: 24 }
          )
        },
        ({ arrivals }) =>
          Effect.gen(function* () {
            const inbox = yield* Inbox
            // The store is the same for every run, so each brings messages of its own.
            const batch = ++batches
            const accepted = yield* Effect.forEach(
              arrivals,
              ({ botId, chatId, messageId, platform }) =>
                inbox.accept(
                  key("once"),
                  event({
                    source: source({ platform, botId, chatId }),
                    messageId: messageId === null ? null : `${batch}-${messageId}`
                  }),
                  arrival
                ),
              { concurrency: "unbounded" }
            )
            const identities = new Set<string>()
            const expected = arrivals.filter(({ botId, chatId, messageId, platform }) => {
              if (messageId === null) return true
              const identity = JSON.stringify([platform, botId ?? "", chatId ?? "", messageId])
              return identities.size < identities.add(identity).size
            })
            assert.strictEqual(accepted.filter((entry) => entry !== null).length, expected.length)
          }),
        { fastCheck: { numRuns: 15 } }
      )

      it.effect("the chats that were met are known by name, the last seen first", () =>
        Effect.gen(function* () {
          const inbox = yield* Inbox
          const channels = yield* ChannelDirectory
          const from = (facts: Parameters<typeof source>[0]) =>
            inbox.accept(key("met"), event({ source: source({ platform: "met", ...facts }) }), arrival)
          yield* from({ chatId: "g", chatName: "Garden", chatType: "group" })
          yield* TestClock.adjust(1_000)
          yield* from({ chatId: "g", threadId: "7", chatType: "thread" })
          yield* TestClock.adjust(120_000)
          yield* from({ chatId: "g", chatName: null, chatType: "group" })
          yield* from({ chatId: null })
          yield* from({ platform: "", chatId: "terminal" })
          const met = yield* channels.list(["met"], 10)
          assert.deepStrictEqual(
            met.map(({ chatId, name: called, threadId, type }) => ({ chatId, called, threadId, type })),
            [
              { chatId: "g", called: "Garden", threadId: null, type: "group" },
              { chatId: "g", called: null, threadId: "7", type: "thread" }
            ]
          )
          yield* from({ chatId: "g", chatName: "Orchard", chatType: "group" })
          assert.strictEqual((yield* channels.list(["met"], 10))[0]?.name, "Orchard")
          assert.includeMembers(
            (yield* channels.list(null, 10)).map((chat) => chat.platform),
            ["met"]
          )
        })
      )

      it.effect("a topic that was opened keeps its name, whoever writes there, until another takes its place", () =>
        Effect.gen(function* () {
          const inbox = yield* Inbox
          const channels = yield* ChannelDirectory
          const write = (chatId: string, threadId: string, messageId: string) =>
            inbox.accept(
              key("named"),
              event({ messageId, source: source({ platform: "named", chatId, chatName: "News", threadId }) }),
              arrival
            )
          const open = (chatId: string, threadId: string, name: string) =>
            channels.rememberTopic({ platform: "named", chatId, threadId, name })
          const find = (chatId: string, name: string) => channels.topic({ platform: "named", chatId, name })
          // A thread of a person of that name is none that was opened under it.
          yield* write("1", "5", "a")
          assert.isNull(yield* find("1", "News"))
          yield* open("1", "6", "Reports")
          yield* open("1", "7", "News")
          yield* open("2", "8", "Reports")
          yield* write("1", "6", "b")
          assert.strictEqual(yield* find("1", "reports"), "6")
          assert.strictEqual(yield* find("1", "News"), "7")
          yield* open("1", "9", "Reports")
          assert.strictEqual(yield* find("1", "Reports"), "9")
          assert.strictEqual(yield* find("2", "Reports"), "8")
          assert.sameMembers(
            (yield* channels.list(["named"], 10)).map(({ chatId, threadId }) => `${chatId}:${threadId}`),
            ["1:5", "1:7", "1:9", "2:8"]
          )
        })
      )
    })
  })
