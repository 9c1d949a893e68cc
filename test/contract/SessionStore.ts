/** What every layer that provides `SessionStore` and `Transcript` does. */
import { assert, describe, layer as suiteLayer } from "@effect/vitest"
import { Clock, Effect, FastCheck as fc, type Layer, Option, TestClock } from "effect"
import { type Session, SessionId } from "../../src/services/session/Session.js"
import { SessionAmbiguous, SessionNotFound, SessionStore, TitleTaken } from "../../src/services/session/SessionStore.js"
import { type Message, Transcript } from "../../src/services/session/Transcript.js"
import { Database, Transaction } from "../../src/services/state/Database.js"
import { StateRowUnreadable } from "../../src/services/state/StateError.js"
import { key, source } from "./sources.js"

const write = <A, E>(step: Effect.Effect<A, E, Transaction>) =>
  Effect.flatMap(Database, (database) => database.write("test", step))

let places = 0

const owner = { platform: "telegram", chatId: "1", userId: null }

const user = (text: string): Message => ({ _tag: "user", text, platformMessageId: "m1" })
const assistant: Message = {
  _tag: "assistant",
  text: "",
  reasoning: "because",
  toolCalls: [
    { id: "c1", name: "terminal", arguments: '{"command":"ls"}' },
    { id: "c2", name: "read_file", arguments: "not json" }
  ],
  finishReason: "tool_calls"
}
const tool: Message = { _tag: "tool", callId: "c1", tool: "terminal", text: "a\nb", disposition: "ok" }

