import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { compose, fromRows, type Block } from "../../../../src/layers/web/page/blocks.js"
import type { Event, Message } from "../../../../src/layers/web/page/gateway.js"
import { type Action, reduce } from "../../../../src/layers/web/page/reduce.js"
import { initial, type State } from "../../../../src/layers/web/page/state.js"
import type { Part } from "../../../../src/layers/web/page/turns.js"
import { scaled } from "../../../scale.js"
import { began, key, row, session, tell, turns } from "./script.js"

const runs = scaled(2_000, 200)

const after = (state: State, ...actions: ReadonlyArray<Action>): State => actions.reduce(reduce, state)

const happened = (...events: ReadonlyArray<Event>): Action => ({ type: "events", events })

const page = (id: string, rows: ReadonlyArray<Message>, facts: { full?: boolean; earlier?: boolean } = {}): Action => ({
  type: "rows",
  page: { id, rows, full: false, earlier: false, ...facts }
})

/** A page with two conversations, the first one shown. */
const open = after(
  initial,
  { type: "access", access: "in" },
  { type: "connection", connection: "open" },
  { type: "sessions", sessions: [session("a"), session("b")] },
  { type: "opened", id: "a" },
  page("a", [])
)

const blocks = (state: State): ReadonlyArray<Block> =>
  compose(
    fromRows(state.rows, new Map()),
    state.turns.filter((turn) => turn.sessionId === state.current),
    state.asides.filter((aside) => aside.sessionId === (state.current ?? ""))
  )

const read = (part: Part): ReadonlyArray<string> =>
  part.kind === "words"
    ? part.text.trim() === ""
      ? []
      : [`words: ${part.text}`]
    : part.kind === "tool"
      ? [`tool: ${part.preview} ${part.state} ${part.result}`]
      : [`helper: ${part.goal} ${part.status}`, ...part.parts.flatMap(read).map((line) => `  ${line}`)]

/** What a person reads, top to bottom. */
const shown = (state: State): ReadonlyArray<string> =>
  blocks(state).flatMap((block) => {
    switch (block.kind) {
      case "user":
        return [`user: ${block.text}`]
      case "said":
        return [`${block.said.state}: ${block.said.text}`]
      case "notice":
        return [`notice: ${block.text}`]
      case "turn":
        return block.parts.flatMap(read)
    }
  })

const place = (turnId = "t", id = "a") => ({ at: began, sessionKey: key(id), sessionId: id, turnId })
const start = (turnId = "t", id = "a"): Event => ({
  _tag: "turn.started",
  ...place(turnId, id),
  eventId: `event of ${turnId}`,
  parentTurnId: null,
  platform: "web"
})
const delta = (text: string, turnId = "t", id = "a"): Event => ({ _tag: "text.delta", ...place(turnId, id), text })
const segment: Event = { _tag: "text.segment", ...place() }
const toolStarts = (callId: string, turnId = "t"): Event => ({
  _tag: "tool.started",
  ...place(turnId),
  callId,
  tool: "terminal",
  preview: "ls"
})
const toolEnds = (callId: string, turnId = "t"): Event => ({
  _tag: "tool.settled",
  ...place(turnId),
  callId,
  tool: "terminal",
  ok: true,
  preview: "a file"
})
const end = (text: string, outcome = "answered", turnId = "t", id = "a"): Event => ({
  _tag: "turn.ended",
  ...place(turnId, id),
  eventId: `event of ${turnId}`,
  outcome,
  text
})
const stored = (messageId: number, role: string, text: string, turnId?: string, id = "a"): Event => ({
  _tag: "message.stored",
  at: began,
  sessionKey: key(id),
  sessionId: id,
  messageId,
  ...(turnId === undefined ? {} : { turnId }),
  role,
  text
})
const notice = (code: string, text: string, id = "a"): Event => ({
  _tag: "notice",
  at: began,
  sessionKey: key(id),
  code,
  text
})
const asks = (approvalId: string, id = "a"): Event => ({
  _tag: "approval.asked",
  ...place("t", id),
  approvalId,
  tool: "terminal",
  subject: "rm -r x",
  reasons: ["it removes"],
  expiresAt: began + 300_000
})

