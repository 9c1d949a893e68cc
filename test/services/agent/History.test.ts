import { describe, expect, it } from "@effect/vitest"
import { FastCheck as fc } from "effect"
import { argumentsState, forModel, turnLast, unanswered } from "../../../src/services/agent/History.js"
import * as AnswerNotes from "../../../src/services/delivery/AnswerNotes.js"
import { liveRows, type Message, type StoredMessage, storedMessage } from "../../../src/services/session/Transcript.js"

const user = (text: string): Message => ({ _tag: "user", text, platformMessageId: null })
const assistant = (text: string, calls: ReadonlyArray<string> = []): Message => ({
  _tag: "assistant",
  text,
  reasoning: null,
  toolCalls: calls.map((id) => ({ id, name: "probe", arguments: "{}" })),
  finishReason: "stop"
})
const result = (callId: string, text = callId): Message => ({
  _tag: "tool",
  callId,
  tool: "probe",
  text,
  disposition: "ok"
})
const stored = (messages: ReadonlyArray<Message>, turnId = "t"): ReadonlyArray<StoredMessage> =>
  messages.map((message, index) => storedMessage({ id: index + 1, position: index + 1, at: index, turnId, message }))

/** As the agent asks for it. */
const asRead = (messages: ReadonlyArray<Message>) => forModel(messages.map(AnswerNotes.own))

const row = fc.oneof(
  fc.constantFrom(user("u")),
  fc.uniqueArray(fc.constantFrom("a", "b", "c"), { maxLength: 3 }).map((calls) => assistant("said", calls)),
  fc.constantFrom("a", "b", "c", "x").map((id) => result(id))
)

describe("the rows of a turn", () => {
  it("come last, in their order, whatever was left between them", () => {
    const rows = fc
      .array(fc.constantFrom("t", "u", null), { maxLength: 8 })
      .map((turns) =>
        turns.map((turnId, index) =>
          storedMessage({ id: index + 1, position: index + 1, at: index, turnId, message: user(String(index)) })
        )
      )
    fc.assert(
      fc.property(rows, fc.boolean(), (all, isKnown) => {
        const start = all.findIndex(({ turnId }) => turnId === "t")
        const since = isKnown && start !== -1 ? start + 1 : undefined
        const { first, read, rows: ordered } = turnLast(liveRows(all), "t", since)
        expect(first).toBe(all.filter(({ turnId }) => turnId !== "t").length)
        expect(read).toEqual(ordered.map(({ own }) => own))
        const ids = (some: ReadonlyArray<StoredMessage>) => some.map(({ id }) => id)
        expect(ids(ordered)).toEqual([
          ...ids(all.filter(({ turnId }) => turnId !== "t")),
          ...ids(all.filter(({ turnId }) => turnId === "t"))
        ])
      })
    )
  })
})

describe("History", () => {
  it("puts results behind their calls in call order, whenever they were stored", () => {
    const rows = [user("go"), assistant("", ["a", "b"]), result("b"), result("a"), assistant("done")]
    expect(asRead(rows)).toEqual([user("go"), assistant("", ["a", "b"]), result("a"), result("b"), assistant("done")])
  })

  it("gives of an answer what the model said, without what stands around it for its reader", () => {
    const known = fc.record({
      truncated: fc.boolean(),
      spokenBy: fc.option(fc.constantFrom("openai/gpt", "openai-compatible/a/b:c")),
      ageMillis: fc.option(fc.integer({ min: 3_600_001, max: 10 ** 10 }))
    })
    const paragraphs = fc.array(fc.constantFrom("Yes.", "(No.)", "", "two\nlines", "(Answered by me)"), {
      minLength: 1
    })
    fc.assert(
      fc.property(
        known,
        paragraphs.map((texts) => texts.join("\n\n")),
        (notes, text) => {
          expect(asRead([user("go"), assistant(AnswerNotes.around(text, notes))])).toEqual(
            text === "" ? [user("go")] : [user("go"), assistant(text)]
          )
        }
      )
    )
  })

  it("does not say to a model that it said nothing", () => {
    const empty: Message = {
      _tag: "assistant",
      text: "The model came back with an empty answer.",
      reasoning: null,
      toolCalls: [],
      finishReason: "empty"
    }
    expect(asRead([user("go"), empty, user("again")])).toEqual([user("go\n\nagain")])
  })

  it("gives a call without a result one that says so", () => {
    const repaired = asRead([user("go"), assistant("", ["a"]), user("well?")])
    expect(repaired[2]).toMatchObject({ _tag: "tool", callId: "a", disposition: "unknown" })
    expect(repaired[3]).toEqual(user("well?"))
  })

  it("joins messages of a person that no answer stands between", () => {
    expect(asRead([user("one"), user("two")])).toEqual([user("one\n\ntwo")])
  })

  it.prop(
    "holds exactly one result per call in call order, and no result without a call",
    [fc.array(row)],
    ([rows]) => {
      const messages = asRead(rows)
      let expected: Array<string> = []
      for (const message of messages) {
        if (message._tag === "tool") expect(message.callId).toBe(expected.shift())
        else {
          expect(expected).toEqual([])
          expected = message._tag === "assistant" ? message.toolCalls.map((call) => call.id) : []
        }
      }
      expect(expected).toEqual([])
      for (const [index, message] of messages.entries())
        if (message._tag === "user") expect(messages[index - 1]?._tag).not.toBe("user")
    }
  )

  it("finds the calls that a turn goes on with", () => {
    const rows = stored([user("go"), assistant("", ["a", "b", "c"]), result("b")])
    expect(unanswered(rows, "t").map((call) => call.id)).toEqual(["a", "c"])
    expect(unanswered(rows, "another turn")).toEqual([])
    expect(unanswered(stored([user("go"), assistant("done")]), "t")).toEqual([])
  })

  it.each([
    ["", "ok"],
    ['{"a":1}', "ok"],
    ['{"a":', "cut"],
    ['{"command":"ls', "cut"],
    ["{a:1}", "malformed"]
  ])("reads arguments %s as %s", (text, state) => {
    expect(argumentsState({ id: "1", name: "x", arguments: text })).toBe(state)
  })
})
