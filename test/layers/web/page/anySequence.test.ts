import { assert, describe, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import type { Event, Message } from "../../../../src/layers/web/page/gateway.js"
import { type Action, reduce } from "../../../../src/layers/web/page/reduce.js"
import type { State } from "../../../../src/layers/web/page/state.js"
import type { Part } from "../../../../src/layers/web/page/turns.js"
import { scaled } from "../../../scale.js"
import { after, blocks, happened, open, page, shown } from "./reading.js"
import { began, key, row, session, tell, turns } from "./script.js"

const runs = scaled(2_000, 200)

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
    fc.nat({ max: 16 }),
    fc.option(fc.nat({ max: 3 }))
  )
  .map(([where, said, call, number, outcome, kind, message]): Event => {
    const about = message === null ? {} : { about: `m${message}` }
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
      {
        _tag: "clarification.asked",
        ...here,
        clarificationId: `c${call}`,
        question: said,
        choices: [said],
        several: number % 2 === 0,
        expiresAt: at
      },
      { _tag: "clarification.settled", at, sessionKey, clarificationId: `c${call}`, answer: null },
      { _tag: "notice", at, sessionKey, code: number % 2 === 0 ? "busy.queued" : "home.missing", text: said, ...about },
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
      { _tag: "turn.ended", ...here, eventId: null, outcome, text: said, ...about },
      { _tag: "model.waiting", ...here, provider: "p", model: "m", trouble: said, waitMillis: number },
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
  fc.constantFrom("open" as const, "lost" as const).map((connection): Action => ({ type: "connection", connection })),
  fc.constantFrom("in" as const, "out" as const).map((access): Action => ({ type: "access", access })),
  fc
    .constantFrom([session("a"), session("b")], [session("a2", { key: key("a") }), session("a", { endedAt: "2026" })])
    .map((sessions): Action => ({ type: "sessions", sessions })),
  fc.constantFrom("a", "b", "a2", null).map((id): Action => ({ type: "opened", id })),
  fc.constantFrom("a", "b").map((id): Action => ({ type: "removed", id })),
  fc.constantFrom("a", "c").map((id): Action => ({ type: "begun", session: session(id) })),
  fc
    .tuple(fc.constantFrom("a", "b"), rows, fc.boolean(), fc.boolean(), fc.nat({ max: 12 }))
    .map(([id, some, full, earlier, known]): Action => page(id, some, { full, earlier, known })),
  fc.subarray(["t", "u"]).map((list): Action => ({
    type: "running",
    running: list.map((turnId) => ({ turnId, sessionKey: key("a"), startedAt: began })),
    known: ["t"]
  })),
  { weight: 3, arbitrary: text.map((said): Action => ({ type: "said", id: "", text: said, at: began })) },
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
        : part.kind === "files" || (part.status !== "working" && endedParts(part.parts))
  )

/** Nothing stands between a message and what answers it but other answers of it. */
const areAnswersBelow = (state: State): boolean => {
  const made = blocks(state)
  const about = new Map(state.asides.map((aside) => [aside.id, aside.kind === "notice" ? aside.about : null]))
  return made.every(({ key: name }, index) => {
    const message = about.get(name) ?? null
    const at = made.findIndex((block) => block.kind === "said" && block.key === message)
    return at < 0 || (at < index && made.slice(at + 1, index).every((block) => about.get(block.key) === message))
  })
}

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
    "what answers a message stands below it": areAnswersBelow(state),
    "a message is told once that it waits": isUnique(
      state.asides.flatMap((aside) =>
        aside.kind === "notice" && aside.code === "busy.queued" && aside.about !== null
          ? [`${aside.sessionId} ${aside.about}`]
          : []
      )
    ),
    "no conversation, no rows": state.current !== null || state.rows.length === 0
  }).flatMap(([rule, holds]) => (holds ? [] : [rule]))
}

/** A message id is random: no two messages have the same one, and nothing answers one before it is said. */
const uniquelySaid = (actions: ReadonlyArray<Action>): ReadonlyArray<Action> => {
  let said = 0
  const isSaid = (id: string): boolean => Number(id.slice(1)) < said
  return actions.map((one) => {
    if (one.type === "said") return { ...one, id: `m${said++}` }
    if (one.type !== "events") return one
    const events = one.events.map((told) =>
      "about" in told && told.about !== undefined && !isSaid(told.about) ? { ...told, about: "another tab's" } : told
    )
    return { ...one, events }
  })
}

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