describe("a turn", () => {
  it("grows in the order in which its words come", () => {
    const state = after(open, happened(start(), delta("one "), delta("two "), delta("three")))
    assert.deepStrictEqual(shown(state), ["words: one two three"])
  })

  it("keeps words that a tool follows, above the tool, and drops those of an answer that is tried again", () => {
    const tooled = after(open, happened(start(), delta("let me see"), segment, toolStarts("1"), delta("done")))
    assert.deepStrictEqual(shown(tooled), ["words: let me see", "tool: ls running ", "words: done"])
    const again = after(open, happened(start(), delta("a false st"), segment, delta("right")))
    assert.deepStrictEqual(shown(again), ["words: right"])
  })

  it("shows a tool as it runs and how it ended", () => {
    const running = after(open, happened(start(), toolStarts("1")))
    assert.deepStrictEqual(shown(running), ["tool: ls running "])
    assert.deepStrictEqual(shown(after(running, happened(toolEnds("1")))), ["tool: ls ok a file"])
  })

  it("shows what helpers do under them, and what helpers of helpers do under those", () => {
    const helper = (turnId: string, childTurnId: string): Event => ({
      _tag: "delegate.started",
      ...place(turnId),
      delegationId: `of ${childTurnId}`,
      childTurnId,
      goal: `goal of ${childTurnId}`
    })
    const state = after(
      open,
      happened(
        start(),
        helper("t", "t1"),
        helper("t", "t2"),
        toolStarts("x", "t2"),
        helper("t2", "t3"),
        toolStarts("y", "t3"),
        delta("found", "t1", "hidden"),
        toolEnds("x", "t2"),
        { _tag: "delegate.ended", ...place(), delegationId: "of t1", status: "completed" }
      )
    )
    assert.deepStrictEqual(shown(state), [
      "helper: goal of t1 completed",
      "  words: found",
      "helper: goal of t2 working",
      "  tool: ls ok a file",
      "  helper: goal of t3 working",
      "    tool: ls running "
    ])
    const stopped = after(state, happened(end("", "interrupted")))
    assert.include(shown(stopped), "helper: goal of t2 interrupted")
    assert.include(shown(stopped), "    tool: ls stopped ")
  })

  it("stays where it is when it has ended: its rows take its place without a change of what is read", () => {
    const before = after(
      open,
      happened(
        stored(1, "user", "hi", "t"),
        start(),
        delta("let me "),
        segment,
        toolStarts("1"),
        toolEnds("1"),
        delta("bye")
      )
    )
    const ended = after(before, happened(stored(2, "assistant", "bye", "t"), end("bye")))
    assert.deepStrictEqual(shown(ended), shown(before))
    const rows = [
      row(1, { role: "user", text: "hi", turnId: "t" }),
      row(2, {
        text: "let me ",
        turnId: "t",
        toolCalls: [{ id: "1", name: "terminal", arguments: '{"command":"ls"}' }]
      }),
      row(3, { role: "tool", callId: "1", tool: "terminal", text: "a file", disposition: "ok", turnId: "t" }),
      row(4, { text: "bye", turnId: "t" })
    ]
    assert.deepStrictEqual(shown(after(open, page("a", rows))), shown(before))
  })

  it("says the answer as it was stored, also where it was not streamed or got a note", () => {
    assert.deepStrictEqual(shown(after(open, happened(start(), end("no model")))), ["words: no model"])
    const noted = after(open, happened(start(), delta("half an an"), end("half an an\n\n(cut)")))
    assert.deepStrictEqual(shown(noted), ["words: half an an\n\n(cut)"])
  })

  it("keeps what it had said when it is stopped", () => {
    const state = after(open, happened(start(), delta("one two"), toolStarts("1"), end("", "interrupted")))
    assert.deepStrictEqual(shown(state), ["words: one two", "tool: ls stopped "])
    assert.deepInclude(blocks(state)[0], { running: false, outcome: "interrupted" })
  })

  it("of another conversation changes nothing in the shown one, and is there when that is opened", () => {
    const state = after(open, happened(start("t", "b"), delta("elsewhere", "t", "b")))
    assert.deepStrictEqual(shown(state), [])
    const opened = after(state, { type: "opened", id: "b" })
    assert.deepStrictEqual(shown(opened), ["words: elsewhere"])
    assert.deepStrictEqual(shown(after(opened, { type: "opened", id: "a" })), [])
  })

  it("of a session that no list has is nobody's: a helper's whose beginning was missed, a program's", () => {
    const state = after(open, happened(delta("secret", "unknown", "hidden"), start("x", "hidden")))
    assert.deepStrictEqual(shown(state), [])
  })
})

