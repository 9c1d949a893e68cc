import { describe, expect, test } from "vitest"
import * as Screen from "../../../src/layers/terminal/Screen.js"
import type { LastWord } from "../../../src/services/conversation/Dialogue.js"
import type { ActivityEvent } from "../../../src/services/operation/Activity.js"

const place = { at: 0, sessionKey: "key", sessionId: "ses_1", turnId: "mine" }
const started: ActivityEvent = { _tag: "turn.started", ...place, eventId: "evt_1", parentTurnId: null, platform: "" }
const delta = (text: string, turnId = "mine"): ActivityEvent => ({ _tag: "text.delta", ...place, turnId, text })
const segment: ActivityEvent = { _tag: "text.segment", ...place }
const tool: ActivityEvent = { _tag: "tool.started", ...place, callId: "c", tool: "terminal", preview: "ls\n-la" }
const settled = (ok: boolean): ActivityEvent => ({
  _tag: "tool.settled",
  ...place,
  callId: "c",
  tool: "terminal",
  ok,
  preview: "no such file"
})
const last = (text: string, outcome = "answered"): LastWord => ({
  _tag: "turn.ended",
  ...place,
  eventId: "evt_1",
  outcome,
  text
})

/** Everything that is written for these events and the last word. */
const written = (events: ReadonlyArray<ActivityEvent>, word: LastWord): string => {
  let [screen, text] = [Screen.blank, ""]
  for (const event of events) {
    const step = Screen.show(screen, event, Screen.styles.plain)
    screen = step.screen
    text += step.text
  }
  return text + Screen.finish(screen, word, Screen.styles.plain)
}

describe("a terminal's view of a turn", () => {
  test("the answer grows and is not said twice", () => {
    expect(written([started, delta("Hel"), delta("lo")], last("Hello"))).toBe("Hello\n")
    expect(written([started], last("Hello"))).toBe("Hello\n")
  })

  test("what the answer has beyond what was shown is added; another answer is said whole", () => {
    expect(written([started, delta("Hello")], last("Hello\n\n(note)"))).toBe("Hello\n\n(note)\n")
    expect(written([started, delta("Hullo")], last("Hello"))).toBe("Hullo\nHello\n")
  })

  test("words before a tool are no answer; tools and their failures are a line each", () => {
    expect(written([started, delta("Let me see"), segment, tool, settled(true), delta("Done.")], last("Done."))).toBe(
      "Let me see\n  → terminal ls -la\nDone.\n"
    )
    expect(written([started, tool, settled(false)], last("It failed."))).toBe(
      "  → terminal ls -la\n  ✗ terminal: no such file\nIt failed.\n"
    )
  })

  test("an answer that broke off is told from the one that is made again", () => {
    expect(written([started, delta("One"), { ...segment, again: true }, delta("Two")], last("Two words"))).toBe(
      "One\n  (That broke off; again from its beginning:)\nTwo words\n"
    )
  })

  test("what was refused has not failed", () => {
    const refused: ActivityEvent = {
      _tag: "tool.settled",
      ...place,
      callId: "c",
      tool: "terminal",
      ok: false,
      disposition: "refused",
      preview: "The owner said no."
    }
    expect(written([started, tool, refused], last("Well."))).toBe(
      "  → terminal ls -la\n  – terminal: The owner said no.\nWell.\n"
    )
  })

  test("a helper's words stay with it, its tools are indented", () => {
    const helper = { ...place, turnId: "theirs" }
    expect(
      written(
        [
          started,
          { _tag: "delegate.started", ...place, delegationId: "d", childTurnId: "theirs", goal: "count" },
          delta("one two", "theirs"),
          { _tag: "tool.started", ...helper, callId: "c", tool: "terminal", preview: "wc" },
          { _tag: "delegate.ended", ...place, delegationId: "d", status: "completed" }
        ],
        last("Two.")
      )
    ).toBe("  ⇢ helper: count\n    → terminal wc\n  ⇠ helper: completed\nTwo.\n")
  })

  test("an interrupted turn says so on a line of its own", () => {
    expect(written([started, delta("Hel")], last("", "interrupted"))).toBe("Hel\n  (interrupted)\n")
  })

  test("control characters of others never reach the terminal", () => {
    expect(written([started, delta("a\u001b]0;title\u0007b\u009bc")], last("a\u001b]0;title\u0007b\u009bc"))).toBe(
      "a]0;titlebc\n"
    )
  })
})
