import { describe, expect, it } from "@effect/vitest"
import { type BusyFacts, decide } from "../../../src/services/conversation/BusyPolicy.js"

const idle: BusyFacts = { mode: "interrupt", pureText: true, hasDelegates: false, compacting: false, stopping: false }

describe("BusyPolicy", () => {
  it.each([
    ["interrupts on plain text", idle, { _tag: "Interrupt" }],
    ["queues a photo rather than interrupt", { ...idle, pureText: false }, { _tag: "Queue", because: "queued" }],
    ["does not throw a helper's work away", { ...idle, hasDelegates: true }, { _tag: "Queue", because: "subagents" }],
    ["does not throw a summary away", { ...idle, compacting: true }, { _tag: "Queue", because: "compressing" }],
    ["queues when told to", { ...idle, mode: "queue" }, { _tag: "Queue", because: "queued" }],
    ["steers with text", { ...idle, mode: "steer" }, { _tag: "Steer" }],
    ["steers also while helpers work", { ...idle, mode: "steer", hasDelegates: true }, { _tag: "Steer" }],
    ["cannot steer with a photo", { ...idle, mode: "steer", pureText: false }, { _tag: "Queue", because: "queued" }],
    ["queues once the turn is ending", { ...idle, stopping: true }, { _tag: "Queue", because: "queued" }],
    [
      "does not steer a turn that is ending",
      { ...idle, mode: "steer", stopping: true },
      { _tag: "Queue", because: "queued" }
    ]
  ] as const)("%s", (_what, facts, decision) => {
    expect(decide(facts)).toEqual(decision)
  })
})