describe("a message", () => {
  it("is shown when it is sent, and replaced by its row when it is stored", () => {
    const sent = after(open, { type: "said", id: "m1", text: "hi" })
    assert.deepStrictEqual(shown(sent), ["sending: hi"])
    const there = after(sent, happened(stored(1, "user", "hi", "t")))
    assert.deepStrictEqual(shown(there), ["user: hi"])
    assert.deepStrictEqual(shown(after(there, { type: "sending", id: "m1", state: "sent" })), ["user: hi"])
  })

  it("is told apart from another tab's that comes first", () => {
    const state = after(
      open,
      { type: "said", id: "m1", text: "mine" },
      happened(stored(1, "user", "theirs", "t")),
      happened(stored(2, "user", "mine", "u"))
    )
    assert.deepStrictEqual(shown(state), ["user: theirs", "user: mine"])
  })

  it("said twice is two messages, each with a row of its own", () => {
    const twice = after(open, { type: "said", id: "m1", text: "hi" }, { type: "said", id: "m2", text: "hi" })
    assert.deepStrictEqual(shown(after(twice, happened(stored(1, "user", "hi", "t")))), ["user: hi", "sending: hi"])
    const both = [row(1, { role: "user", text: "hi" }), row(2, { role: "user", text: "hi" })]
    assert.deepStrictEqual(shown(after(twice, page("a", both))), ["user: hi", "user: hi"])
  })

  it("that could not be sent waits, and is found again among the rows when it was taken after all", () => {
    const lost = after(
      open,
      { type: "said", id: "m1", text: "hi" },
      { type: "connection", connection: "lost" },
      { type: "sending", id: "m1", state: "unsent" }
    )
    assert.deepStrictEqual(shown(lost), ["unsent: hi"])
    const back = after(
      lost,
      { type: "connection", connection: "open" },
      page("a", [row(7, { role: "user", text: "hi" })])
    )
    assert.deepStrictEqual(shown(back), ["user: hi"])
  })

  it("that begins a conversation waits for it, and keeps its place there", () => {
    const state = after(
      open,
      { type: "opened", id: null },
      { type: "said", id: "m1", text: "hi" },
      { type: "begun", session: session("c") }
    )
    assert.strictEqual(state.current, "c")
    assert.deepStrictEqual(shown(state), ["sending: hi"])
    assert.deepStrictEqual(shown(after(state, happened(stored(1, "user", "hi", "t", "c")))), ["user: hi"])
  })

  it("that was a command keeps its place above its answer", () => {
    const state = after(
      open,
      page("a", [row(1, { role: "user", text: "earlier" })]),
      { type: "said", id: "m1", text: "/status" },
      happened(end("Idle.", "command", "event")),
      happened(stored(2, "user", "later", "t"))
    )
    assert.deepStrictEqual(shown(state), ["user: earlier", "command: /status", "notice: Idle.", "user: later"])
  })

  it("that was told to a running turn, or was not answered, says so", () => {
    const one = after(open, { type: "said", id: "m1", text: "and this" })
    assert.deepStrictEqual(shown(after(one, happened(end("", "steered", "event")))), ["steered: and this"])
    assert.deepStrictEqual(shown(after(one, happened(end("", "dropped", "event")))), ["dropped: and this"])
  })

  it("that the gateway refused can be sent again; one that is settled cannot become unsettled", () => {
    const refused = after(
      open,
      { type: "said", id: "m1", text: "hi" },
      { type: "sending", id: "m1", state: "refused", problem: "too many" }
    )
    assert.deepStrictEqual(shown(after(refused, { type: "sending", id: "m1", state: "sending" })), ["sending: hi"])
    const command = after(open, { type: "said", id: "m1", text: "/help" }, happened(end("Help.", "command", "event")))
    const late = after(command, { type: "sending", id: "m1", state: "sent" })
    assert.deepStrictEqual(shown(late), ["command: /help", "notice: Help."])
  })
})

