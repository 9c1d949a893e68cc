/**
 * What surrounds a bot, as a process of its own and bare node:http, so that it takes little of the machine: a Bot API
 * server with the people who write in it, and a model that answers at once with the message's own number. Its parent
 * says over IPC how many write and how fast, and gets the time from each message to its answer and to the model's request.
 */
import http from "node:http"

export interface Order {
  readonly count: number
  /** Messages that wait for an answer at most: 1 is one at a time. */
  readonly inFlight?: number
  /** So many a second, answered or not; without it as fast as `inFlight` lets. */
  readonly perSecond?: number
  /** Who writes: people `from` … `from + people - 1`, in turn. */
  readonly people: number
  readonly from?: number
}

export interface Result {
  /** From a message to its answer; one that was not answered in time is not in it. */
  readonly millis: ReadonlyArray<number>
  /** From a message to its request at the model. */
  readonly modelMillis: ReadonlyArray<number>
  readonly tookMillis: number
  readonly unanswered: number
  /** Answers that came again. */
  readonly repeated: number
  readonly calls: { readonly [method: string]: number }
}

const token = "1:bench"
const patienceMillis = 30_000

interface Poll {
  readonly response: http.ServerResponse
  readonly limit: number
  readonly timer: NodeJS.Timeout
}

let updates: Array<{ readonly update_id: number; readonly message: object }> = []
let poll: Poll | null = null
let written = 0
let sentMessages = 0
const born = new Map<number, number>()
let millis: Array<number> = []
let modelMillis: Array<number> = []
let repeated = 0
let calls: { [method: string]: number } = {}
let progress = (): void => {}

const reply = (response: http.ServerResponse, result: unknown): void => {
  const body = JSON.stringify({ ok: true, result })
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body)
}

const hand = (): void => {
  if (poll === null || updates.length === 0) return
  const { limit, response, timer } = poll
  poll = null
  clearTimeout(timer)
  reply(response, updates.slice(0, limit))
}

const write = (person: number): void => {
  written += 1
  const chat = { id: 1_000 + person, type: "private", first_name: "P" }
  updates.push({
    update_id: written,
    message: {
      message_id: written,
      date: Math.floor(Date.now() / 1000),
      text: `#${written} hello there, what is the weather like today?`,
      chat,
      from: { id: chat.id, is_bot: false, first_name: "P" }
    }
  })
  born.set(written, performance.now())
  hand()
}

const numberIn = (text: unknown): number =>
  typeof text === "string" ? Number(/#(\d+)/.exec(text)?.[1] ?? Number.NaN) : Number.NaN

type Parameters = { readonly [name: string]: unknown }

const bot: { readonly [method: string]: (parameters: Parameters, response: http.ServerResponse) => void } = {
  getMe: (_, response) =>
    reply(response, {
      id: 1,
      is_bot: true,
      first_name: "Bench",
      username: "bench_bot",
      can_join_groups: true,
      can_read_all_group_messages: false,
      supports_inline_queries: false
    }),
  getUpdates: ({ offset, limit, timeout }, response) => {
    const first = Number(offset ?? 0)
    if (first > 0) updates = updates.filter((update) => update.update_id >= first)
    if (poll !== null) {
      clearTimeout(poll.timer)
      reply(poll.response, [])
    }
    const timer = setTimeout(
      () => {
        poll = null
        reply(response, [])
      },
      Number(timeout ?? 0) * 1000
    )
    poll = { response, limit: Number(limit ?? 100), timer }
    hand()
  },
  sendMessage: ({ chat_id, text }, response) => {
    sentMessages += 1
    reply(response, { message_id: 1e6 + sentMessages, date: 0, chat: { id: Number(chat_id), type: "private" }, text })
    const number = numberIn(text)
    const at = born.get(number)
    if (at === undefined) {
      repeated += 1
      return
    }
    born.delete(number)
    millis.push(performance.now() - at)
    progress()
  }
}

/** A chat completion in one piece of a stream. */
const complete = (parameters: Parameters, response: http.ServerResponse): void => {
  const messages = Array.isArray(parameters["messages"]) ? parameters["messages"] : []
  const content: unknown = messages.at(-1)?.content
  const text = typeof content === "string" ? content : JSON.stringify(content)
  const at = born.get(numberIn(text))
  if (at !== undefined) modelMillis.push(performance.now() - at)
  const chunk = (delta: object, finish: string | null): string =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 0, model: "instant", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
  response.writeHead(200, { "content-type": "text/event-stream" })
  response.end(`${chunk({ role: "assistant", content: text }, null)}${chunk({}, "stop")}data: [DONE]\n\n`)
}

const server = http.createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://127.0.0.1")
  const method = url.pathname.split("/").at(-1) ?? ""
  const pieces: Array<Buffer> = []
  request.on("data", (piece: Buffer) => pieces.push(piece))
  request.on("end", () => {
    calls[method] = (calls[method] ?? 0) + 1
    const body = Buffer.concat(pieces).toString()
    const given: Parameters = body === "" ? {} : JSON.parse(body)
    const parameters = { ...Object.fromEntries(url.searchParams), ...given }
    if (url.pathname.endsWith("/chat/completions")) return complete(parameters, response)
    const answer = bot[method]
    if (answer === undefined) reply(response, true)
    else answer(parameters, response)
  })
})
server.keepAliveTimeout = 60_000

const perform = ({ count, from = 0, inFlight = Infinity, people, perSecond }: Order): Promise<Result> =>
  new Promise((resolve) => {
    born.clear()
    millis = []
    modelMillis = []
    repeated = 0
    calls = {}
    const begun = performance.now()
    let sent = 0
    let moved = begun
    const due = (): number =>
      Math.min(
        count,
        perSecond === undefined ? count : Math.floor(((performance.now() - begun) / 1000) * perSecond),
        millis.length + inFlight
      )
    const more = (): void => {
      for (const until = due(); sent < until; sent += 1) write(from + (sent % people))
    }
    const finish = (): void => {
      clearInterval(ticking)
      progress = () => {}
      const unanswered = count - millis.length
      resolve({ millis, modelMillis, tookMillis: performance.now() - begun, unanswered, repeated, calls })
    }
    const ticking = setInterval(() => {
      more()
      if (performance.now() - moved > patienceMillis) finish()
    }, 1)
    progress = () => {
      moved = performance.now()
      if (millis.length >= count) finish()
      // The next one is written when this answer has left.
      else if (perSecond === undefined) setImmediate(more)
    }
    more()
  })

process.on("message", (order: Order) => void perform(order).then((result) => process.send?.(result)))
process.on("disconnect", () => process.exit(0))
server.listen(0, "127.0.0.1", () => {
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  process.send?.({ root: `http://127.0.0.1:${port}`, token })
})
