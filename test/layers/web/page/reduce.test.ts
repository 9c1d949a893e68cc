import { assert, describe, it } from "@effect/vitest"
import { behind } from "../../../../src/layers/web/page/state.js"
import { fromRows } from "../../../../src/layers/web/page/blocks.js"
import type { Helped } from "../../../../src/layers/web/page/helped.js"
import type { Event, Health } from "../../../../src/layers/web/page/gateway.js"
import type { Action } from "../../../../src/layers/web/page/reduce.js"
import { readFrom, written } from "../../../../src/layers/web/page/keeping.js"
import { initial, type State } from "../../../../src/layers/web/page/state.js"
import { after, blocks, happened, open, page, shown } from "./reading.js"
import { began, key, row, session } from "./script.js"

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
const end = (
  text: string,
  outcome = "answered",
  turnId = "t",
  id = "a"
): Extract<Event, { readonly _tag: "turn.ended" }> => ({
  _tag: "turn.ended",
  ...place(turnId, id),
  eventId: `event of ${turnId}`,
  outcome,
  text
})
/** The last word on a message that has no turn. */
const settles = (about: string, text: string, outcome = "command"): Event => ({
  ...end(text, outcome, `event of ${about}`),
  about
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
const notice = (code: string, text: string, id = "a"): Extract<Event, { readonly _tag: "notice" }> => ({
  _tag: "notice",
  at: began,
  sessionKey: key(id),
  code,
  text
})
const answers = (about: string, code: string, text: string): Event => ({ ...notice(code, text), about })
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

  it("drops words that were thought, also where a tool follows", () => {
    const unsaid: Event = { ...segment, unsaid: true }
    const state = after(open, happened(start(), delta("the person wants"), unsaid, toolStarts("1"), delta("done")))
    assert.deepStrictEqual(shown(state), ["tool: ls running ", "words: done"])
  })

  it("shows a tool as it runs and how it ended", () => {
    const running = after(open, happened(start(), toolStarts("1")))
    assert.deepStrictEqual(shown(running), ["tool: ls running "])
    assert.deepStrictEqual(shown(after(running, happened(toolEnds("1")))), ["tool: ls ok a file"])
  })

  it("shows helpers of an earlier turn under the call that they began with, and each once while it runs", () => {
    const past = (id: string, parentTurnId: string, status: "completed" | null): Helped => ({
      helper: {
        id,
        goal: `goal of ${id}`,
        turnId: `turn of ${id}`,
        sessionId: `session of ${id}`,
        parentTurnId,
        callId: "1",
        background: false,
        startedAt: "2026-11-29T10:00:00.000Z",
        status
      },
      rows: [row(1, { text: `words of ${id}`, toolCalls: id === "h1" ? [call] : [], turnId: `turn of ${id}` })]
    })
    const call = { id: "1", name: "delegate_task", arguments: "{}", preview: "both" }
    const rows = [
      row(1, { role: "user", text: "hi", turnId: "t" }),
      row(2, { toolCalls: [call], turnId: "t" }),
      row(3, { role: "tool", callId: "1", text: "back", disposition: "ok", turnId: "t" }),
      row(4, { text: "bye", turnId: "t" })
    ]
    const helped = [past("h1", "t", "completed"), past("h2", "turn of h1", "completed"), past("h3", "u", "completed")]
    assert.deepStrictEqual(shown(after(open, page("a", rows), { type: "helped", id: "a", helped })), [
      "user: hi",
      "tool: both ok back",
      "helper: goal of h1 completed",
      "  words: words of h1",
      "  tool: both stopped ",
      "  helper: goal of h2 completed",
      "    words: words of h2",
      "words: bye"
    ])

    const running = after(
      open,
      page("a", rows.slice(0, 2)),
      { type: "running", running: [{ turnId: "t", sessionKey: key("a"), startedAt: began }], known: [] },
      happened({
        _tag: "delegate.started",
        ...place("t"),
        delegationId: "h1",
        childTurnId: "turn of h1",
        goal: "seen"
      }),
      { type: "helped", id: "a", helped: [past("h1", "t", null)] }
    )
    assert.deepStrictEqual(shown(running), ["user: hi", "tool: both running ", "helper: seen working"])
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

  it("goes on showing what works behind it when it has ended, and knows whom to list", () => {
    const helper = (turnId: string, childTurnId: string, background: boolean): Event => ({
      _tag: "delegate.started",
      ...place(turnId),
      delegationId: `of ${childTurnId}`,
      childTurnId,
      goal: `goal of ${childTurnId}`,
      background
    })
    const state = after(
      open,
      happened(start(), helper("t", "t1", true), helper("t", "t2", false), end("later"), toolStarts("x", "t1"))
    )
    assert.deepStrictEqual(shown(state).slice(0, 3), [
      "helper: goal of t1 working",
      "  tool: ls running ",
      "helper: goal of t2 interrupted"
    ])
    const done = after(
      state,
      happened({ _tag: "delegate.ended", ...place(), delegationId: "of t1", status: "completed" })
    )
    assert.include(shown(done), "helper: goal of t1 completed")
    const listed = (id: string, parentTurnId: string, background: boolean, sessionKey = "k") => ({
      id,
      goal: id,
      turnId: `turn ${id}`,
      parentTurnId,
      sessionKey,
      role: "leaf" as const,
      depth: 1,
      background,
      startedAt: "",
      doing: "",
      lastAt: ""
    })
    const all = [
      listed("a", "t", true),
      listed("inline", "t", false),
      listed("b", "turn a", false),
      listed("c", "t", true, "other")
    ]
    assert.deepStrictEqual(
      behind(all, "k").map(({ id }) => id),
      ["a", "b"]
    )
  })

  it("says how long the model is waited for, until it answers or the turn has ended", () => {
    const waiting = after(open, happened(start(), notice("run.waiting", "I ask again in 6 seconds.")))
    assert.deepStrictEqual(shown(waiting), ["notice: I ask again in 6 seconds."])
    const backend = { provider: "p", model: "m", trouble: "The model is overloaded", waitMillis: 12_000 }
    const again = after(waiting, happened({ _tag: "model.waiting", ...place(), ...backend }))
    assert.deepStrictEqual(shown(again), ["notice: The model is overloaded. I ask again in 12 seconds."])
    assert.deepStrictEqual(shown(after(again, happened(delta("here")))), ["words: here"])
    assert.deepStrictEqual(shown(after(again, happened(toolStarts("1")))), ["tool: ls running "])
    assert.deepStrictEqual(shown(after(again, happened(end("it is down", "failed")))), ["words: it is down"])
    assert.deepStrictEqual(shown(after(again, happened(delta("x", "u", "b")))), shown(again))
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
        toolCalls: [{ id: "1", name: "terminal", arguments: '{"mode":"plain","command":"ls"}', preview: "ls" }]
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
    const sent = after(open, { type: "said", id: "m1", text: "hi", at: began })
    assert.deepStrictEqual(shown(sent), ["sending: hi"])
    const there = after(sent, happened(stored(1, "user", "hi", "t")))
    assert.deepStrictEqual(shown(there), ["user: hi"])
    assert.deepStrictEqual(shown(after(there, { type: "sending", id: "m1", state: "sent" })), ["user: hi"])
  })

  it("is told apart from another tab's that comes first", () => {
    const state = after(
      open,
      { type: "said", id: "m1", text: "mine", at: began },
      happened(stored(1, "user", "theirs", "t")),
      happened(stored(2, "user", "mine", "u"))
    )
    assert.deepStrictEqual(shown(state), ["user: theirs", "user: mine"])
  })

  it("said twice is two messages, each with a row of its own", () => {
    const twice = after(
      open,
      { type: "said", id: "m1", text: "hi", at: began },
      { type: "said", id: "m2", text: "hi", at: began }
    )
    assert.deepStrictEqual(shown(after(twice, happened(stored(1, "user", "hi", "t")))), ["user: hi", "sending: hi"])
    const both = [row(1, { role: "user", text: "hi" }), row(2, { role: "user", text: "hi" })]
    assert.deepStrictEqual(shown(after(twice, page("a", both))), ["user: hi", "user: hi"])
  })

  it("that could not be sent waits, and is found again among the rows when it was taken after all", () => {
    const lost = after(
      open,
      { type: "said", id: "m1", text: "hi", at: began },
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
      { type: "said", id: "m1", text: "hi", at: began },
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
      { type: "said", id: "m1", text: "/status", at: began },
      happened(settles("m1", "Idle.")),
      happened(stored(2, "user", "later", "t"))
    )
    assert.deepStrictEqual(shown(state), ["user: earlier", "command: /status", "notice: Idle.", "user: later"])
  })

  const say = (id: string, text: string): Action => ({ type: "said", id, text, at: began })
  const working = after(open, happened(stored(1, "user", "work", "t"), start(), toolStarts("1")))
  const work = ["user: work", "tool: ls running "]

  it("stands above what answers it, each above its own, however late that comes; with its wait that is over", () => {
    const ok = (id: string, position: number) => answers(id, "queue.ok", `Queued, number ${position}.`)
    const both = after(working, say("m1", "/queue a"), say("m2", "/queue b"), happened(ok("m1", 1), ok("m2", 2)))
    const second = ["sending: /queue b", "notice: Queued, number 2."]
    assert.deepStrictEqual(shown(both), [...work, "sending: /queue a", "notice: Queued, number 1.", ...second])
    const begins = after(both, happened(end("done"), stored(3, "user", "a", "u"), start("u"), delta("A", "u")))
    assert.deepStrictEqual(shown(begins).slice(-4), ["user: a", "words: A", ...second])
    const missed = after(
      both,
      { type: "connection", connection: "lost" },
      page("a", [row(7, { role: "user", text: "b" })])
    )
    const first = ["sending: /queue a", "notice: Queued, number 1."]
    assert.deepStrictEqual(shown(missed), [...work, "user: b", ...first])
    const over = after(begins, happened(end("A", "answered", "u"), stored(5, "user", "b", "v"), start("v")))
    assert.deepStrictEqual(shown(over).slice(-3), ["user: a", "words: A", "user: b"])
  })

  it("that a pause keeps stands above the word of it, which goes with the pause", () => {
    const held = after(open, say("m1", "hi"), happened(answers("m1", "pause.held", "I'm paused.")))
    assert.deepStrictEqual(shown(held), ["sending: hi", "notice: I'm paused."])
    assert.deepStrictEqual(shown(after(held, happened(stored(1, "user", "hi", "t"), start()))), ["user: hi"])
  })

  it("that is answered while another waits is not taken for that one", () => {
    const state = after(
      working,
      say("m1", "/queue a"),
      say("m2", "/status"),
      say("m3", "/help"),
      happened(answers("m1", "queue.ok", "Queued."), settles("m2", "Working."), settles("m3", "Help."))
    )
    assert.deepStrictEqual(shown(state), [
      ...work,
      "command: /status",
      "notice: Working.",
      "command: /help",
      "notice: Help.",
      "sending: /queue a",
      "notice: Queued."
    ])
    const other = after(state, happened(settles("another tab's", "Its help.")))
    assert.deepStrictEqual(shown(other).slice(-3), ["notice: Its help.", "sending: /queue a", "notice: Queued."])
  })

  it("is told once that it waits, also by a gateway that was started anew", () => {
    const ok = (about: string, position: number) => answers(about, "queue.ok", `Queued, number ${position}.`)
    const twice = after(working, say("m1", "/queue a"), happened(ok("m1", 2), ok("m1", 1)))
    assert.deepStrictEqual(shown(twice), [...work, "sending: /queue a", "notice: Queued, number 1."])
    const elsewhere = after(working, happened(ok("x", 1), ok("y", 2), ok("x", 1), ok("y", 2)))
    assert.deepStrictEqual(shown(elsewhere), [...work, "notice: Queued, number 1.", "notice: Queued, number 2."])
    assert.deepStrictEqual(shown(after(elsewhere, happened(end("")))), ["user: work", "tool: ls stopped "])
  })

  it("that answers what the agent asked stands in the turn, above what is made of it, also as the rows have it", () => {
    const named = { ...place(), callId: "1", tool: "clarify" }
    const asked: Event = { _tag: "tool.started", ...named, preview: "Which?" }
    const told: Event = { _tag: "tool.settled", ...named, ok: true, preview: "The answer: blue" }
    const state = after(
      open,
      happened(stored(1, "user", "ask", "t"), start(), asked),
      say("m1", "blue"),
      happened(settles("m1", ""), told, delta("So: blue."))
    )
    const expected = ["user: ask", "tool: Which? ok The answer: blue", "answer: blue", "words: So: blue."]
    assert.deepStrictEqual(shown(state), expected)
    const call = { id: "1", name: "clarify", arguments: "{}", preview: "Which?" }
    const rows = [
      row(1, { role: "user", text: "ask", turnId: "t" }),
      row(2, { toolCalls: [call], turnId: "t" }),
      row(3, { role: "tool", callId: "1", tool: "clarify", text: "The answer: blue", disposition: "ok", turnId: "t" }),
      row(4, { text: "So: blue.", turnId: "t" })
    ]
    assert.deepStrictEqual(shown(after(open, page("a", rows))), expected)
    assert.deepStrictEqual(shown(after(state, happened(end("So: blue.")), page("a", rows))), expected)
  })

  it("that was told to a running turn stands in it, behind the tool that ran, as it runs and as the rows have it", () => {
    const state = after(
      open,
      happened(stored(1, "user", "look", "t"), start(), toolStarts("1")),
      say("m1", "mind the cat"),
      happened(answers("m1", "busy.steered", "Got it."), settles("m1", "", "steered"))
    )
    const call = { id: "1", name: "terminal", arguments: "{}", preview: "ls" }
    const told = [{ text: "mind the cat", messageId: "m1", at: new Date(began).toISOString() }]
    const rows = [
      row(1, { role: "user", text: "look", turnId: "t" }),
      row(2, { toolCalls: [call], turnId: "t" }),
      row(3, { role: "tool", callId: "1", tool: "terminal", text: "a file, b", disposition: "ok", turnId: "t", told })
    ]
    const behindTool = ["user: look", "tool: ls ok a file, b", "told: mind the cat"]
    const live = after(state, page("a", rows), happened(toolEnds("1"), delta("I see.")))
    assert.deepStrictEqual(shown(live), [...behindTool, "words: I see."])
    const all = page("a", [...rows, row(4, { text: "I see.", turnId: "t" })])
    assert.deepStrictEqual(shown(after(live, happened(end("I see.")), all)), [...behindTool, "words: I see."])
    assert.deepStrictEqual(shown(after(open, all)), [...behindTool, "words: I see."])
    const elsewhere = after(open, happened(stored(1, "user", "look", "t"), start(), toolStarts("1")), page("a", rows))
    assert.deepStrictEqual(shown(elsewhere), behindTool)
  })

  it("names the files that went with it, not where they lie; what else looks like a file is words", () => {
    const attached = "(attached: a, plan.pdf, application/pdf, at /home/me/media/web/0123456789ab-plan.pdf)"
    const of = (text: string): ReadonlyArray<string> =>
      shown(after(open, page("a", [row(1, { role: "user", text, turnId: "t" })])))
    assert.deepStrictEqual(of(`${attached}\nread this`), ["user: read this", "file: a, plan.pdf"])
    assert.deepStrictEqual(of(`${attached}\n(a, plan.pdf)`), ["user: ", "file: a, plan.pdf"])
    const heard = `(in reply to me: "x")\n${attached}\n(what is said in it: "hm")`
    assert.deepStrictEqual(of(`${heard}\nwell`), [
      `user: (in reply to me: "x")\n(what is said in it: "hm")\nwell`,
      "file: a, plan.pdf"
    ])
    assert.deepStrictEqual(of(`well\n${attached}`), [`user: well\n${attached}`])
    assert.deepStrictEqual(of("(only this)"), ["user: (only this)"])
  })

  it("has the time at which it was said, an answer that of its last words, also after a reload", () => {
    const times = (state: State): ReadonlyArray<number | null> =>
      blocks(state).map((block) => (block.kind === "said" ? block.said.at : block.kind === "summary" ? null : block.at))
    const said = after(open, say("m1", "hi"))
    assert.deepStrictEqual(times(said), [began])
    const runs = after(said, happened(stored(1, "user", "hi", "t"), start(), delta("hel")))
    assert.deepStrictEqual(times(runs), [began, null])
    const rows = page("a", [row(1, { role: "user", text: "hi", turnId: "t" }), row(2, { text: "hello", turnId: "t" })])
    assert.deepStrictEqual(times(after(runs, happened(end("hello")), rows)), [began, began + 2])
    assert.deepStrictEqual(times(after(open, rows)), [began + 1, began + 2])
    assert.deepStrictEqual(times(after(open, happened(notice("home.missing", "no home")))), [began])
    const answer = stored(2, "assistant", "hello", "t")
    const reached = { ...answer, at: began + 60_000 }
    assert.deepStrictEqual(times(after(open, happened(answer, reached))), [began])
  })

  it("that is taken back is gone at once, with its answer; what came while that was asked for stays", () => {
    const hi = [row(1, { role: "user", text: "hi", turnId: "t" }), row(2, { text: "hello", turnId: "t" })]
    const state = after(
      open,
      page("a", hi),
      happened(
        stored(3, "user", "and", "u"),
        start("u"),
        delta("more", "u"),
        stored(4, "assistant", "more", "u"),
        end("more", "answered", "u")
      ),
      say("m1", "/undo"),
      happened(settles("m1", "Taken back."))
    )
    const told = ["command: /undo", "notice: Taken back."]
    assert.deepStrictEqual(shown(state), ["user: hi", "words: hello", "user: and", "words: more", ...told])
    const left = after(state, page("a", hi, { known: 4 }))
    assert.deepStrictEqual(shown(left), ["user: hi", "words: hello", ...told])
    const since = after(state, happened(stored(5, "user", "new", "v")), page("a", hi, { known: 4 }))
    assert.deepStrictEqual(shown(since), ["user: hi", "words: hello", ...told, "user: new"])
    assert.deepStrictEqual(after(state, page("a", [], { known: 4 })).rows, [])
  })

  it("that asks for another answer is gone when that begins, and so is the answer before", () => {
    const hi = [row(1, { role: "user", text: "hi", turnId: "t" }), row(2, { text: "hello", turnId: "t" })]
    const asked = after(open, page("a", hi), say("m1", "/retry"))
    assert.deepStrictEqual(shown(asked), ["user: hi", "words: hello", "sending: /retry"])
    const again = row(3, { role: "user", text: "hi", turnId: "u" })
    const begins = after(asked, happened(stored(3, "user", "hi", "u"), start("u")), page("a", [again], { known: 3 }))
    assert.deepStrictEqual(shown(begins), ["user: hi"])
    const answered = after(begins, happened(delta("well", "u"), end("well", "answered", "u")))
    assert.deepStrictEqual(shown(answered), ["user: hi", "words: well"])
    const nothing = happened(settles("m1", "Nothing to take back."))
    assert.deepStrictEqual(shown(after(asked, nothing)).slice(2), ["command: /retry", "notice: Nothing to take back."])
  })

  it("that was told to a running turn, or was not answered, says so", () => {
    const one = after(open, { type: "said", id: "m1", text: "and this", at: began })
    assert.deepStrictEqual(shown(after(one, happened(settles("m1", "", "steered")))), ["steered: and this"])
    assert.deepStrictEqual(shown(after(one, happened(settles("m1", "", "dropped")))), ["dropped: and this"])
  })

  it("that the gateway refused can be sent again; one that is settled cannot become unsettled", () => {
    const refused = after(
      open,
      { type: "said", id: "m1", text: "hi", at: began },
      { type: "sending", id: "m1", state: "refused", refusal: { code: "busy.full", text: "too many" } }
    )
    assert.deepStrictEqual(shown(after(refused, { type: "sending", id: "m1", state: "sending" })), ["sending: hi"])
    const command = after(open, { type: "said", id: "m1", text: "/help", at: began }, happened(settles("m1", "Help.")))
    const late = after(command, { type: "sending", id: "m1", state: "sent" })
    assert.deepStrictEqual(shown(late), ["command: /help", "notice: Help."])
  })
})

describe("a reload of the tab", () => {
  const hi = [row(1, { role: "user", text: "hi", turnId: "t" }), row(2, { text: "hello", turnId: "t" })]
  const and = [row(3, { role: "user", text: "and", turnId: "u" }), row(4, { text: "more", turnId: "u" })]
  const say = (id: string, text: string): Action => ({ type: "said", id, text, at: began })
  const full: Action = {
    type: "sending",
    id: "m3",
    state: "refused",
    refusal: { code: "busy.full", text: "too many wait" }
  }
  const reloaded = (state: State): State =>
    after(
      { ...initial, asides: readFrom(written(state.asides)) },
      { type: "sessions", sessions: [session("a"), session("b")] },
      { type: "opened", id: "a" }
    )

  it("shows commands, their answers and what was not taken where they stood, as often as it is done", () => {
    const state = after(
      open,
      page("a", hi),
      say("m1", "/status"),
      happened(settles("m1", "Idle.")),
      page("a", [...hi, ...and]),
      say("m2", "/help"),
      happened(settles("m2", "Help.")),
      say("m3", "no"),
      full
    )
    const expected = [
      "user: hi",
      "words: hello",
      "command: /status",
      "notice: Idle.",
      "user: and",
      "words: more",
      "command: /help",
      "notice: Help.",
      "refused: no"
    ]
    assert.deepStrictEqual(shown(state), expected)
    const once = after(reloaded(state), page("a", [...hi, ...and]))
    assert.deepStrictEqual(shown(once), expected)
    const more = after(once, say("m4", "/help"), happened(settles("m4", "Help again.")))
    const twice = after(reloaded(more), page("a", [...hi, ...and]))
    assert.deepStrictEqual(shown(twice), [...expected, "command: /help", "notice: Help again."])
    const keys = blocks(twice).map(({ key }) => key)
    assert.strictEqual(new Set(keys).size, keys.length)
  })

  it("sends what was on its way, knows it by its row, and takes a command for answered", () => {
    const taken: Action = { type: "sending", id: "m1", state: "sent" }
    const state = reloaded(after(open, page("a", hi), say("m1", "and"), taken, say("m2", "then")))
    assert.deepStrictEqual(shown(state), ["sent: and", "unsent: then"])
    assert.deepStrictEqual(shown(after(state, page("a", [...hi, ...and]))).slice(2), [
      "user: and",
      "words: more",
      "unsent: then"
    ])
    const command = after(open, page("a", hi), say("m1", "/status"), taken)
    assert.deepStrictEqual(shown(after(reloaded(command), page("a", hi))).slice(2), ["command: /status"])
  })

  it("says no more what was true of the moment, nor that something waits which does not", () => {
    const told = happened(
      notice("run.waiting", "it is slow"),
      notice("drain.queued", "it goes"),
      answers("m1", "busy.queued", "It's next."),
      notice("home.missing", "no home")
    )
    const waiting = after(open, page("a", hi), say("m1", "and"), told)
    assert.deepStrictEqual(shown(after(reloaded(waiting), page("a", hi))).slice(2), [
      "notice: no home",
      "unsent: and",
      "notice: It's next."
    ])
    const elsewhere = after(open, page("a", hi), told)
    assert.deepStrictEqual(shown(after(reloaded(elsewhere), page("a", hi))).slice(2), ["notice: no home"])
  })

  it("shows nothing above the rows that is below others, until those are there", () => {
    const state = after(open, page("a", hi), say("m1", "/status"), happened(settles("m1", "Idle.")))
    const newest = after(reloaded(state), page("a", and, { full: true }))
    assert.deepStrictEqual(shown(newest), ["user: and", "words: more"])
    assert.deepStrictEqual(shown(after(newest, page("a", hi, { earlier: true }))), [
      "user: hi",
      "words: hello",
      "command: /status",
      "notice: Idle.",
      "user: and",
      "words: more"
    ])
  })

  it("keeps the newest of what is too long, and nothing of another shape", () => {
    const long = (id: string): Action => say(id, id.repeat(400_000))
    const state = after(open, long("m1"), long("m2"), say("m3", "short"))
    assert.deepStrictEqual(
      readFrom(written(state.asides)).map(({ id }) => id),
      ["m2", "m3"]
    )
    assert.deepStrictEqual(readFrom(`{"layout":0,"asides":[{"kind":"said"}]}`), [])
    assert.deepStrictEqual(readFrom("null"), [])
  })
})

describe("a restart of the gateway", () => {
  const refused = notice("drain.refused", "not taken")
  const health = (status: Health["status"]): Action => ({
    type: "health",
    health: {
      status,
      command: { program: "hermes", options: "" },
      version: "1",
      uptime: 1,
      pid: 1,
      memory: { rss: 1, heapUsed: 1, external: 1 },
      work: { api: 0, cron: 0, delegates: 0, processes: 0, turns: 0 },
      model: { provider: "scripted", name: "script", trouble: null },
      database: null,
      platforms: [],
      timezone: "UTC",
      workingDirectory: null,
      conversations: []
    }
  })
  const said: Action = { type: "said", id: "m1", text: "hi", at: began }
  const refusal: Action = {
    type: "sending",
    id: "m1",
    state: "refused",
    refusal: { code: "drain.refused", text: "not taken" }
  }

  it("is told of once: a message that was not taken says so itself, before or after its notice", () => {
    assert.deepStrictEqual(shown(after(open, said, happened(refused), refusal)), ["refused: hi"])
    assert.deepStrictEqual(shown(after(open, said, refusal, happened(refused))), ["refused: hi"])
    assert.deepStrictEqual(shown(after(open, happened(refused))), ["notice: not taken"])
  })

  it("is of no interest when the gateway is back, and what was refused waits to be sent again", () => {
    const going = after(
      open,
      happened(notice("restart.going", "going"), notice("home.missing", "no home")),
      said,
      refusal
    )
    assert.strictEqual(shown(after(going, health("draining"))).length, 3)
    const back = after(going, health("ok"))
    assert.deepStrictEqual(shown(back), ["notice: no home", "refused: hi"])
    assert.isTrue(back.asides.every((aside) => aside.kind === "notice" || aside.refusal === null))
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

  it("stays in the list while it is shown, though a fresh list does not name it", () => {
    const found = after(open, { type: "session", session: session("old") }, { type: "opened", id: "old" })
    const listed = after(found, { type: "sessions", sessions: [session("a")] })
    assert.deepStrictEqual(
      listed.sessions.map(({ id }) => id),
      ["a", "old"]
    )
    const left = after(listed, { type: "opened", id: "a" }, { type: "sessions", sessions: [session("a")] })
    assert.deepStrictEqual(
      left.sessions.map(({ id }) => id),
      ["a"]
    )
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
      { type: "said", id: "m1", text: "/new", at: began },
      happened(moved, settles("m1", "A new one."))
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
    const before = fromRows(rows, [], new Map())
    const more = fromRows([...rows, row(3, { role: "user", text: "and", turnId: "u" })], [], before)
    assert.strictEqual(more.get("t"), before.get("t"))
  })
})

describe("a question", () => {
  it("of the agent's own is shown with its choices, not as a notice too, until it is settled", () => {
    const where = { at: began, sessionKey: key("a"), clarificationId: "c1" }
    const told = { question: "Which?", choices: ["red", "blue"], several: false, expiresAt: began }
    const asked = after(
      open,
      happened(
        { _tag: "clarification.asked", ...where, sessionId: "a", turnId: "t", ...told },
        { _tag: "notice", at: began, sessionKey: key("a"), code: "clarify.question", text: "Which?" }
      )
    )
    assert.deepStrictEqual(
      asked.clarifications.map(({ choices, id }) => [id, choices]),
      [["c1", ["red", "blue"]]]
    )
    assert.deepStrictEqual(asked.asides, [])
    const settled = after(asked, happened({ _tag: "clarification.settled", ...where, answer: "red" }))
    const late = after(settled, { type: "clarifications", clarifications: asked.clarifications, known: [] })
    assert.deepStrictEqual([settled.clarifications, late.clarifications], [[], []])
  })

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
      { type: "said", id: "m1", text: "hi", at: began },
      { type: "said", id: "m2", text: "done", at: began },
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