describe("a conversation", () => {
  it("marks what comes into another one as unread, until it is opened", () => {
    const state = after(open, happened(stored(5, "assistant", "your job is done", undefined, "b")))
    assert.isTrue(state.sessions.find(({ id }) => id === "b")?.unread)
    assert.deepStrictEqual(shown(state), [])
    const opened = after(state, { type: "opened", id: "b" })
    assert.isFalse(opened.sessions.find(({ id }) => id === "b")?.unread)
  })

  it("shows what arrives beside a running turn after it, once, however often it is told", () => {
    const arrived = stored(9, "assistant", "your job is done")
    const state = after(
      open,
      happened(stored(1, "user", "hi", "t"), start(), delta("so "), arrived, arrived, delta("be it"))
    )
    assert.deepStrictEqual(shown(state), ["user: hi", "words: so be it", "words: your job is done"])
  })

  it("forgets the words about waiting when the wait is over, and no other notice", () => {
    const state = after(
      open,
      happened(start(), notice("busy.queued", "You are number 1."), notice("home.missing", "No home."))
    )
    assert.deepStrictEqual(shown(state), ["notice: You are number 1.", "notice: No home."])
    assert.deepStrictEqual(shown(after(state, happened(start("u")))), ["notice: No home."])
  })

  it("keeps the notices of another one for when it is opened, and those of nobody's nowhere", () => {
    const state = after(
      open,
      happened(notice("home.missing", "No home.", "b"), notice("home.missing", "No.", "hidden"))
    )
    assert.deepStrictEqual(shown(state), [])
    assert.deepStrictEqual(shown(after(state, { type: "opened", id: null })), [])
    const opened = after(state, { type: "opened", id: "b" }, page("b", [row(3, { role: "user", text: "hi" })]))
    assert.deepStrictEqual(shown(after(opened, happened(stored(4, "assistant", "later", undefined, "b")))), [
      "user: hi",
      "notice: No home.",
      "words: later"
    ])
  })

  it("goes on in another session after /new: what is said of it is shown there", () => {
    const moved: Event = { _tag: "session.changed", at: began, sessionKey: key("a"), sessionId: "a2" }
    const state = after(
      open,
      { type: "said", id: "m1", text: "/new" },
      happened(moved, end("A new one.", "command", "event"))
    )
    assert.deepStrictEqual(shown(state), ["command: /new"])
    const opened = after(state, { type: "opened", id: "a2" }, page("a2", []))
    assert.deepStrictEqual(shown(opened), ["notice: A new one."])
    assert.isNotNull(opened.sessions.find(({ id }) => id === "a")?.endedAt)
    const back: Event = { _tag: "session.changed", at: began, sessionKey: key("a"), sessionId: "a" }
    const resumed = after(opened, happened(back))
    assert.deepStrictEqual(
      resumed.sessions.map(({ id, endedAt }) => [id, endedAt === null]),
      [
        ["a", true],
        ["a2", false],
        ["b", true]
      ]
    )
  })

  it("joins pages of its transcript, whichever comes first, and knows when there is no more", () => {
    const rows = Array.from({ length: 250 }, (_, index) =>
      row(index + 1, { role: "user", text: `message ${index + 1}` })
    )
    const newest = after(open, page("a", rows.slice(150), { full: true }))
    assert.isTrue(newest.more)
    const earlier = after(newest, page("a", rows.slice(50, 150), { full: true, earlier: true }))
    assert.isTrue(earlier.more)
    assert.deepStrictEqual(earlier.rows, rows.slice(50))
    const all = after(earlier, page("a", rows.slice(0, 50), { earlier: true }))
    assert.isFalse(all.more)
    assert.deepStrictEqual(all.rows, rows)
    assert.isFalse(after(newest, page("a", [], { earlier: true })).more)
    const again = after(all, page("a", rows.slice(150), { full: true }))
    assert.deepStrictEqual(again.rows, rows)
    assert.isFalse(again.more)
  })

  it("begins anew from the newest page when more was missed than one page holds", () => {
    const rows = Array.from({ length: 300 }, (_, index) => row(index + 1, { role: "user", text: `${index + 1}` }))
    const state = after(open, page("a", rows.slice(0, 100)), page("a", rows.slice(200), { full: true }))
    assert.deepStrictEqual(state.rows, rows.slice(200))
    assert.isTrue(state.more)
  })

  it("ignores a page of the one that was shown before", () => {
    const state = after(open, { type: "opened", id: "b" }, page("a", [row(1, { text: "late" })]))
    assert.deepStrictEqual(shown(state), [])
    assert.isTrue(state.loading)
  })

  it("leaves the same blocks where nothing changed, so that they are not drawn again", () => {
    const rows = [row(1, { role: "user", text: "hi", turnId: "t" }), row(2, { text: "hello", turnId: "t" })]
    const before = fromRows(rows, new Map())
    const more = fromRows([...rows, row(3, { role: "user", text: "and", turnId: "u" })], before)
    assert.strictEqual(more.get("t"), before.get("t"))
  })
})