export const suite = (name: string, stores: Layer.Layer<Database | SessionStore | Transcript>) =>
  describe(`SessionStore ${name}`, () => {
    suiteLayer(stores)((it) => {
      it.effect("a key has one session, however many ask for it at once", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const found = yield* Effect.forEach(
            Array.from({ length: 50 }),
            () => sessions.resolve(key("single-flight"), source()),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(new Set(found.map((session) => session.id)).size, 1)
          assert.strictEqual(found[0]?.source, "telegram")
          assert.deepStrictEqual(yield* sessions.peek(key("single-flight")), found[0])
        })
      )

      it.effect("peek never creates", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          assert.isNull(yield* sessions.peek(key("peek")))
          assert.isNull(yield* sessions.peek(key("peek")))
        })
      )

      it.effect("a route to a session that has ended or is gone heals itself", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const first = yield* sessions.resolve(key("heal"), source())
          yield* write(sessions.end(first.id, "agent_close"))
          const second = yield* sessions.resolve(key("heal"), source())
          assert.notStrictEqual(second.id, first.id)
          assert.isTrue(yield* sessions.remove(second.id))
          assert.isFalse(yield* sessions.remove(second.id))
          const third = yield* sessions.resolve(key("heal"), source())
          assert.notInclude([first.id, second.id], third.id)
        })
      )

      it.effect("a lost route finds the last open session of its key", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const open = yield* sessions.resolve(key("recover"), source())
          yield* write(Effect.flatMap(Transaction, (sql) => sql`DELETE FROM routes WHERE key = ${key("recover")}`))
          assert.strictEqual((yield* sessions.peek(key("recover")))?.id, open.id)
          assert.strictEqual((yield* sessions.resolve(key("recover"), source())).id, open.id)
        })
      )

      it.effect.prop(
        "the first end reason stays",
        {
          reasons: fc.array(fc.constantFrom("idle", "daily", "session_reset", "suspended"), {
            minLength: 1,
            maxLength: 6
          })
        },
        ({ reasons }) =>
          Effect.gen(function* () {
            const sessions = yield* SessionStore
            const session = yield* write(
              sessions.create({ key: null, source: "cli", origin: null, parentId: null, hidden: false, model: null })
            )
            yield* Effect.forEach(reasons, (reason) => write(sessions.end(session.id, reason)))
            assert.strictEqual((yield* sessions.get(session.id))?.endReason, reasons[0])
          }),
        { fastCheck: { numRuns: 20 } }
      )

      it.effect("/new ends the session, keeps its reason, and points the key to a fresh one", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const before = yield* sessions.resolve(key("reset"), source())
          const { fresh, previous } = yield* sessions.reset(key("reset"), source())
          assert.strictEqual(previous?.id, before.id)
          assert.strictEqual((yield* sessions.get(before.id))?.endReason, "session_reset")
          assert.strictEqual((yield* sessions.resolve(key("reset"), source())).id, fresh.id)
          assert.isNull((yield* sessions.reset(key("reset-first"), source())).previous)
        })
      )

      it.effect("creating one that is there answers it as it stands", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const id = SessionId.make("explicit")
          const make = (model: string) =>
            write(
              sessions.create({
                id,
                key: null,
                source: "api_server",
                origin: null,
                parentId: null,
                hidden: false,
                model
              })
            )
          yield* make("one")
          assert.strictEqual((yield* make("two")).model, "one")
        })
      )

      it.effect(
        "/resume finds by id, title and beginning of an id, only what is the owner's, and guesses nothing",
        () =>
          Effect.gen(function* () {
            const sessions = yield* SessionStore
            const make = (id: string, facts: Parameters<typeof source>[0] = {}, hidden = false) =>
              write(
                sessions.create({
                  id: SessionId.make(id),
                  key: key(`of-${id}`),
                  source: "telegram",
                  origin: source({ chatId: "resume", ...facts }),
                  parentId: null,
                  hidden,
                  model: null
                })
              )
            const mine = { platform: "telegram", chatId: "resume", userId: null }
            yield* Effect.all([
              make("abc-1"),
              make("abc-2"),
              make("xyz-1", { chatId: "other" }),
              make("zzz-1", {}, true)
            ])
            yield* make("per-user", { userId: "u2" })
            yield* sessions.setTitle(SessionId.make("abc-2"), "Holiday plans", "user")
            const resume = (
              reference: string,
              by: typeof mine | { platform: string; chatId: string; userId: string } = mine
            ) => sessions.resume(key("resume"), reference, by)

            assert.strictEqual((yield* resume("abc-1")).id, "abc-1")
            assert.strictEqual((yield* resume("holiday PLANS")).id, "abc-2")
            assert.strictEqual((yield* resume("per")).id, "per-user")
            assert.instanceOf(yield* Effect.flip(resume("abc")), SessionAmbiguous)
            for (const reference of ["xyz-1", "zzz-1", "nothing", "", "  ", "abc-1%", "_"])
              assert.instanceOf(yield* Effect.flip(resume(reference)), SessionNotFound)
            assert.instanceOf(yield* Effect.flip(resume("per-user", { ...mine, userId: "u1" })), SessionNotFound)
          })
      )

      it.effect("a conversation that several people share is everybody's, an isolated one its participant's", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const group = (userId: string) => source({ chatId: "garden", chatType: "group", userId })
          const isolated = yield* sessions.resolve(key("garden:u1"), group("u1"))
          const shared = yield* sessions.resolve(key("garden:7"), group("u1"))
          const visible = (userId: string) =>
            Effect.map(
              sessions.list({ owner: { platform: "telegram", chatId: "garden", userId }, limit: 10 }),
              (found) => found.map((session) => session.id).toSorted()
            )
          assert.deepStrictEqual(yield* visible("u1"), [isolated.id, shared.id].toSorted())
          assert.deepStrictEqual(yield* visible("u2"), [shared.id])
        })
      )

      it.effect("/resume ends the current session, opens the other and leaves it one key", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const here = source({ chatId: "switch" })
          const old = yield* sessions.resolve(key("switch"), here)
          const { fresh } = yield* sessions.reset(key("switch"), here)
          const elsewhere = yield* sessions.resolve(key("switch-thread"), source({ chatId: "switch", threadId: "7" }))
          const by = { platform: "telegram", chatId: "switch", userId: null }
          const resumed = yield* sessions.resume(key("switch"), old.id, by)
          assert.deepStrictEqual([resumed.id, resumed.endedAt, resumed.endReason], [old.id, null, null])
          assert.strictEqual((yield* sessions.get(fresh.id))?.endReason, "session_switch")
          yield* sessions.resume(key("switch"), elsewhere.id, by)
          assert.notStrictEqual((yield* sessions.resolve(key("switch-thread"), here)).id, elsewhere.id)
          assert.strictEqual((yield* sessions.resolve(key("switch"), here)).id, elsewhere.id)
        })
      )

      it.effect("lists an owner's sessions by activity, without delegates'", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const transcript = yield* Transcript
          const at = source({ chatId: "list" })
          const made: Array<Session> = []
          for (const name of ["list-a", "list-b", "list-c"]) {
            yield* TestClock.adjust(1_000)
            made.push(yield* sessions.resolve(key(name), at))
          }
          yield* write(
            sessions.create({
              key: null,
              source: "subagent",
              origin: at,
              parentId: made[0]!.id,
              hidden: true,
              model: null
            })
          )
          yield* TestClock.adjust(1_000)
          yield* write(transcript.append(made[0]!.id, null, [user("hi")]))
          const list = (limit: number, before?: number) =>
            Effect.map(
              sessions.list({
                owner: { ...owner, chatId: "list" },
                limit,
                ...(before === undefined ? {} : { before })
              }),
              (found) => found.map((session) => session.key)
            )
          assert.deepStrictEqual(yield* list(10), [key("list-a"), key("list-c"), key("list-b")])
          assert.deepStrictEqual(yield* list(1), [key("list-a")])
          assert.deepStrictEqual(yield* list(10, made[2]!.lastActivityAt + 1), [key("list-c"), key("list-b")])
          const everybody = yield* sessions.list({ owner: null, limit: 1_000 })
          assert.isFalse(everybody.some((session) => session.hidden))
          assert.includeMembers(
            everybody.map((session) => session.id),
            made.map((session) => session.id)
          )
        })
      )

      it.effect("lists on from a session where many have one millisecond", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const at = source({ chatId: "one-instant" })
          yield* TestClock.adjust(1_000)
          const made: Array<string> = []
          for (let number = 0; number < 7; number++) made.push((yield* sessions.resolve(key(`tie-${number}`), at)).id)
          const found: Array<string> = []
          let last: Session | undefined
          for (let page = 0; page < 4; page++) {
            const rows: ReadonlyArray<Session> = yield* sessions.list({
              owner: { ...owner, chatId: "one-instant" },
              limit: 2,
              ...(last === undefined ? {} : { before: last.lastActivityAt, beforeId: last.id })
            })
            found.push(...rows.map((session) => session.id))
            last = rows.at(-1)
          }
          assert.deepStrictEqual(found.toSorted(), made.toSorted())
        })
      )

      it.effect("titles are one clean line of at most 100 characters and belong to one session", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const [a, b] = yield* Effect.all([
            sessions.resolve(key("title-a"), source()),
            sessions.resolve(key("title-b"), source())
          ])
          const titled = yield* sessions.setTitle(a.id, "  Tea\n\u0007 time\u202E  ", "user")
          assert.strictEqual(titled.title, "Tea time")
          assert.instanceOf(yield* Effect.flip(sessions.setTitle(b.id, "Tea time", "user")), TitleTaken)
          assert.strictEqual((yield* sessions.setTitle(a.id, "Tea time", "user")).title, "Tea time")
          assert.strictEqual((yield* sessions.setTitle(b.id, "Tea time", "llm")).title, "Tea time #2")
          assert.strictEqual((yield* sessions.setTitle(b.id, "derived", "derived")).title, "Tea time #2")
          assert.strictEqual((yield* sessions.setTitle(a.id, "made up", "llm")).title, "Tea time")
          assert.strictEqual([...((yield* sessions.setTitle(a.id, "👍".repeat(300), "user")).title ?? "")].length, 100)
          assert.isNull((yield* sessions.setTitle(a.id, " \n ", "user")).title)
          assert.instanceOf(yield* Effect.flip(sessions.setTitle(SessionId.make("none"), "x", "user")), SessionNotFound)
        })
      )

      it.effect("a title derived many times is numbered, and nobody's own title is replaced", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const titles: Array<string | null> = []
          for (let i = 0; i < 20; i++) {
            const { id } = yield* sessions.resolve(key(`derive-${i}`), source())
            yield* write(sessions.deriveTitle(id, "[Ann] Good morning, old friend\nand more"))
            yield* write(sessions.deriveTitle(id, "something else"))
            titles.push((yield* sessions.get(id))?.title ?? null)
          }
          assert.strictEqual(titles[0], "Good morning, old friend")
          assert.strictEqual(new Set(titles).size, 20)
          const { id } = yield* sessions.resolve(key("derive-long"), source())
          yield* write(sessions.deriveTitle(id, "word ".repeat(40)))
          assert.isAtMost([...((yield* sessions.get(id))?.title ?? "")].length, 48)
        })
      )

      it.effect.prop(
        "the session of a place is the person's own, or the only one; several people's are nobody's",
        {
          there: fc.array(
            fc.record({
              user: fc.constantFrom("ann", "bob", "cid"),
              ended: fc.boolean(),
              thread: fc.constantFrom(null, "t")
            }),
            { maxLength: 5 }
          ),
          asked: fc.constantFrom("ann", "bob", null)
        },
        ({ asked, there }) =>
          Effect.gen(function* () {
            const sessions = yield* SessionStore
            const chatId = `place-${++places}`
            for (const [index, { ended, thread, user: userId }] of there.entries()) {
              const { id } = yield* write(
                sessions.create({
                  key: key(`${chatId}-${index}:${userId}`),
                  source: "telegram",
                  origin: source({ chatId, chatType: "group", threadId: thread, userId }),
                  parentId: null,
                  hidden: false,
                  model: null
                })
              )
              if (ended) yield* write(sessions.end(id, "idle"))
            }
            const found = yield* sessions.findByOrigin({ platform: "telegram", chatId, threadId: null, userId: asked })
            const live = there.filter((one) => !one.ended)
            const own = live.filter((one) => one.user === asked)
            const candidates = own.length > 0 ? own : live
            const sure =
              new Set(candidates.map((one) => one.user)).size === 1 &&
              new Set(candidates.map((one) => one.thread)).size === 1
            assert.strictEqual(found !== null, sure)
            if (found !== null) assert.strictEqual(found.userId, candidates[0]?.user)
          }),
        { fastCheck: { numRuns: 20 } }
      )

      it.effect(
        "pruning takes what has ended and is old, and nothing that is pinned or that a pinned one came from",
        () =>
          Effect.gen(function* () {
            const sessions = yield* SessionStore
            const make = (name: string) => sessions.resolve(key(`prune-${name}`), source({ chatId: `prune-${name}` }))
            const [open, old, pinned] = [yield* make("open"), yield* make("old"), yield* make("pinned")]
            yield* write(sessions.end(old.id, "idle"))
            const child = yield* sessions.branch(key("prune-pinned"), source({ chatId: "prune-pinned" }), null)
            yield* write(Effect.zipRight(sessions.end(child.id, "idle"), sessions.setPinned(child.id, true)))
            yield* TestClock.adjust("10 days")
            const before = (yield* Clock.currentTimeMillis) - 1
            const due = yield* sessions.prune({ before, limit: 1_000, dryRun: true })
            assert.isTrue(due.includes(old.id))
            assert.isFalse([open, pinned, child].some(({ id }) => due.includes(id)))
            yield* sessions.prune({ before, limit: 1_000 })
            assert.isNull(yield* sessions.get(old.id))
            assert.isNotNull(yield* sessions.get(pinned.id))
          })
      )

      it.effect("runs of jobs are listed alone, or left out", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const talk = yield* sessions.resolve(key("talk"), source({ chatId: "talk" }))
          const run = yield* write(
            sessions.create({ key: null, source: "cron", origin: null, parentId: null, hidden: false, model: null })
          )
          const listed = (which: { readonly runs?: boolean }) =>
            Effect.map(sessions.list({ owner: null, limit: 1_000, ...which }), (rows) =>
              rows.map(({ id }) => id).filter((id) => id === talk.id || id === run.id)
            )
          assert.sameMembers([...(yield* listed({}))], [talk.id, run.id])
          assert.deepStrictEqual([yield* listed({ runs: true }), yield* listed({ runs: false })], [[run.id], [talk.id]])
        })
      )

      it.effect("what is archived is out of the list until something is said there", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const transcript = yield* Transcript
          const chat = source({ chatId: "archive" })
          const mine = { platform: "telegram", chatId: "archive", userId: null }
          const { id } = yield* sessions.resolve(key("archive"), chat)
          const listed = (archived: boolean) =>
            Effect.map(sessions.list({ owner: mine, limit: 10, archived }), (rows) => rows.map((row) => row.id))
          yield* write(sessions.setArchived(id, true))
          assert.deepStrictEqual([yield* listed(false), yield* listed(true)], [[], [id]])
          yield* write(transcript.append(id, null, [user("again")]))
          assert.deepStrictEqual([yield* listed(false), yield* listed(true)], [[id], []])
        })
      )

      it.effect("prompt, tools and model are pinned once", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const { id } = yield* sessions.resolve(key("pin"), source())
          yield* write(sessions.pinPrompt(id, { systemPrompt: "be kind", toolNames: ["a", "b"], model: "m" }))
          yield* write(sessions.pinPrompt(id, { systemPrompt: "be cruel", toolNames: [], model: "n" }))
          const session = yield* sessions.get(id)
          assert.deepStrictEqual(
            [session?.systemPrompt, session?.toolNames, session?.model],
            ["be kind", ["a", "b"], "m"]
          )
        })
      )

      it.effect("flags", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const { id } = yield* sessions.resolve(key("flags"), source())
          yield* write(Effect.zipRight(sessions.setSuspended(id, true), sessions.setUnread(id, true)))
          const session = yield* sessions.get(id)
          assert.deepStrictEqual([session?.suspended, session?.unread], [true, true])
        })
      )

      it.effect("removing a session takes its messages and delegates and leaves its branches without a parent", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const transcript = yield* Transcript
          const parent = yield* sessions.resolve(key("remove"), source())
          const child = (id: string, parentId: SessionId, hidden: boolean) =>
            write(
              sessions.create({
                id: SessionId.make(id),
                key: null,
                source: "x",
                origin: null,
                parentId,
                hidden,
                model: null
              })
            )
          const delegate = yield* child("remove-delegate", parent.id, true)
          const grandchild = yield* child("remove-grandchild", delegate.id, true)
          const branch = yield* child("remove-branch", parent.id, false)
          yield* write(transcript.append(grandchild.id, null, [user("x")]))
          assert.isTrue(yield* sessions.remove(parent.id))
          assert.deepStrictEqual(
            yield* Effect.forEach([parent.id, delegate.id, grandchild.id], (id) => sessions.get(id)),
            [null, null, null]
          )
          assert.deepStrictEqual(yield* transcript.load(grandchild.id), [])
          assert.isNull((yield* sessions.get(branch.id))?.parentId)
        })
      )

      it.effect("a transcript comes back as it was written, with counters and activity", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const transcript = yield* Transcript
          const { id } = yield* sessions.resolve(key("transcript"), source())
          yield* TestClock.adjust(5_000)
          const appended = yield* write(transcript.append(id, "t1", [user("hi"), assistant, tool]))
          const ids = appended.map((row) => row.id)
          assert.deepStrictEqual(
            ids,
            ids.toSorted((a, b) => a - b)
          )
          const stored = yield* transcript.load(id)
          assert.deepStrictEqual(
            stored.map((row) => row.message),
            [user("hi"), assistant, tool]
          )
          assert.deepStrictEqual(
            stored.map(({ at, id }) => ({ id, at })),
            appended
          )
          assert.isTrue(stored.every((row) => row.turnId === "t1"))
          const session = yield* sessions.get(id)
          assert.deepStrictEqual([session?.messageCount, session?.lastActivityAt], [3, stored[0]?.at])
          assert.deepStrictEqual(yield* write(transcript.append(id, null, [])), [])
        })
      )

      it.effect("thousands of rows are appended at once, in order", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const transcript = yield* Transcript
          const { id } = yield* sessions.resolve(key("many"), source())
          const texts = Array.from({ length: 4_321 }, (_, index) => `${index}`)
          yield* write(transcript.append(id, null, texts.map(user)))
          assert.deepStrictEqual(
            (yield* transcript.load(id)).map((row) => row.message.text),
            texts
          )
        })
      )

      it.effect("pages run backwards, newest last", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const transcript = yield* Transcript
          const { id } = yield* sessions.resolve(key("page"), source())
          const appended = yield* write(transcript.append(id, null, ["1", "2", "3", "4", "5"].map(user)))
          const texts = (options: { limit: number; beforeId?: number }) =>
            Effect.map(transcript.page(id, options), (rows) => rows.map((row) => row.message.text))
          assert.deepStrictEqual(yield* texts({ limit: 2 }), ["4", "5"])
          assert.deepStrictEqual(yield* texts({ limit: 2, beforeId: appended[3]!.id }), ["2", "3"])
          assert.deepStrictEqual(yield* texts({ limit: 9, beforeId: appended[0]!.id }), [])
        })
      )

      it.effect("a batch that cannot be stored whole is not stored at all", () =>
        Effect.gen(function* () {
          const transcript = yield* Transcript
          const lost = SessionId.make("no-such-session")
          assert.isTrue(
            Option.isSome(Option.some(yield* Effect.flip(write(transcript.append(lost, null, [user("x")])))))
          )
          assert.deepStrictEqual(yield* transcript.load(lost), [])
        })
      )

      it.effect("a row that no program of ours wrote is an error, not a guess", () =>
        Effect.gen(function* () {
          const sessions = yield* SessionStore
          const transcript = yield* Transcript
          const { id } = yield* sessions.resolve(key("foreign"), source())
          yield* write(
            Effect.flatMap(
              Transaction,
              (sql) => sql`INSERT INTO messages (session_id, at, role, text, tool_calls, outcome)
                VALUES (${id}, 1, 'assistant', '', '[{"id":1}]', 'stop')`
            )
          )
          const error = yield* Effect.flip(transcript.load(id))
          assert.instanceOf(error, StateRowUnreadable)
        })
      )
    })
  })
