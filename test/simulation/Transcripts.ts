/** What a model is sent reads as it went: one after the other, each call with its result, and nothing of another conversation. */
import type { ModelRequest } from "../../src/services/agent/ModelRoute.js"
import { isShared } from "./Cast.js"
import { askedIn } from "./Model.js"
import type { Order } from "./Telling.js"
import type { Wrong } from "./Wrong.js"

/** Results follow their calls in the calls' order; nobody speaks twice in a row, and somebody else than the model last. */
const alternation = ({ messages }: ModelRequest): Wrong => {
  let open: ReadonlyArray<string> = []
  let before: string | null = null
  const wrong: Array<string> = []
  for (const message of messages) {
    if (message._tag === "tool") {
      if (open[0] !== message.callId) wrong.push(`transcript: a result of ${message.callId} where ${open[0]} is open`)
      open = open.slice(1)
    } else {
      if (open.length > 0) wrong.push(`transcript: ${message._tag} speaks and ${open.join(", ")} has no result`)
      if (before === message._tag) wrong.push(`transcript: ${message._tag} speaks twice: ${message.text.slice(0, 60)}`)
      open = message._tag === "assistant" ? message.toolCalls.map(({ id }) => id) : []
    }
    before = message._tag
  }
  if (open.length > 0) wrong.push(`transcript: a model is asked and ${open.join(", ")} has no result`)
  if (messages[0]?._tag !== "user") wrong.push(`transcript: it begins with ${messages[0]?._tag}`)
  return wrong
}

/** All that a model reads was said in one conversation. */
const company = ({ messages }: ModelRequest, orders: ReadonlyMap<number, Order>): Wrong => {
  const read = messages
    .flatMap((message) => (message._tag === "user" ? askedIn(message.text) : []))
    .flatMap((number) => orders.get(number) ?? [])
  const last = read.at(-1)
  if (last === undefined) return []
  return read
    .filter(({ chat, userId }) => chat !== last.chat || (userId !== last.userId && !isShared(chat)))
    .map(({ number }) => `identity: what #${number} had said is read for #${last.number}`)
}

export const wrongIn = (request: ModelRequest, orders: ReadonlyMap<number, Order>): Wrong => [
  ...alternation(request),
  ...company(request, orders)
]
