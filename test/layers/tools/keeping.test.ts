/** The tools with which an agent keeps something: its steps, what it remembers, what was said, what it has learned. */
import { describe, it } from "@effect/vitest"
import { Effect, FastCheck, Layer } from "effect"
import { mkdtempSync, realpathSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { expect } from "vitest"
import * as SessionIdentity from "../../../src/fibers/SessionIdentity.js"
import * as ToolRegistryLayer from "../../../src/layers/agent/ToolRegistry.js"
import * as SessionStoreLayer from "../../../src/layers/sqlite/SessionStore.js"
import * as TodoStoreLayer from "../../../src/layers/sqlite/TodoStore.js"
import * as TranscriptLayer from "../../../src/layers/sqlite/Transcript.js"
import * as todoTool from "../../../src/layers/tools/todo.js"
import * as TodoList from "../../../src/services/agent/TodoList.js"
import { SessionId } from "../../../src/services/session/Session.js"
import { SessionStore } from "../../../src/services/session/SessionStore.js"
import { Database } from "../../../src/services/state/Database.js"
import { scaled } from "../../scale.js"
import { layerMemory } from "../sqlite/temporary.js"
import { desk, use } from "../support/desk.js"
import { ambient, files, ids, redactor, settingsLayer } from "../support/hands.js"

const home = realpathSync(mkdtempSync(path.join(tmpdir(), "keeping-")))

const base = Layer.mergeAll(settingsLayer(home), ambient({ HOME: home }), files, ids, redactor, layerMemory)

const layer = todoTool.layer.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      ToolRegistryLayer.layer,
      desk,
      Layer.mergeAll(SessionStoreLayer.layer, TranscriptLayer.layer, TodoStoreLayer.layer).pipe(
        Layer.provideMerge(base)
      )
    )
  )
)

const session = (id: string) =>
  Effect.gen(function* () {
    const sessions = yield* SessionStore
    const database = yield* Database
    yield* database.write(
      "test",
      sessions.create({
        id: SessionId.make(id),
        key: null,
        source: "telegram",
        origin: null,
        parentId: null,
        hidden: false,
        model: null
      })
    )
    return { identity: SessionIdentity.bind({ platform: "telegram", chatId: "a", sessionId: id, sessionKey: "key:a" }) }
  })

describe("todo", () => {
  it.live("keeps a list for the conversation, changes it by id and answers with all of it", () =>
    Effect.gen(function* () {
      const here = yield* session("one")
      const there = yield* session("other")
      const todo = (args: object, who = here) =>
        Effect.map(use("todo", args, who), (told) => (told.ok ? JSON.parse(told.text) : told.text))
      expect(yield* todo({})).toEqual({
        revision: 0,
        counts: { total: 0, pending: 0, in_progress: 0, completed: 0, cancelled: 0 },
        items: []
      })
      const written = yield* todo({
        items: [
          { id: "1", content: "look" },
          { id: "2", content: "do", status: "in_progress" },
          { id: "1", content: "look twice", status: "perhaps" }
        ]
      })
      // the last of an id counts, and what is being done comes first
      expect(written).toMatchObject({
        revision: 1,
        items: [
          { id: "2", content: "do", status: "in_progress" },
          { id: "1", content: "look twice", status: "pending" }
        ]
      })
      expect(yield* todo({ items: [{ id: "2", status: "completed" }], merge: true })).toMatchObject({
        revision: 2,
        counts: { completed: 1, pending: 1 }
      })
      expect((yield* todo({ items: [{ id: "2", status: "completed" }], merge: true })).revision).toBe(2)
      expect((yield* todo({}, there)).items).toEqual([])
      expect(yield* todo({ items: [{ id: "9", status: "pending" }], merge: true })).toContain("has no content")
      expect(yield* todo({ items: [{ id: "9", content: "x", parent: "8" }] })).toContain("is not there")
      expect(
        yield* todo({
          items: [
            { id: "8", content: "x", parent: "9" },
            { id: "9", content: "x", parent: "8" }
          ]
        })
      ).toContain("part of itself")
      expect((yield* todo({})).revision).toBe(2)
    }).pipe(Effect.provide(layer))
  )

  it("says again after a summary what is open, and only that", () => {
    const status = FastCheck.constantFrom(...TodoList.TodoStatus.literals)
    const drafts = FastCheck.array(
      FastCheck.record({
        id: FastCheck.constantFrom("a", "b", "c", "d"),
        content: FastCheck.string({ minLength: 1 }),
        status
      }),
      { maxLength: 8 }
    )
    FastCheck.assert(
      FastCheck.property(drafts, drafts, (first, second) => {
        const one = TodoList.changed(TodoList.empty, first, false)
        const two = "problem" in one ? one : TodoList.changed(one, second, true)
        if ("problem" in two) return
        expect(new Set(two.items.map(({ id }) => id)).size).toBe(two.items.length)
        const reminder = TodoList.reminder(two)
        expect(TodoList.withoutReminder(reminder === "" ? "before" : `before\n\n${reminder}`)).toBe("before")
        for (const { id, status: now } of two.items)
          expect(reminder.includes(`\n- ${id} (`)).toBe(now === "pending" || now === "in_progress")
      }),
      { numRuns: scaled(1_000) }
    )
  })
})