describe("a question", () => {
  it("is there until it is answered, and does not come back with a list that is a little older", () => {
    const asked = after(open, happened(asks("q1"), asks("q1")))
    assert.deepStrictEqual(
      asked.approvals.map(({ id, subject }) => [id, subject]),
      [["q1", "rm -r x"]]
    )
    const answered = after(
      asked,
      happened({ _tag: "approval.answered", at: began, sessionKey: key("a"), approvalId: "q1", answer: "approved" })
    )
    assert.deepStrictEqual(answered.approvals, [])
    assert.deepStrictEqual(after(answered, { type: "approvals", approvals: asked.approvals, known: [] }).approvals, [])
  })

  it("that was asked while the list was on its way stays; one that the list lacks is gone", () => {
    const asked = after(open, happened(asks("q1"), asks("q2")))
    const listed = after(asked, { type: "approvals", approvals: [], known: ["q1"] })
    assert.deepStrictEqual(
      listed.approvals.map(({ id }) => id),
      ["q2"]
    )
  })
})

describe("a lost connection", () => {
  const running = { turnId: "t", sessionKey: key("a"), startedAt: began }

  it("takes nothing away; what runs is seen anew when it is back", () => {
    const lost = after(open, happened(start(), delta("one ")), { type: "connection", connection: "lost" })
    assert.deepStrictEqual(shown(lost), ["words: one "])
    const rows = [row(1, { role: "user", text: "hi", turnId: "t" })]
    const back = after(lost, { type: "connection", connection: "open" }, page("a", rows))
    const seen = after(back, { type: "running", running: [running], known: ["t"] }, happened(delta("three")))
    assert.deepStrictEqual(shown(seen), ["user: hi", "words: three"])
    assert.deepStrictEqual(shown(after(seen, happened(end("one two three")))), ["user: hi", "words: one two three"])
  })

  it("during which a turn ended leaves nothing running", () => {
    const lost = after(open, happened(start(), delta("one ")), { type: "connection", connection: "lost" })
    const rows = [row(1, { role: "user", text: "hi", turnId: "t" }), row(2, { text: "one two", turnId: "t" })]
    const back = after(lost, { type: "connection", connection: "open" }, page("a", rows), {
      type: "running",
      running: [],
      known: ["t"]
    })
    assert.deepStrictEqual(shown(back), ["user: hi", "words: one two"])
    assert.deepStrictEqual(back.turns, [])
  })

  it("does not bring back a turn that ended after it was called running", () => {
    const ended = after(open, happened(start(), end("done")))
    const state = after(ended, { type: "opened", id: "b" }, { type: "running", running: [running], known: [] })
    assert.deepStrictEqual(state.turns, [])
  })

  it("and a turn that goes on after a restart: what it did before it comes from its rows", () => {
    const call = { id: "1", name: "terminal", arguments: '{"command":"ls"}' }
    const rows = [
      row(1, { role: "user", text: "hi", turnId: "t" }),
      row(2, { text: "let me", turnId: "t", toolCalls: [call] })
    ]
    const again: Event = { ...start(), at: began + 1_000 }
    const state = after(open, happened(again), page("a", rows), happened(toolStarts("1"), toolEnds("1"), delta("so")))
    assert.deepStrictEqual(shown(state), ["user: hi", "words: let me", "tool: ls ok a file", "words: so"])
  })

  it("keeps what could not be sent when the key is asked for again", () => {
    const state = after(
      open,
      { type: "said", id: "m1", text: "hi" },
      { type: "said", id: "m2", text: "done" },
      { type: "sending", id: "m1", state: "unsent" },
      { type: "sending", id: "m2", state: "sent" },
      { type: "access", access: "out", problem: "the key" }
    )
    assert.deepStrictEqual(
      state.asides.map(({ id }) => id),
      ["m1"]
    )
    assert.deepStrictEqual(state.sessions, [])
  })
})

