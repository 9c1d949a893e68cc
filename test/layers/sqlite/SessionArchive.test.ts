/** A session that leaves one home as a file and comes into another is the same conversation there. */
import { assert, describe, expect, it } from "@effect/vitest"
import { Effect, Either, FastCheck as fc, Layer } from "effect"
import * as Ids from "../../../src/layers/node/Ids.js"
import * as CompactionStoreLayer from "../../../src/layers/sqlite/CompactionStore.js"
import * as SessionArchiveLayer from "../../../src/layers/sqlite/SessionArchive.js"
import * as SessionStoreLayer from "../../../src/layers/sqlite/SessionStore.js"
import * as TranscriptLayer from "../../../src/layers/sqlite/Transcript.js"
import { CompactionStore } from "../../../src/services/session/CompactionStore.js"
import { limits, SessionArchive, type SessionDocument } from "../../../src/services/session/SessionArchive.js"
import * as SessionFile from "../../../src/services/session/SessionFile.js"
import { SessionId } from "../../../src/services/session/Session.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { type Message, Transcript } from "../../../src/services/session/Transcript.js"
import { Database } from "../../../src/services/state/Database.js"
import { scaled } from "../../scale.js"
import { layerMemory } from "./temporary.js"

/** Two of them are two homes. */
const home = () =>
  Layer.fresh(
    Layer.mergeAll(
      SessionArchiveLayer.layer,
      SessionStoreLayer.layer,
      TranscriptLayer.layer,
      CompactionStoreLayer.layer
    ).pipe(Layer.provideMerge(Layer.mergeAll(layerMemory, Ids.layer)))
  )

const text = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 80 }),
  fc.constantFrom("## Person", "<!-- hermes {} -->", "\\<!-- hermes {}", "a\n\nb\n", "-->", "\n", "--", "```\n# x\n```")
)

const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ _tag: fc.constant("user" as const), text, platformMessageId: fc.constant(null) }),
  fc.record({
    _tag: fc.constant("assistant" as const),
    text,
    reasoning: fc.option(text),
    toolCalls: fc.array(fc.record({ id: text, name: text, arguments: text }), { maxLength: 2 }),
    finishReason: fc.constantFrom("stop", "tool_calls", "interrupted")
  }),
  fc.record({
    _tag: fc.constant("tool" as const),
    callId: text,
    tool: text,
    text,
    disposition: fc.constantFrom("ok", "error")
  })
)

const live = (id: SessionId) =>
  Effect.flatMap(Transcript, (transcript) =>
    Effect.map(transcript.load(id), (rows) => rows.map((row) => [row.message, row.at]))
  )

const file = (document: SessionDocument, format: SessionFile.Format): string =>
  SessionFile.sessionHead(document.session, format) +
  document.messages.map((one) => SessionFile.messageText(one, format)).join("")

describe("an exported session", () => {
  it.effect.prop(
    "comes back as it was, from either format, with its summary in its place",
    {
      before: fc.array(message, { minLength: 5, maxLength: 9 }),
      after: fc.array(message, { maxLength: 4 }),
      format: fc.constantFrom<SessionFile.Format>("jsonl", "markdown"),
      title: fc.option(text)
    },
    ({ after, before, format, title }) =>
      Effect.gen(function* () {
        const { document, rows, id } = yield* Effect.gen(function* () {
          const sessions = yield* SessionStore
          const transcript = yield* Transcript
          const database = yield* Database
          const { id } = yield* database.write(
            "test",
            sessions.create({ key: null, source: "cli", origin: null, parentId: null, hidden: false, model: "m" })
          )
          if (title !== null) yield* sessions.setTitle(id, title, "user")
          const appended = yield* database.write("test", transcript.append(id, null, before))
          const ids = appended.map((row) => row.id)
          const compactions = yield* CompactionStore
          const lease = yield* Effect.flatten(compactions.acquire(id))
          yield* database.write("test", transcript.append(id, null, after))
          yield* compactions.commit(lease, {
            rows: ids.slice(1, 4),
            position: ids[3] ?? 0,
            summary: "what was said",
            effective: true
          })
          return {
            id,
            document: yield* Effect.flatMap(SessionArchive, (archive) => archive.read(id, { after: 0, limit: 1_000 })),
            rows: yield* live(id)
          }
        }).pipe(Effect.provide(home()))

        const read = SessionFile.read(file(document, format))
        assert.isTrue(Either.isRight(read))
        const [again] = Either.getOrThrow(read)
        if (again === undefined) return
        yield* Effect.gen(function* () {
          const archive = yield* SessionArchive
          expect(yield* archive.write(again)).toBe("imported")
          expect(yield* archive.write(again)).toBe("present")
          // A text of which Markdown loses a last blank line would fail here.
          expect(yield* live(id)).toEqual(rows)
          const session = yield* Effect.flatMap(SessionStore, (sessions) => sessions.get(id))
          expect(session).toMatchObject({ title: document.session.title, model: "m", endReason: "imported", key: null })
        }).pipe(Effect.provide(home()))
      }),
    { fastCheck: { numRuns: scaled(80, 8) } }
  )

  it("is refused whole, with the line and what is wrong there", () => {
    const problem = (content: string) => Either.getOrThrow(Either.flip(SessionFile.read(content)))
    const session = JSON.stringify({
      type: "session",
      id: "s",
      title: null,
      source: "cli",
      startedAt: "2026-11-29T10:00:00Z",
      lastActivityAt: "2026-11-29T10:00:00Z"
    })
    expect(problem("")).toMatchObject({ problem: expect.stringContaining("no session") })
    expect(problem("hello")).toMatchObject({ problem: expect.stringContaining("no session") })
    expect(problem(`${session}\n{"type":"message","id":"x"}`)).toMatchObject({ line: 2 })
    expect(problem(`${session}\n${session}`)).toMatchObject({ line: 2, problem: expect.stringContaining("twice") })
    expect(problem('{"type":"message"}').line).toBe(1)
    expect(problem(session.replace('"s"', '"../s"')).message).toMatch(/^line 1: .*path/)
    const row = JSON.stringify({ type: "message", id: 1, at: "2026-11-29T10:00:00Z", role: "user", text: "x" })
    const many = `${session}\n${`${row}\n`.repeat(limits.messages + 1)}`
    expect(problem(many)).toMatchObject({ problem: expect.stringContaining("10000 messages") })
    expect(Either.isRight(SessionFile.read(`\ufeff${session}\r\n${row}\r\n`))).toBe(true)
  })
})
