/** What is piped into `hermes chat`, line by line. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Input } from "../../src/layers/terminal/Keyboard.js"
import * as Screen from "../../src/layers/terminal/Screen.js"
import { converse } from "../../src/programs/chat.js"
import type { SessionView } from "../../src/services/api/Sessions.js"
import { Dialogue, type LastWord } from "../../src/services/conversation/Dialogue.js"
import { Desk, GatewayUnreachable } from "../../src/services/operation/Desk.js"

const session: SessionView = {
  id: "ses_1",
  key: null,
  title: null,
  source: "cli",
  platform: null,
  chatId: null,
  threadId: null,
  userId: null,
  parentId: null,
  model: null,
  startedAt: 0,
  lastActivityAt: 0,
  endedAt: null,
  endReason: null,
  messages: 1,
  unread: false,
  archived: false,
  pinned: false,
  suspended: false
}

const ended = (outcome: string): LastWord => ({
  _tag: "turn.ended",
  at: 0,
  sessionKey: "key",
  sessionId: session.id,
  turnId: "turn",
  eventId: "event",
  outcome,
  text: outcome
})

/** The gateway dies under `killed` and is back for the next line. */
const dialogue = Layer.succeed(
  Dialogue,
  Dialogue.of({
    begin: Effect.succeed(session),
    say: ({ text }) =>
      text === "killed"
        ? new GatewayUnreachable({ url: "http://127.0.0.1:1", detail: "it ended" })
        : Effect.succeed(ended(text === "broken" ? "failed" : "answered")),
    stop: () => Effect.succeed(false)
  })
)
const desk = Layer.succeed(Desk, {
  sessions: { get: () => Effect.succeed(session), list: () => Effect.succeed([session]) }
} as never)

const piped = (...lines: ReadonlyArray<string>) => {
  const inputs: Array<Input> = [...lines.map((text) => ({ _tag: "Line", text }) as const), { _tag: "End" }]
  const keyboard = {
    interactive: false,
    next: Effect.suspend(() => {
      const input = inputs.shift()
      return input === undefined ? Effect.never : Effect.succeed(input)
    }),
    prompt: Effect.void
  }
  return converse({ session, keyboard, workingDirectory: "/", style: Screen.styles.plain }).pipe(
    Effect.provide(Layer.merge(dialogue, desk))
  )
}

describe("what is piped into a chat", () => {
  it.effect("is told by its line where it got no answer, and the lines behind it are said all the same", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* piped("one", "", "killed", "four", "broken"), [
        { number: 3, text: "killed" },
        { number: 5, text: "broken" }
      ])
      assert.deepStrictEqual(yield* piped("one", "two"), [])
    })
  )
})