// Any sequence

const ids = { sessions: ["a", "b", "hidden"], turns: ["t", "u", "child"] } as const
const text = fc.constantFrom("", "hi", "one ", "two", "/new")
const inTurn = fc.record({
  at: fc.integer({ min: began, max: began + 100 }),
  sessionId: fc.constantFrom(...ids.sessions),
  turnId: fc.constantFrom(...ids.turns)
})
const callId = fc.constantFrom("1", "2")

const event: fc.Arbitrary<Event> = fc
  .tuple(
    inTurn,
    text,
    callId,
    fc.integer({ min: 1, max: 12 }),
    fc.constantFrom("answered", "interrupted", "failed", "command", "steered", "dropped", "suspended", "resumable"),
    fc.nat({ max: 13 })
  )
  .map(([where, said, call, number, outcome, kind]): Event => {
    const here = { ...where, sessionKey: key(where.sessionId) }
    const { at, sessionKey, sessionId } = here
    const named = { ...here, callId: call, tool: "terminal", preview: said }
    const all: ReadonlyArray<Event> = [
      { _tag: "turn.started", ...here, eventId: null, parentTurnId: null, platform: "web" },
      { _tag: "text.delta", ...here, text: said },
      { _tag: "text.segment", ...here },
      { _tag: "tool.started", ...named },
      { _tag: "tool.settled", ...named, ok: number % 2 === 0 },
      { _tag: "delegate.started", ...here, delegationId: `d${call}`, childTurnId: "child", goal: said },
      { _tag: "delegate.ended", ...here, delegationId: `d${call}`, status: "completed" },
      { _tag: "approval.asked", ...named, approvalId: call, subject: said, reasons: [], expiresAt: at },
      { _tag: "approval.answered", at, sessionKey, approvalId: call, answer: "approved" },
      { _tag: "notice", at, sessionKey, code: number % 2 === 0 ? "busy.queued" : "home.missing", text: said },
      {
        _tag: "message.stored",
        at,
        sessionKey,
        sessionId,
        messageId: number,
        ...(number % 3 === 0 ? {} : { turnId: here.turnId }),
        role: number % 2 === 0 ? "user" : "assistant",
        text: said
      },
      { _tag: "turn.ended", ...here, eventId: null, outcome, text: said },
      { _tag: "session.changed", at, sessionKey, sessionId: number % 2 === 0 ? "b" : "a2" },
      { _tag: "gateway.state", at, state: "draining" }
    ]
    return all[kind] ?? { _tag: "gateway.state", at, state: "draining" }
  })

