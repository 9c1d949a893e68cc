/**
 * What the model says: a pure function of what it is asked. Every order carries a number, `#17 send 2`, and whatever is
 * said, sent or run for it carries it on, so that each act can be traced to who asked for it.
 */
import type { ModelRequest } from "../../src/services/agent/ModelRoute.js"
import * as Testing from "../../src/testing/index.js"
import { chatOf } from "./Cast.js"

/** The numbers that a text carries. */
export const numbersIn = (text: string): ReadonlyArray<number> =>
  [...text.matchAll(/#(\d+)/g)].map(([, number]) => Number(number))

export const verbs = [
  "plain",
  "slow",
  "todo",
  "send",
  "delegate",
  "behind",
  "gate",
  "job",
  "script",
  "once",
  "malformed",
  "broken",
  "long"
] as const
export type Verb = (typeof verbs)[number]

/** What is asked for; what somebody else had written here, and is only mentioned, is none. */
const order = new RegExp(`#(\\d+) (${[...verbs, "helper", "due"].join("|")})(?: (\\d+))?`, "g")
const ordersIn = (text: string) => [...text.matchAll(order)]

/** The numbers of the orders that somebody gives in a text, not of what is done for them. */
export const askedIn = (text: string): ReadonlyArray<number> =>
  ordersIn(text).flatMap(([, number, verb]) => (verb === "helper" || verb === "due" ? [] : [Number(number)]))

/** How often a job of an order is due, or in how many minutes a single one. */
export const everyMinutes = (argument: number): number => 2 + (argument % 7)

/** The script of an order: its name in the home, and what it says when it runs. */
export const scriptOf = (number: number | string) => ({
  name: `order-${number}.sh`,
  text: `echo "job of #${number}"\n`
})

const first = (verb: string, number: string, argument: number): Testing.StepInput | null => {
  switch (verb) {
    case "slow":
      return Testing.delay("20 seconds", Testing.call("todo", { items: [{ id: number, content: `#${number} item` }] }))
    case "todo":
      return Testing.call("todo", { items: [{ id: number, content: `#${number} item` }] })
    case "send": {
      const { place, platform } = chatOf(argument)
      const thread = place.threadId === null || place.threadId === place.chatId ? "" : `:${place.threadId}`
      return Testing.call("send_message", {
        target: `${platform}:${place.chatId}${thread}`,
        message: `word of #${number}`
      })
    }
    case "delegate":
      return Testing.call("delegate_task", { goal: `#${number} helper` })
    case "behind":
      return Testing.call("delegate_task", { goal: `#${number} helper`, background: true })
    case "helper":
      return Testing.delay("5 seconds", Testing.call("send_message", { message: `helper of #${number} speaks` }))
    case "gate":
      return Testing.call("terminal", { command: `rm -rf ./junk-${number}` })
    case "job":
      return Testing.call("cronjob", {
        action: "create",
        name: `job ${number}`,
        schedule: `every ${everyMinutes(argument)}m`,
        prompt: `#${number} due`,
        repeat: 3
      })
    case "script":
      return Testing.call("cronjob", {
        action: "create",
        name: `job ${number}`,
        schedule: `every ${everyMinutes(argument)}m`,
        script: scriptOf(number).name,
        no_agent: true,
        repeat: 3
      })
    case "once":
      return Testing.call("cronjob", {
        action: "create",
        name: `job ${number}`,
        schedule: `${everyMinutes(argument)}m`,
        prompt: `#${number} due`
      })
    case "due":
      return Number(number) % 3 === 0 ? Testing.call("delegate_task", { goal: `#${number} helper` }) : null
    case "malformed":
      return Testing.calls([
        { name: "todo", arguments: '{"items": [' },
        { name: "no_such_tool", arguments: "null" },
        { name: "todo", arguments: '"text"' }
      ])
    case "broken":
      return Testing.fail("overloaded", [{ _tag: "Text", delta: `part of #${number}` }])
    default:
      return null
  }
}

/** The answer to a request: what the newest order in it wants done first, and then words. */
export const answer = (request: ModelRequest): Testing.StepInput => {
  const at = request.messages.findLastIndex(({ _tag, text }) => _tag === "user" && ordersIn(text).length > 0)
  const found = ordersIn(request.messages[at]?.text ?? "").at(-1)
  if (found === undefined) return "nothing was asked"
  const [, number = "", verb = "", argument = "0"] = found
  const acted = request.messages.slice(at + 1).some((message) => message._tag === "tool")
  const step = acted ? null : first(verb, number, Number(argument))
  if (step !== null) return step
  if (verb === "due") return Testing.delay("3 seconds", `job of #${number}`)
  if (verb === "long") return `answer to #${number} ${"many words ".repeat(500)}#${number}`
  return `answer to #${number}`
}
