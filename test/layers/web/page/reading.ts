/** A page without a browser: what it knows after what happened, and what a person would read on it. */
import { shownOf } from "../../../../src/layers/web/page/asides.js"
import { compose, fromRows, type Block } from "../../../../src/layers/web/page/blocks.js"
import type { Event, Message } from "../../../../src/layers/web/page/gateway.js"
import { type Action, reduce } from "../../../../src/layers/web/page/reduce.js"
import { initial, type State } from "../../../../src/layers/web/page/state.js"
import { answerOf, type Part } from "../../../../src/layers/web/page/turns.js"
import { session } from "./script.js"

export const after = (state: State, ...actions: ReadonlyArray<Action>): State => actions.reduce(reduce, state)

export const happened = (...events: ReadonlyArray<Event>): Action => ({ type: "events", events })

export const page = (
  id: string,
  rows: ReadonlyArray<Message>,
  facts: { full?: boolean; earlier?: boolean; known?: number } = {}
): Action => ({
  type: "rows",
  page: { id, rows, full: false, earlier: false, known: 0, ...facts }
})

/** A page with two conversations, the first one shown. */
export const open = after(
  initial,
  { type: "access", access: "in" },
  { type: "connection", connection: "open" },
  { type: "sessions", sessions: [session("a"), session("b")] },
  { type: "opened", id: "a" },
  page("a", [])
)

export const blocks = (state: State): ReadonlyArray<Block> =>
  compose(
    fromRows(state.rows, state.helped, new Map()),
    state.turns.filter((turn) => turn.sessionId === state.current),
    shownOf(state)
  )

export const read = (part: Part): ReadonlyArray<string> =>
  part.kind === "words"
    ? part.text.trim() === ""
      ? []
      : [`words: ${part.text}`]
    : part.kind === "tool"
      ? [
          `tool: ${part.preview} ${part.state} ${part.result}`,
          ...[answerOf(part)].flatMap((answer) => (answer === null ? [] : [`answer: ${answer}`])),
          ...part.told.map(({ text }) => `told: ${text}`)
        ]
      : part.kind === "files"
        ? part.files.map(({ name }) => `file: ${name}`)
        : [`helper: ${part.goal} ${part.status}`, ...part.parts.flatMap(read).map((line) => `  ${line}`)]

/** What a person reads, top to bottom. */
export const shown = (state: State): ReadonlyArray<string> =>
  blocks(state).flatMap((block) => {
    switch (block.kind) {
      case "user":
        return [`user: ${block.text}`, ...block.files.map(({ name }) => `file: ${name}`)]
      case "said":
        return [`${block.said.state}: ${block.said.text}`]
      case "notice":
        return [`notice: ${block.text}`]
      case "summary":
        return [`summary: ${block.text}`]
      case "turn":
        return block.parts.flatMap(read)
    }
  })
