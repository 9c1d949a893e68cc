/** Turns as a gateway would run them: what it tells of them, and the rows that it stores, in order. */
import { FastCheck as fc } from "effect"
import type { Event, Message, Session } from "../../../../src/layers/web/page/gateway.js"

export const key = (id: string): string => `agent:main:web:dm:${id}`

export const session = (id: string, facts: Partial<Session> = {}): Session => ({
  id,
  key: key(id),
  title: null,
  source: "web",
  platform: "web",
  chatId: id,
  threadId: null,
  userId: "owner",
  parentId: null,
  model: null,
  startedAt: "2026-11-29T10:00:00.000Z",
  lastActivityAt: "2026-11-29T10:00:00.000Z",
  endedAt: null,
  endReason: null,
  messages: 0,
  unread: false,
  archived: false,
  pinned: false,
  suspended: false,
  ...facts
})

export const began = Date.parse("2026-11-29T10:00:00.000Z")

export const row = (id: number, facts: Partial<Message>): Message => ({
  id,
  at: new Date(began + id).toISOString(),
  turnId: null,
  role: "assistant",
  text: "",
  reasoning: null,
  toolCalls: [],
  finishReason: facts.role === undefined || facts.role === "assistant" ? "stop" : null,
  callId: null,
  tool: null,
  disposition: null,
  files: [],
  ...facts
})

/** What happens in a turn, in order. */
export type Act =
  /** Words that a tool follows. */
  | { readonly kind: "says"; readonly words: ReadonlyArray<string> }
  | { readonly kind: "tool"; readonly ok: boolean; readonly helped: boolean }

export interface Turn {
  readonly turnId: string
  readonly sessionId: string
  readonly question: string
  readonly acts: ReadonlyArray<Act>
  readonly answer: ReadonlyArray<string>
}

/** A moment: what is told, and what is in the transcript from then on. */
export interface Moment {
  readonly event: Event | null
  readonly rows: ReadonlyArray<Message>
}

export interface Story {
  readonly moments: ReadonlyArray<Moment>
  /** What the person reads in the end. */
  readonly shown: ReadonlyArray<string>
}

/** Tells turns one after the other, as the gateway does: each thing is stored before it is told. */
export const tell = (turns: ReadonlyArray<Turn>): Story => {
  let clock = began
  let nextRow = 1
  const moments: Array<Moment> = []
  const shown: Array<string> = []
  for (const turn of turns) {
    const place = { sessionKey: key(turn.sessionId), sessionId: turn.sessionId, turnId: turn.turnId }
    const at = (): { readonly at: number } => ({ at: (clock += 10) })
    const store = (facts: Partial<Message>): Message => {
      const stored = row(nextRow++, { turnId: turn.turnId, at: new Date((clock += 10)).toISOString(), ...facts })
      moments.push({ event: null, rows: [stored] })
      return stored
    }
    const say = (event: Event): void => void moments.push({ event, rows: [] })
    const stored = (message: Message): void =>
      say({
        _tag: "message.stored",
        ...at(),
        sessionKey: place.sessionKey,
        sessionId: place.sessionId,
        messageId: message.id,
        turnId: turn.turnId,
        role: message.role,
        text: message.text
      })
    stored(store({ role: "user", text: turn.question }))
    shown.push(`user: ${turn.question}`)
    say({
      _tag: "turn.started",
      ...at(),
      ...place,
      eventId: `event of ${turn.turnId}`,
      parentTurnId: null,
      platform: "web"
    })
    let said = ""
    let calls = 0
    for (const act of turn.acts) {
      if (act.kind === "says") {
        for (const text of act.words) say({ _tag: "text.delta", ...at(), ...place, text })
        said = act.words.join("")
        if (said !== "") say({ _tag: "text.segment", ...at(), ...place })
        continue
      }
      calls += 1
      const callId = `${turn.turnId} call ${calls}`
      store({
        text: said,
        toolCalls: [{ id: callId, name: "terminal", arguments: JSON.stringify({ command: `command ${calls}` }) }],
        finishReason: "tool_calls"
      })
      if (said.trim() !== "") shown.push(`words: ${said}`)
      said = ""
      say({ _tag: "tool.started", ...at(), ...place, callId, tool: "terminal", preview: `command ${calls}` })
      if (act.helped) {
        const delegationId = `delegation of ${callId}`
        const child = {
          sessionKey: `delegate:${delegationId}`,
          sessionId: `hidden ${callId}`,
          turnId: `helper of ${callId}`
        }
        say({
          _tag: "delegate.started",
          ...at(),
          ...place,
          delegationId,
          childTurnId: child.turnId,
          goal: `goal ${calls}`
        })
        say({
          _tag: "tool.started",
          ...at(),
          ...child,
          callId: `${callId} inner`,
          tool: "read_file",
          preview: "a file"
        })
        say({
          _tag: "tool.settled",
          ...at(),
          ...child,
          callId: `${callId} inner`,
          tool: "read_file",
          ok: true,
          preview: "its text"
        })
        say({ _tag: "text.delta", ...at(), ...child, text: `report ${calls}` })
        say({ _tag: "delegate.ended", ...at(), ...place, delegationId, status: "completed" })
      }
      const result = `the whole result ${calls}`
      store({ role: "tool", callId, tool: "terminal", text: result, disposition: act.ok ? "ok" : "error" })
      say({
        _tag: "tool.settled",
        ...at(),
        ...place,
        callId,
        tool: "terminal",
        ok: act.ok,
        preview: result.slice(0, 9)
      })
      shown.push(`tool: command ${calls} ${act.ok ? "ok" : "failed"} ${result}`)
    }
    // Words that no tool followed were not the answer, and are stored nowhere.
    for (const text of turn.answer) say({ _tag: "text.delta", ...at(), ...place, text })
    const answer = turn.answer.join("")
    const last = store({ text: answer })
    stored(last)
    stored(last)
    say({
      _tag: "turn.ended",
      ...at(),
      ...place,
      eventId: `event of ${turn.turnId}`,
      outcome: "answered",
      text: answer
    })
    shown.push(`words: ${answer}`)
  }
  return { moments, shown }
}

const word = fc.constantFrom("one ", "two ", "three ", "four ", "\n\n", "**five** ")
const words = fc.array(word, { minLength: 1, maxLength: 4 })

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant("says" as const), words }),
  fc.record({ kind: fc.constant("tool" as const), ok: fc.boolean(), helped: fc.boolean() })
)

/** Turns of one conversation. Words without a tool after them are left out: a retried answer. */
export const turns = (sessionId: string, most: number): fc.Arbitrary<ReadonlyArray<Turn>> =>
  fc
    .array(fc.record({ acts: fc.array(act, { maxLength: 4 }), answer: words, question: words }), {
      minLength: 1,
      maxLength: most
    })
    .map((list) =>
      list.map(({ acts, answer, question }, index) => ({
        turnId: `turn ${index}`,
        sessionId,
        question: `${index}: ${question.join("")}`,
        acts: acts.filter((one, at) => one.kind === "tool" || acts[at + 1]?.kind === "tool"),
        answer: ["Answer: ", ...answer]
      }))
    )
