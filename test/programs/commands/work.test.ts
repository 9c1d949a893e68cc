import { expect, test } from "vitest"
import { questionLines, workWords } from "../../../src/programs/commands/work.js"

test("what is at work is counted in words, and what there is none of is left out", () => {
  const none = { turns: 0, cron: 0, api: 0, delegates: 0, processes: 0 }
  expect(workWords(none)).toBe("")
  expect(workWords({ ...none, turns: 1, processes: 2 })).toBe("1 turn, 2 commands")
})

test("a question that waits is told, with where it is answered", () => {
  expect(questionLines(0)).toEqual([])
  expect(questionLines(1)).toEqual(["1 question waits for an answer: `hermes approvals`."])
  expect(questionLines(2)).toEqual(["2 questions wait for an answer: `hermes approvals`."])
})
