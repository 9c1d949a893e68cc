/** /compress, /undo, /retry and /branch through the whole gateway in memory, and compaction inside turns. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { ModelRequest } from "../../../src/services/agent/ModelRoute.js"
import * as SummaryText from "../../../src/services/session/SummaryText.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { Transcript } from "../../../src/services/session/Transcript.js"
import { Activity } from "../../../src/services/operation/Activity.js"
import { Database, Transaction } from "../../../src/services/state/Database.js"
import * as Testing from "../../../src/testing/index.js"

const only = Effect.map(Testing.AdapterInMemory, (adapters) => adapters.only)
const say = (text: string) => Effect.flatMap(only, (adapter) => adapter.say(text))
const heard = (text: string, count = 1) =>
  Effect.flatMap(only, (adapter) =>
    adapter.sent.waitFor(text, (sent) => sent.text.includes(text), { count, seconds: 20 })
  )

const lastUser = (request: ModelRequest): string =>
  request.messages.findLast((message) => message._tag === "user")?.text ?? ""

const isSummary = (request: ModelRequest): boolean => request.systemPrompt === SummaryText.instructions

let answers = 0
const model = (request: ModelRequest): Testing.StepInput =>
  isSummary(request) ? Testing.say("they counted") : Testing.say(`answer ${++answers} to: ${lastUser(request)}`)

const live = Effect.gen(function* () {
  const [session] = yield* Effect.flatMap(SessionStore, (sessions) => sessions.list({ owner: null, limit: 1 }))
  if (session === undefined) return []
  const rows = yield* Effect.flatMap(Transcript, (transcript) => transcript.load(session.id))
  return rows.map(({ message }) => `${message._tag}: ${message.text}`)
})

const talk = (words: ReadonlyArray<string>) =>
  Effect.forEach(words, (word) => Effect.zipRight(say(word), heard(`to: ${word}`)), { discard: true })

const small = { compression: { protectFirst: 1, protectLast: 2 } }

describe("session commands", () => {
  it.scopedLive("/undo and /retry mean what a person said, not what came into the conversation by itself", () =>
    Effect.gen(function* () {
      yield* talk(["one", "two"])
      const database = yield* Database
      yield* database.write(
        "test",
        Effect.flatMap(
          Transaction,
          (
            sql
          ) => sql`UPDATE inbound_events SET event = json_set(event, '$.internal', json('{"kind":"process","id":"p"}'))
            WHERE event LIKE '%two%'`
        )
      )
      yield* say("/retry")
      yield* heard("to: one", 2)
      expect((yield* live).filter((row) => row.startsWith("user"))).toEqual(["user: one"])
      yield* talk(["three"])
      yield* database.write(
        "test",
        Effect.flatMap(
          Transaction,
          (
            sql
          ) => sql`UPDATE inbound_events SET event = json_set(event, '$.internal', json('{"kind":"process","id":"q"}'))
            WHERE event LIKE '%three%'`
        )
      )
      yield* say("/undo")
      yield* heard('"one"')
      expect(yield* live).toEqual([])
    }).pipe(Effect.provide(Testing.gateway({ model })))
  )

  it.scopedLive("/undo takes the last message back, /retry answers it again, and neither touches what was before", () =>
    Effect.gen(function* () {
      yield* talk(["one", "two"])
      yield* say("/undo")
      yield* heard('"two"')
      const left = yield* live
      expect(left).toHaveLength(2)
      expect(left[0]).toBe("user: one")
      yield* say("/retry")
      yield* heard("to: one", 2)
      const again = yield* live
      expect(again).toHaveLength(2)
      expect(again[0]).toBe("user: one")
      expect(again[1]).not.toBe(left[1])
      yield* say("/undo 5")
      yield* heard('"one"')
      expect(yield* live).toEqual([])
      yield* say("/retry")
      yield* heard("nothing here that could be taken back")
    }).pipe(Effect.provide(Testing.gateway({ model })))
  )

  it.scopedLive("/retry keeps the pictures of what was said, and says at once that what came of it is gone", () =>
    Effect.gen(function* () {
      yield* talk(["look"])
      const pictures = [{ path: "/nowhere/a.png", mimeType: "image/png" }]
      const database = yield* Database
      yield* database.write(
        "test",
        Effect.flatMap(
          Transaction,
          (sql) => sql`UPDATE messages SET media = ${JSON.stringify(pictures)} WHERE role = 'user'`
        )
      )
      const feed = yield* (yield* Activity).watch(({ _tag }) => _tag === "session.changed" || _tag === "turn.started")
      yield* say("/retry")
      yield* heard("to: look", 2)
      expect((yield* feed.take).map(({ _tag }) => _tag)).toEqual(["session.changed", "turn.started"])
      const [session] = yield* Effect.flatMap(SessionStore, (sessions) => sessions.list({ owner: null, limit: 1 }))
      const rows = yield* Effect.flatMap(Transcript, (transcript) => transcript.load(session!.id))
      expect(rows.map(({ message }) => (message._tag === "user" ? message.media : null))).toEqual([pictures, null])
    }).pipe(Effect.provide(Testing.gateway({ model })))
  )

  it.scopedLive("/branch goes on in a copy, and /resume brings back what it came from", () =>
    Effect.gen(function* () {
      yield* talk(["begin"])
      yield* say("/branch other way")
      yield* heard('a copy, "other way"')
      yield* talk(["in the branch"])
      expect((yield* live).filter((row) => row.startsWith("user"))).toEqual(["user: begin", "user: in the branch"])
      yield* say("/resume begin")
      yield* heard('Back in "begin"')
      yield* talk(["in the trunk"])
      expect((yield* live).filter((row) => row.startsWith("user"))).toEqual(["user: begin", "user: in the trunk"])
    }).pipe(Effect.provide(Testing.gateway({ model })))
  )

  it.scopedLive("/compress summarises what is before the last messages, and the model reads the summary", () =>
    Effect.gen(function* () {
      yield* talk(["a", "b", "c", "d"].map((letter) => `${letter} ${"word ".repeat(100)}end`))
      yield* say("/compress")
      yield* heard("messages are a summary now")
      expect((yield* live).filter((row) => row.startsWith("summary"))).toEqual(["summary: they counted"])
      yield* talk(["after"])
      const requests = yield* Effect.flatMap(Testing.ScriptedModel, (scripted) => scripted.requests)
      const last = requests.at(-1)
      expect(last?.messages.some((message) => message.text.includes(SummaryText.framed("they counted")))).toBe(true)
      yield* say("/compress")
      yield* heard("too little here")
    }).pipe(Effect.provide(Testing.gateway({ model, settings: small })))
  )

  it.scopedLive("a conversation that the model refuses as too large is compacted and answered in the same turn", () =>
    Effect.gen(function* () {
      yield* talk(["a", "b", "c"].map((letter) => `${letter} ${"word ".repeat(200)}end`))
      yield* say("too large now")
      yield* heard("to: too large now")
      const rows = yield* live
      expect(rows.filter((row) => row.startsWith("summary"))).toHaveLength(1)
      expect(rows.at(-2)).toBe("user: too large now")
    }).pipe(
      Effect.provide(
        Testing.gateway({
          settings: small,
          model: (request) =>
            !isSummary(request) && request.messages.length > 5 ? Testing.fail("context_overflow") : model(request)
        })
      )
    )
  )

  it.scopedLive("a conversation over its share of the window is compacted before the model is asked", () =>
    Effect.gen(function* () {
      yield* talk(["a", "b", "c", "d", "e"].map((letter) => `${letter} ${"word ".repeat(400)}end`))
      const requests = yield* Effect.flatMap(Testing.ScriptedModel, (scripted) => scripted.requests)
      expect(requests.some(isSummary)).toBe(true)
      expect((yield* live).filter((row) => row.startsWith("summary"))).toHaveLength(1)
    }).pipe(
      Effect.provide(
        Testing.gateway({
          model,
          settings: { compression: { protectFirst: 1, protectLast: 2, thresholdTokens: 3_500 } }
        })
      )
    )
  )

  it.scopedLive("a refusal that no summary can cure is told, and nothing is lost", () =>
    Effect.gen(function* () {
      yield* say("huge")
      yield* heard("too large for the model")
      expect((yield* live)[0]).toBe("user: huge")
    }).pipe(Effect.provide(Testing.gateway({ model: () => Testing.fail("context_overflow") })))
  )
})
