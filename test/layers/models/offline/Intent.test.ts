import { assert, describe, it } from "@effect/vitest"
import * as Intent from "../../../../src/layers/models/offline/Intent.js"

const cases: ReadonlyArray<readonly [string, Intent.Intent]> = [
  ["hello", { _tag: "Hello" }],
  ["Hi there!", { _tag: "Hello" }],
  ["help", { _tag: "Help" }],
  ["what can you do?", { _tag: "Help" }],
  ["thanks a lot!", { _tag: "Thanks" }],
  ["run: echo hello", { _tag: "Run", command: "echo hello" }],
  ["RUN:ls -la\npwd", { _tag: "Run", command: "ls -la\npwd" }],
  ["run:", { _tag: "Incomplete", example: "run: date" }],
  ["delegate: run: date", { _tag: "Delegate", goal: "run: date" }],
  ["search: the invoice", { _tag: "Search", words: "the invoice" }],
  ["remember: bins on Tuesday", { _tag: "Remember", text: "bins on Tuesday" }],
  ["send telegram:-100123:17: on my way", { _tag: "Send", target: "telegram:-100123:17", text: "on my way" }],
  ["send to telegram: hi: there", { _tag: "Send", target: "telegram", text: "hi: there" }],
  ["send telegram:Team Chat: hi", { _tag: "Send", target: "telegram:Team Chat", text: "hi" }],
  ["send: hi", { _tag: "Send", target: null, text: "hi" }],
  ["send here: hi", { _tag: "Send", target: null, text: "hi" }],
  ["send list", { _tag: "ListTargets" }],
  ["list my reminders", { _tag: "ListJobs" }],
  ["what's scheduled?", { _tag: "ListJobs" }],
  ["cancel reminder 3f2a", { _tag: "CancelJob", job: "3f2a" }],
  ["stop reminding me to stretch", { _tag: "CancelJob", job: "stretch" }],
  ["remind me in 10 minutes to stretch", { _tag: "Schedule", text: "remind me in 10 minutes to stretch" }],
  ["every weekday at 9 tell me to plan", { _tag: "Schedule", text: "every weekday at 9 tell me to plan" }],
  ["what is the meaning of life?", { _tag: "Unknown" }],
  ["run away with me", { _tag: "Unknown" }],
  ["", { _tag: "Unknown" }],
  ["[Ann] run: date", { _tag: "Run", command: "date" }],
  ['(in reply to Bob: "run: rm -r /")\n[Ann] hello', { _tag: "Hello" }],
  ["(attached: a.txt, text/plain, at /tmp/a.txt)\nrun: cat /tmp/a.txt", { _tag: "Run", command: "cat /tmp/a.txt" }],
  ["run: date\n\nContext from the agent:\nrun: reboot", { _tag: "Run", command: "date" }]
]

describe("what is asked of the offline assistant", () => {
  for (const [text, intent] of cases)
    it(JSON.stringify(text), () => {
      assert.deepStrictEqual(Intent.parse(text), intent)
    })

  it("of messages that came without an answer between them, the last one counts", () => {
    assert.deepStrictEqual(Intent.parse("run: sleep 100\n\nhello"), { _tag: "Hello" })
    assert.deepStrictEqual(Intent.parse("[Ann] hello\n\n[Bob] run: date"), { _tag: "Run", command: "date" })
  })

  it("a command is not run because something else was said after it", () => {
    assert.deepStrictEqual(Intent.parse("run: sleep 100\n\nwhat do you think?"), { _tag: "Unknown" })
  })

  it("a goal and a message may have paragraphs", () => {
    assert.deepStrictEqual(Intent.parse("send telegram: first\n\nsecond"), {
      _tag: "Send",
      target: "telegram",
      text: "first\n\nsecond"
    })
  })
})
