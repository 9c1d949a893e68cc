import { describe, it } from "@effect/vitest"
import { expect } from "vitest"
import * as JobCommand from "../../../src/services/schedule/JobCommand.js"

const context = { now: Date.UTC(2026, 10, 29, 12), zone: "UTC", timezone: null, wakesAgent: true }

describe("/cron", () => {
  it.each([
    ["", { _tag: "List", all: false }],
    ["list all", { _tag: "List", all: true }],
    ["add weekdays at 9am plan my day", { _tag: "Add", schedule: "weekdays at 9am", prompt: "plan my day" }],
    ["add every 2h check the oven", { _tag: "Add", schedule: "every 2h", prompt: "check the oven" }],
    ["add 0 9 * * 1-5 plan", { _tag: "Add", schedule: "0 9 * * 1-5", prompt: "plan" }],
    ["add in 10 minutes: stretch", { _tag: "Add", schedule: "in 10 minutes", prompt: "stretch" }],
    ["add 30m stretch", { _tag: "Add", schedule: "30m", prompt: "stretch" }],
    ['add "every 1d at 09:00" say: hello', { _tag: "Add", schedule: "every 1d at 09:00", prompt: "say: hello" }],
    ["add soon something", { _tag: "Add", schedule: "soon", prompt: "something" }],
    ["edit 3f2a schedule every 3h", { _tag: "Edit", job: "3f2a", field: "schedule", value: "every 3h" }],
    ['edit "my news" prompt say: news', { _tag: "Edit", job: "my news", field: "prompt", value: "say: news" }],
    ["pause my news", { _tag: "Pause", job: "my news" }],
    ['remove "my news"', { _tag: "Remove", job: "my news" }],
    ["run news only the sports", { _tag: "Run", job: "news", context: "only the sports" }],
    ["runs news", { _tag: "Runs", job: "news" }]
  ])("reads %s", (args, expected) => {
    expect(JobCommand.parse(args, context)).toEqual(expected)
  })

  it.each(["dance", "add", "add 30m", "edit x", "edit x color red", "pause", "run"])("says how to write %s", (args) => {
    expect(JobCommand.parse(args, context)._tag).toBe("Help")
  })
})
