/**
 * A chat-completions server on loopback that answers as it is told: tool calls, slow streams, garbage, silence, dropped
 * connections, errors. Also a plain HTTP answerer for other wire formats.
 */
import * as Http from "node:http"
import { Deferred, Duration, Effect, type Scope } from "effect"
import * as Turn from "../fibers/Turn.js"

/** What the server was sent. */
export interface ModelServerRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The body as JSON; the text itself when it is none. */
  readonly body: unknown
  /** The text of the newest message, when it has one. */
  readonly text: string
  readonly tools: ReadonlyArray<string>
  /** How many requests came before this one. */
  readonly index: number
}

/** An answer, byte for byte. */
export interface ModelServerReply {
  /** Before the status line. */
  readonly delay?: Duration.DurationInput
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Pieces of the body, each written on its own. */
  readonly pieces?: ReadonlyArray<string | Uint8Array>
  /** Between two pieces. */
  readonly every?: Duration.DurationInput
  /** After the pieces: the end, nothing more ever, or a cut connection. `silent` does not even send a status line. */
  readonly then?: "end" | "hang" | "drop" | "silent"
}

export interface ModelServerOptions {
  /** Requests that `requests` keeps, the newest; all when left out. */
  readonly remember?: number
}

export interface ModelServer {
  /** What stands before `/chat/completions`. */
  readonly baseUrl: string
  /** The address without a path. */
  readonly origin: string
  readonly requests: Effect.Effect<ReadonlyArray<ModelServerRequest>>
  /** Waits until `count` requests have come. */
  readonly received: (count: number) => Effect.Effect<void>
  /** Requests whose answer is still open. */
  readonly open: Effect.Effect<number>
  /** Waits until no answer is open. */
  readonly closed: Effect.Effect<void>
  /** Connections made so far. */
  readonly connections: Effect.Effect<number>
}

export interface SpokenCall {
  readonly name: string
  readonly arguments?: unknown
  readonly id?: string | null
}

const event = (value: unknown): string => `data: ${typeof value === "string" ? value : JSON.stringify(value)}\n\n`

const eventStream = { "content-type": "text/event-stream", "cache-control": "no-cache" }

const usage = { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 }

const chunk = (delta: object, finish: string | null = null) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 0,
  model: "loopback",
  choices: [{ index: 0, delta, finish_reason: finish }]
})

const argumentText = (call: SpokenCall): string =>
  typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments ?? {})

const callDeltas = (calls: ReadonlyArray<SpokenCall>): ReadonlyArray<object> =>
  calls.flatMap((call, index) => {
    const text = argumentText(call)
    const half = Math.ceil(text.length / 2)
    const id = call.id === undefined ? `call_loopback_${index}` : call.id
    return [
      {
        tool_calls: [
          { index, ...(id === null ? {} : { id }), type: "function", function: { name: call.name, arguments: "" } }
        ]
      },
      { tool_calls: [{ index, function: { arguments: text.slice(0, half) } }] },
      { tool_calls: [{ index, function: { arguments: text.slice(half) } }] }
    ]
  })

/** A streamed answer: a delta for each text, then the calls in pieces, usage, `[DONE]`. */
export const streams = (
  texts: ReadonlyArray<string>,
  options: {
    readonly calls?: ReadonlyArray<SpokenCall>
    readonly reasoning?: string
    readonly every?: Duration.DurationInput
    readonly delay?: Duration.DurationInput
    readonly then?: ModelServerReply["then"]
  } = {}
): ModelServerReply => {
  const calls = options.calls ?? []
  const ends = (options.then ?? "end") === "end"
  return {
    headers: eventStream,
    pieces: [
      event(chunk({ role: "assistant", content: "" })),
      ...(options.reasoning === undefined ? [] : [event(chunk({ reasoning_content: options.reasoning }))]),
      ...texts.map((text) => event(chunk({ content: text }))),
      ...callDeltas(calls).map((delta) => event(chunk(delta))),
      ...(ends
        ? [
            event(chunk({}, calls.length > 0 ? "tool_calls" : "stop")),
            event({ ...chunk({}), choices: [], usage }),
            event("[DONE]")
          ]
        : [])
    ],
    ...(options.every === undefined ? {} : { every: options.every }),
    ...(options.delay === undefined ? {} : { delay: options.delay }),
    ...(options.then === undefined ? {} : { then: options.then })
  }
}

/** Says one text. */
export const says = (text: string): ModelServerReply => streams([text])

/** Calls tools, with a text before them. */
export const callsTools = (calls: ReadonlyArray<SpokenCall>, text = ""): ModelServerReply =>
  streams(text === "" ? [] : [text], { calls })

/** The whole answer as one JSON document, as servers without streaming send it. */
export const answersWhole = (text: string, calls: ReadonlyArray<SpokenCall> = []): ModelServerReply => ({
  headers: { "content-type": "application/json" },
  pieces: [
    JSON.stringify({
      id: "chatcmpl-1",
      object: "chat.completion",
      choices: [
        {
          index: 0,
          finish_reason: calls.length > 0 ? "tool_calls" : "stop",
          message: {
            role: "assistant",
            content: text,
            ...(calls.length === 0
              ? {}
              : {
                  tool_calls: calls.map((call, index) => ({
                    id: call.id ?? `call_loopback_${index}`,
                    type: "function",
                    function: { name: call.name, arguments: argumentText(call) }
                  }))
                })
          }
        }
      ],
      usage
    })
  ]
})

