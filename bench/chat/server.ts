/**
 * The Bot API server on loopback as a process of its own, with the people who write in it. Its parent says over IPC how
 * many write and how fast, and gets the time from each message to the first one that answers it.
 */
import { Effect, Scope } from "effect"
import * as TelegramServer from "../../src/testing/TelegramServer.js"

export type Order =
  /** One at a time: the next message is written when the former was answered. */
  | { readonly kind: "closed"; readonly count: number }
  /** So many a second, answered or not. */
  | { readonly kind: "paced"; readonly count: number; readonly perSecond: number }
  /** All at once. */
  | { readonly kind: "flood"; readonly count: number }

export interface Result {
  readonly millis: ReadonlyArray<number>
  readonly tookMillis: number
  readonly unanswered: number
  readonly calls: { readonly [method: string]: number }
}

/** Few enough that each conversation is known, and many enough that hardly two messages of one meet. */
const people = 50
const patienceMillis = 60_000

const born = new Map<string, number>()
let millis: Array<number> = []
let calls: { [method: string]: number } = {}
let expected = 0
let answered = (): void => {}

const observe = (call: TelegramServer.Call): void => {
  calls[call.method] = (calls[call.method] ?? 0) + 1
  if (call.method !== "sendMessage") return
  // An answer is known by the message that it replies to, or by the number that an echo repeats.
  const key = call.replyTo === null ? /#(\S+)/.exec(call.text ?? "")?.[1] : `${call.chatId}/${call.replyTo}`
  const at = born.get(key ?? "")
  if (at === undefined) return
  for (const [other, birth] of born) if (birth === at) born.delete(other)
  millis.push(performance.now() - at)
  answered()
}

const server = Effect.runSync(Scope.make())
const telegram = await Effect.runPromise(TelegramServer.make({ observe }).pipe(Scope.extend(server)))
const chats = Array.from({ length: people }, (_, n) => ({
  from: telegram.user(n),
  chat: telegram.dm(telegram.user(n))
}))
let written = 0

const write = (): void => {
  written += 1
  const { chat, from } = chats[written % people] ?? chats[0]!
  const at = performance.now() + written * 1e-9
  born.set(`${written}`, at)
  // The id is known only once it is written, and the answer cannot come before that.
  const id = Effect.runSync(telegram.say({ chat, from, text: `#${written} what is the weather like today?` }))
  if (born.has(`${written}`)) born.set(`${chat.id}/${id}`, at)
}

const finished = (): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, patienceMillis)
    answered = () => {
      if (millis.length < expected) return
      clearTimeout(timer)
      resolve()
    }
  })

const perform = async (order: Order): Promise<Result> => {
  born.clear()
  millis = []
  calls = {}
  expected = order.count
  const begun = performance.now()
  if (order.kind === "closed") {
    for (let n = 1; n <= order.count; n += 1) {
      expected = n
      const done = finished()
      write()
      await done
      if (millis.length < n) break
    }
  } else if (order.kind === "flood") {
    const done = finished()
    for (let n = 0; n < order.count; n += 1) write()
    await done
  } else {
    const done = finished()
    let sent = 0
    const tick = (): void => {
      const due = Math.min(order.count, Math.floor(((performance.now() - begun) / 1000) * order.perSecond))
      for (; sent < due; sent += 1) write()
      if (sent < order.count) setTimeout(tick, 1)
    }
    tick()
    await done
  }
  return { millis, tookMillis: performance.now() - begun, unanswered: order.count - millis.length, calls }
}

process.on("message", (order: Order) => void perform(order).then((result) => process.send?.(result)))
process.on("disconnect", () => process.exit(0))
process.send?.({ apiRoot: telegram.apiRoot, token: telegram.token })