const rows: fc.Arbitrary<ReadonlyArray<Message>> = fc
  .uniqueArray(fc.integer({ min: 1, max: 12 }), { maxLength: 5 })
  .map((numbers) =>
    numbers
      .sort((a, b) => a - b)
      .map((number) =>
        row(number, {
          role: number % 4 === 1 ? "tool" : number % 2 === 0 ? "user" : "assistant",
          text: `row ${number}`,
          turnId: number % 3 === 0 ? null : "t",
          callId: number % 4 === 1 ? "1" : null,
          toolCalls: number % 4 === 3 ? [{ id: "1", name: "terminal", arguments: "{" }] : []
        })
      )
  )

const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: fc.array(event, { maxLength: 4 }).map((events): Action => ({ type: "events", events })) },
  fc
    .constantFrom<ReadonlyArray<Action["type"] & "connection">>("connection")
    .chain(() =>
      fc
        .constantFrom("open" as const, "lost" as const)
        .map((connection): Action => ({ type: "connection", connection }))
    ),
  fc.constantFrom("in" as const, "out" as const).map((access): Action => ({ type: "access", access })),
  fc
    .constantFrom([session("a"), session("b")], [session("a2", { key: key("a") }), session("a", { endedAt: "2026" })])
    .map((sessions): Action => ({ type: "sessions", sessions })),
  fc.constantFrom("a", "b", "a2", null).map((id): Action => ({ type: "opened", id })),
  fc.constantFrom("a", "b").map((id): Action => ({ type: "removed", id })),
  fc.constantFrom("a", "c").map((id): Action => ({ type: "begun", session: session(id) })),
  fc
    .tuple(fc.constantFrom("a", "b"), rows, fc.boolean(), fc.boolean())
    .map(([id, some, full, earlier]): Action => page(id, some, { full, earlier })),
  fc.subarray(["t", "u"]).map((list): Action => ({
    type: "running",
    running: list.map((turnId) => ({ turnId, sessionKey: key("a"), startedAt: began })),
    known: ["t"]
  })),
  fc.tuple(fc.nat(), text).map(([id, said]): Action => ({ type: "said", id: `m${id}`, text: said })),
  fc
    .constantFrom("sent" as const, "unsent" as const, "refused" as const)
    .map((state): Action => ({ type: "sending", id: "m1", state }))
)

const isUnique = (list: ReadonlyArray<unknown>): boolean => new Set(list).size === list.length

const endedParts = (parts: ReadonlyArray<Part>): boolean =>
  parts.every((part) =>
    part.kind === "words"
      ? !part.cut
      : part.kind === "tool"
        ? part.state !== "running"
        : part.status !== "working" && endedParts(part.parts)
  )

const problems = (state: State): ReadonlyArray<string> => {
  const numbers = state.rows.map(({ id }) => id)
  const made = blocks(state)
  return Object.entries({
    "rows are in order, each once": numbers.every((id, index) => index === 0 || (numbers[index - 1] ?? 0) < id),
    "a turn is there once": isUnique(state.turns.map(({ turnId }) => turnId)),
    "an ended turn is the shown conversation's": state.turns.every(
      (turn) => turn.outcome === null || turn.sessionId === state.current
    ),
    "nothing of an ended turn runs": state.turns.every((turn) => turn.outcome === null || endedParts(turn.parts)),
    "a question is there once": isUnique(state.approvals.map(({ id }) => id)),
    "sessions are there once": isUnique(state.sessions.map(({ id }) => id)),
    "blocks have names of their own": isUnique(made.map((block) => block.key)),
    "rows are read in their order": made
      .flatMap((block) => (block.kind === "user" ? [Number(block.key.slice(4))] : []))
      .every((id, index, all) => index === 0 || (all[index - 1] ?? 0) < id),
    "no conversation, no rows": state.current !== null || state.rows.length === 0
  }).flatMap(([rule, holds]) => (holds ? [] : [rule]))
}