/** Events exactly as given: a value is sent as JSON, a text as it is. */
export const sends = (
  events: ReadonlyArray<unknown>,
  options: Pick<ModelServerReply, "every" | "then" | "delay"> = {}
): ModelServerReply => ({ headers: eventStream, pieces: events.map(event), ...options })

/** Bytes that are no answer, under a good status. */
export const garbage: ModelServerReply = {
  headers: eventStream,
  pieces: [new Uint8Array([0, 255, 254, 17, 3, 10]), "]}{ this is not an event\n\n", "data: {not json\n\n"]
}

/** Takes the request and never says anything. */
export const hangs: ModelServerReply = { then: "silent" }

/** Cuts the connection without an answer. */
export const drops: ModelServerReply = { then: "drop", pieces: [] }

/** An error status with an error object. */
export const refuses = (
  status: number,
  options: {
    readonly message?: string
    readonly code?: string
    readonly type?: string
    readonly retryAfterSeconds?: number
  } = {}
): ModelServerReply => ({
  status,
  headers: {
    "content-type": "application/json",
    ...(options.retryAfterSeconds === undefined ? {} : { "retry-after": String(options.retryAfterSeconds) })
  },
  pieces: [
    JSON.stringify({
      error: {
        message: options.message ?? `refused with ${status}`,
        type: options.type ?? null,
        code: options.code ?? null
      }
    })
  ]
})

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const describe = (request: Http.IncomingMessage, text: string, index: number): ModelServerRequest => {
  const body = parse(text)
  const newest = field(list(field(body, "messages")).at(-1), "content")
  return {
    path: request.url ?? "/",
    headers: Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join(", ") : (value ?? "")
      ])
    ),
    body,
    text: typeof newest === "string" ? newest : "",
    tools: list(field(body, "tools")).map((tool) =>
      String(field(field(tool, "function"), "name") ?? field(tool, "name"))
    ),
    index
  }
}

const answer = (reply: ModelServerReply, response: Http.ServerResponse): Effect.Effect<void> =>
  Effect.gen(function* () {
    if (reply.delay !== undefined) yield* Effect.sleep(reply.delay)
    if (reply.then === "silent") return
    const pieces = reply.pieces ?? []
    if (reply.then === "drop" && pieces.length === 0) return void response.socket?.destroy()
    response.writeHead(reply.status ?? 200, { ...reply.headers })
    response.flushHeaders()
    for (const [index, piece] of pieces.entries()) {
      if (index > 0 && reply.every !== undefined) yield* Effect.sleep(reply.every)
      if (response.destroyed) return
      yield* Effect.async<void>((resume) => {
        response.write(piece, () => resume(Effect.void))
      })
    }
    if (reply.then === "drop") response.socket?.destroy()
    else if (reply.then !== "hang") response.end()
  })

/**
 * Starts a server on a free port of 127.0.0.1, closed with the scope. A list of replies is given in order and its last
 * one repeated; a function answers every request. Delays go by the clock of whoever makes the server.
 */
export const make = (
  replies: ReadonlyArray<ModelServerReply> | ((request: ModelServerRequest) => ModelServerReply),
  options: ModelServerOptions = {}
): Effect.Effect<ModelServer, never, Scope.Scope> =>
  Effect.gen(function* () {
    const runner = yield* Turn.workerRunner()
    const seen: Array<ModelServerRequest> = []
    let count = 0
    const waiting: Array<{ readonly count: number; readonly done: Deferred.Deferred<void> }> = []
    let open = 0
    let connections = 0
    const quiet = new Set<Deferred.Deferred<void>>()

    const replyTo = (request: ModelServerRequest): ModelServerReply =>
      typeof replies === "function" ? replies(request) : (replies[request.index] ?? replies.at(-1) ?? refuses(500))

    const server = Http.createServer((request, response) => {
      const pieces: Array<Buffer> = []
      let answering: Turn.TurnFiber<void> | null = null
      open += 1
      response.on("close", () => {
        open -= 1
        if (open === 0) for (const done of quiet) Deferred.unsafeDone(done, Effect.void)
        if (answering !== null) runner.fork(Turn.interruptSoon(answering))
      })
      request.on("data", (piece: Buffer) => pieces.push(piece))
      request.on("end", () => {
        const received = describe(request, Buffer.concat(pieces).toString("utf8"), count)
        count += 1
        seen.push(received)
        if (seen.length > (options.remember ?? Number.POSITIVE_INFINITY)) seen.shift()
        answering = runner.fork(answer(replyTo(received), response))
        for (const waiter of waiting) if (waiter.count <= count) Deferred.unsafeDone(waiter.done, Effect.void)
      })
    })

    server.on("connection", () => (connections += 1))

    yield* Effect.acquireRelease(
      Effect.async<void>((resume) => {
        server.listen(0, "127.0.0.1", () => resume(Effect.void))
      }),
      () =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    )
    const address = server.address()
    const port = typeof address === "object" && address !== null ? address.port : 0
    const origin = `http://127.0.0.1:${port}`
    return {
      origin,
      baseUrl: `${origin}/v1`,
      requests: Effect.sync(() => [...seen]),
      open: Effect.sync(() => open),
      closed: Effect.flatMap(Deferred.make<void>(), (done) => {
        if (open === 0) return Effect.void
        quiet.add(done)
        return Deferred.await(done)
      }),
      connections: Effect.sync(() => connections),
      received: (wanted) =>
        Effect.flatMap(Deferred.make<void>(), (done) => {
          if (count >= wanted) return Effect.void
          waiting.push({ count: wanted, done })
          return Deferred.await(done)
        })
    }
  })