/** A message id is random: no two messages have the same one. */
const uniquelySaid = (actions: ReadonlyArray<Action>): ReadonlyArray<Action> =>
  actions.map((one, index) => (one.type === "said" ? { ...one, id: `m${index}` } : one))

describe("whatever happens", () => {
  it("keeps what the page knows in order", () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
        let state = open
        for (const one of uniquelySaid(actions)) {
          state = reduce(state, one)
          assert.deepStrictEqual(problems(state), [])
        }
      }),
      { numRuns: runs }
    )
  })

  const feed = (state: State, moments: ReturnType<typeof tell>["moments"]): State =>
    moments.reduce((known, { event: told }) => (told === null ? known : reduce(known, happened(told))), state)

  it("shows in the end what the transcript holds, wherever in it the page was opened", () => {
    fc.assert(
      fc.property(turns("a", 3), fc.double({ min: 0, max: 1, noNaN: true }), (list, share) => {
        const { moments, shown: expected } = tell(list)
        const at = Math.floor(share * moments.length)
        const rowsAt = (end: number) => moments.slice(0, end).flatMap(({ rows: stored }) => stored)
        const over = new Set(
          moments.slice(0, at).flatMap(({ event: told }) => (told?._tag === "turn.ended" ? [told.turnId] : []))
        )
        const runningAt = rowsAt(at).findLast(({ turnId }) => turnId !== null && !over.has(turnId))
        const opened = after(open, page("a", rowsAt(at)), {
          type: "running",
          running:
            runningAt?.turnId == null ? [] : [{ turnId: runningAt.turnId, sessionKey: key("a"), startedAt: began }],
          known: []
        })
        const followed = feed(opened, moments.slice(at))
        const read = shown(after(followed, page("a", rowsAt(moments.length)))).filter(
          (line) => !line.startsWith("helper:") && !line.startsWith("  ")
        )
        assert.deepStrictEqual(read, expected)
        assert.isFalse(followed.turns.some((turn) => turn.outcome === null))
      }),
      { numRuns: runs }
    )
  })

  it("shows the same when the connection was lost in between, or a page came in the middle", () => {
    fc.assert(
      fc.property(
        turns("a", 3),
        fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
        fc.boolean(),
        (list, shares, isLost) => {
          const { moments, shown: expected } = tell(list)
          const [first = 0, second = 0] = shares
            .map((share) => Math.floor(share * moments.length))
            .sort((a, b) => a - b)
          const rowsAt = (end: number) => moments.slice(0, end).flatMap(({ rows: stored }) => stored)
          const ended = (end: number) =>
            new Set(
              moments.slice(0, end).flatMap(({ event: told }) => (told?._tag === "turn.ended" ? [told.turnId] : []))
            )
          const now = rowsAt(second).findLast(({ turnId }) => turnId !== null && !ended(second).has(turnId))
          const known = feed(open, moments.slice(0, first))
          const back = isLost
            ? after(
                known,
                { type: "connection", connection: "lost" },
                { type: "connection", connection: "open" },
                page("a", rowsAt(second)),
                {
                  type: "running",
                  running: now?.turnId == null ? [] : [{ turnId: now.turnId, sessionKey: key("a"), startedAt: began }],
                  known: []
                }
              )
            : after(feed(known, moments.slice(first, second)), page("a", rowsAt(second)))
          const followed = after(feed(back, moments.slice(second)), page("a", rowsAt(moments.length)))
          const read = shown(followed).filter((line) => !line.startsWith("helper:") && !line.startsWith("  "))
          assert.deepStrictEqual(read, expected)
          assert.isFalse(followed.turns.some((turn) => turn.outcome === null))
          const shownOnce = shown(after(followed, page("a", rowsAt(moments.length))))
          assert.deepStrictEqual(shownOnce, shown(followed))
        }
      ),
      { numRuns: runs }
    )
  })
})
