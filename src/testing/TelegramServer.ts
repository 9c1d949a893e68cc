/**
 * A Telegram Bot API server on loopback for tests and measurements: people who write, a bot's calls recorded, and
 * everything that can go wrong on the way, on command.
 */
import { type Clock, Effect, Schema, type Scope } from "effect"
import type { ServerResponse } from "node:http"
import * as Turn from "../fibers/Turn.js"
import * as Recording from "../layers/memory/Recording.js"
import * as Faults from "./telegram/Faults.js"
import * as Listener from "./telegram/Listener.js"
import {
  type Answer,
  makeWorld,
  ok,
  type Parameters,
  refuse,
  type TelegramChat,
  type TelegramMessage,
  type TelegramUser,
  type Update
} from "./telegram/World.js"

export { Faults }
export { TelegramServerFailed } from "./telegram/Listener.js"
export type { Answer, Parameters, TelegramChat, TelegramMessage, TelegramUser, Update }

/** One call of the bot. */
export interface Call {
  readonly method: string
  readonly chatId: string | null
  readonly threadId: number | null
  readonly text: string | null
  readonly replyTo: number | null
  /** The message that it made or edited; null when the platform refused. */
  readonly messageId: number | null
  readonly parameters: Parameters
  /** Milliseconds of the clock that the server was made under, with fractions. */
  readonly at: number
  /** `ok`, the refusal, or the fault that was asked for. */
  readonly outcome: string
}

/** One `getUpdates`: what it confirmed and what it left. */
export interface Poll {
  readonly offset: number
  /** Seconds. */
  readonly timeout: number
  /** Updates that were not confirmed by it. */
  readonly pending: number
}

export interface Written {
  readonly chat: TelegramChat
  readonly from: TelegramUser
  readonly text?: string
  readonly topic?: number
  /** Message id that it answers. */
  readonly replyTo?: number
  /** Further Bot API fields of the message: `photo`, `caption`, `entities`, `media_group_id` … */
  readonly fields?: Parameters
}

export interface TelegramServer {
  /** What stands before `/bot<token>/`. */
  readonly apiRoot: string
  readonly token: string
  readonly bot: TelegramUser
  readonly user: (n: number) => TelegramUser
  /** `is_forum`: the bot may open topics there. */
  readonly dm: (user: TelegramUser, fields?: Pick<TelegramChat, "is_forum">) => TelegramChat
  readonly group: (n: number, fields?: Partial<TelegramChat>) => TelegramChat
  readonly addTopic: (chat: TelegramChat, topic: number) => Effect.Effect<void>
  readonly removeTopic: (chat: TelegramChat, topic: number) => Effect.Effect<void>
  /** A person writes; answers the message id. */
  readonly say: (message: Written) => Effect.Effect<number>
  /** Several photos at once; the caption stands on the first. Answers their message ids. */
  readonly album: (message: Written, photos: number) => Effect.Effect<ReadonlyArray<number>>
  /** A file that messages may name by `fileId` in their fields; the bot can fetch it. */
  readonly store: (fileId: string, content: Uint8Array) => Effect.Effect<void>
  readonly edit: (message: Written & { readonly messageId: number }) => Effect.Effect<void>
  /** A person presses a button of one of the bot's messages. */
  readonly press: (pressed: {
    readonly chat: TelegramChat
    readonly from: TelegramUser
    readonly messageId: number
    readonly value: string
  }) => Effect.Effect<string>
  /** Any update, without its id. */
  readonly update: (fields: Parameters) => Effect.Effect<number>
  /** What the next batch is turned into on its way: doubled, reversed, … */
  readonly distort: (change: (batch: ReadonlyArray<Update>) => ReadonlyArray<unknown>) => Effect.Effect<void>
  readonly fault: (method: string, fault: Faults.Fault, options?: Partial<Faults.Planned>) => Effect.Effect<void>
  readonly calls: Recording.Recording<Call>
  readonly posted: (chat: TelegramChat) => Effect.Effect<ReadonlyArray<TelegramMessage>>
  /** Every poll that was answered or is held open. */
  readonly polls: Recording.Recording<Poll>
  /** Updates that the bot has not confirmed. */
  readonly pending: Effect.Effect<number>
  /** Closes the port and every connection until {@link up}. */
  readonly down: Effect.Effect<void>
  readonly up: Effect.Effect<void>
  /** Connections ever made. */
  readonly connections: Effect.Effect<number>
}

export interface TelegramServerOptions {
  readonly port?: number
  readonly token?: string
  readonly username?: string
  /** How many messages each chat has had already: a home that outlives the server knows those by their ids. */
  readonly messagesBefore?: number
  /** Told of each call as it is recorded; for measurements, which cannot wait for the record. */
  readonly observe?: (call: Call) => void
}

const show = (call: Call): string =>
  `${call.method} ${call.chatId ?? ""}${call.threadId === null ? "" : `/${call.threadId}`} ${JSON.stringify(call.text?.slice(0, 120) ?? "")} ${call.outcome}`

const Id = Schema.Struct({ message_id: Schema.Number })

const asNumber = (value: unknown): number | null => (value === undefined || value === null ? null : Number(value))

const replyOf = (parameters: Parameters): number | null => {
  const reply = parameters["reply_parameters"]
  return Schema.is(Id)(reply) ? reply.message_id : null
}

interface Waiter {
  readonly response: ServerResponse
  readonly offset: number
  readonly limit: number
  readonly timer: Turn.TurnFiber<void>
}

export const make = (
  options: TelegramServerOptions = {}
): Effect.Effect<TelegramServer, Listener.TelegramServerFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const token = options.token ?? "4242:loopback"
    const bot: TelegramUser = {
      id: 4242,
      is_bot: true,
      first_name: "Hermes",
      username: options.username ?? "hermes_test_bot"
    }
    const clock: Clock.Clock = yield* Effect.clock
    const runner = yield* Turn.workerRunner()
    const calls = yield* Recording.make(show)
    const polls = yield* Recording.make((poll: Poll) => `offset ${poll.offset}, ${poll.pending} pending`, 1_000)
    const world = makeWorld(bot, options.messagesBefore)
    const plan = Faults.makePlan()
    const distortions: Array<(batch: ReadonlyArray<Update>) => ReadonlyArray<unknown>> = []
    let waiter: Waiter | null = null
    let presses = 0
    let albums = 0

    const now = (): number => Number(clock.unsafeCurrentTimeNanos()) / 1e6

    const respond = (response: ServerResponse, answer: Answer): void => {
      const body = JSON.stringify(answer)
      response.writeHead(answer.ok ? 200 : answer.error_code, {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body)
      })
      response.end(body)
    }

    const misbehave = (response: ServerResponse, fault: Faults.Fault): void => {
      switch (fault._tag) {
        case "Error":
          return respond(response, fault.answer)
        case "Page":
          response.writeHead(fault.status, { "content-type": "text/html" })
          response.end(`<html><body>${fault.status}</body></html>`)
          return
        case "Garbage":
          response.writeHead(200, { "content-type": "application/json" })
          response.end(fault.body)
          return
        case "Drop":
          response.socket?.destroy()
          return
        case "Hang":
          return
      }
    }

    const batch = (offset: number, limit: number): ReadonlyArray<unknown> => {
      const next = world.updates(offset, limit)
      return next.length === 0 ? next : (distortions.shift()?.(next) ?? next)
    }

    const leave = (): Waiter | null => {
      const leaving = waiter
      waiter = null
      if (leaving !== null) runner.fork(Turn.interruptSoon(leaving.timer))
      return leaving
    }

    const wake = (): void => {
      if (waiter === null) return
      const next = batch(waiter.offset, waiter.limit)
      const waiting = next.length === 0 ? null : leave()
      if (waiting !== null) respond(waiting.response, ok(next))
    }

    const poll = (parameters: Parameters, response: ServerResponse): void => {
      const offset = asNumber(parameters["offset"]) ?? 0
      const limit = asNumber(parameters["limit"]) ?? 100
      const timeout = asNumber(parameters["timeout"]) ?? 0
      const older = leave()
      if (older !== null && Faults.conflict._tag === "Error") respond(older.response, Faults.conflict.answer)
      const next = batch(offset, limit)
      polls.add({ offset, timeout, pending: world.pending() })
      if (next.length > 0 || timeout === 0) return respond(response, ok(next))
      const timer = runner.fork(
        Effect.map(Effect.sleep(`${timeout} seconds`), () => {
          if (waiter?.response !== response) return
          waiter = null
          respond(response, ok([]))
        })
      )
      waiter = { response, offset, limit, timer }
      response.once("close", () => {
        if (waiter?.response === response) leave()
      })
    }

    const record = (method: string, parameters: Parameters, answer: Answer | null, outcome: string): void => {
      if (method === "getUpdates") return
      const made = answer?.ok === true && Schema.is(Id)(answer.result) ? answer.result.message_id : null
      const text = parameters["text"]
      const call: Call = {
        method,
        chatId: parameters["chat_id"] === undefined ? null : String(parameters["chat_id"]),
        threadId: asNumber(parameters["message_thread_id"] ?? parameters["direct_messages_topic_id"]),
        text: typeof text === "string" ? text : null,
        replyTo: replyOf(parameters),
        messageId: made,
        parameters,
        at: now(),
        outcome
      }
      calls.add(call)
      options.observe?.(call)
    }

    const serveFile = (given: string, id: string, response: ServerResponse): void => {
      const content = given === token ? world.stored(id) : null
      const planned = plan.take("file", {})
      if (planned !== null) return misbehave(response, planned.fault)
      if (content === null) return respond(response, refuse(404, "Not Found"))
      response.writeHead(200, { "content-type": "application/octet-stream", "content-length": content.length })
      response.end(content)
    }

    const handle = (path: string, parameters: Parameters, response: ServerResponse): void => {
      const [, by, file] = /^\/file\/bot([^/]+)\/files\/([\w-]+)$/.exec(path) ?? []
      if (by !== undefined && file !== undefined) return serveFile(by, file, response)
      const [, given, method] = /^\/bot([^/]+)\/(\w+)$/.exec(path) ?? []
      if (method === undefined) return respond(response, refuse(404, "Not Found"))
      if (given !== token) return respond(response, refuse(401, "Unauthorized"))
      const planned = plan.take(method, parameters)
      if (planned !== null && !planned.accepted) {
        record(
          method,
          parameters,
          null,
          planned.fault._tag === "Error" ? planned.fault.answer.description : planned.fault._tag
        )
        return misbehave(response, planned.fault)
      }
      if (method === "getUpdates") return poll(parameters, response)
      const answer = world.perform(method, parameters, now())
      record(method, parameters, answer, planned?.fault._tag ?? (answer.ok ? "ok" : answer.description))
      return planned === null ? respond(response, answer) : misbehave(response, planned.fault)
    }

    const listener = yield* Listener.make(options.port ?? 0, handle)

    const write = ({ chat, from, text, topic, replyTo, fields }: Written): Parameters =>
      world.write({
        chatId: chat.id,
        from,
        threadId: topic ?? null,
        replyTo: replyTo ?? null,
        fields: { ...(text === undefined ? {} : { text }), ...fields },
        at: now()
      })
    const idOf = (message: Parameters): number => Number(message["message_id"])
    const kindOf = (chat: TelegramChat): string => (chat.type === "channel" ? "channel_post" : "message")
    const send = (fields: Parameters): number => {
      const id = world.enqueue(fields)
      wake()
      return id
    }
    const photo = (n: number): Parameters => ({
      photo: [{ file_id: `photo-${n}`, file_unique_id: `p${n}`, width: 1280, height: 720, file_size: 90_000 }]
    })

    return {
      apiRoot: `http://127.0.0.1:${listener.port}`,
      token,
      bot,
      user: (n) => ({ id: 500_000_000 + n, is_bot: false, first_name: `Person${n}`, username: `person_${n}` }),
      dm: (user, fields) => {
        const chat: TelegramChat = { id: user.id, type: "private", first_name: user.first_name, ...fields }
        world.addChat(chat)
        return chat
      },
      group: (n, fields) => {
        const chat: TelegramChat = { id: -1_001_000_000_000 - n, type: "supergroup", title: `Group ${n}`, ...fields }
        world.addChat(chat)
        return chat
      },
      addTopic: (chat, topic) => Effect.sync(() => world.addTopic(chat.id, topic)),
      removeTopic: (chat, topic) => Effect.sync(() => world.removeTopic(chat.id, topic)),
      say: (message) =>
        Effect.sync(() => {
          const written = write(message)
          send({ [kindOf(message.chat)]: written })
          return idOf(written)
        }),
      album: (message, photos) =>
        Effect.sync(() => {
          const group = `album-${++albums}`
          return Array.from({ length: photos }, (_, index) => {
            const { text, ...rest } = message
            const caption = index === 0 && text !== undefined ? { caption: text } : {}
            const written = write({
              ...rest,
              fields: { ...message.fields, ...photo(index), ...caption, media_group_id: group }
            })
            send({ [kindOf(message.chat)]: written })
            return idOf(written)
          })
        }),
      store: (fileId, content) => Effect.sync(() => world.store(fileId, content)),
      edit: ({ messageId, chat, text }) =>
        Effect.sync(() => {
          const edited = world.message(chat.id, messageId, now())
          if (edited !== null) send({ edited_message: { ...edited, text, edit_date: Math.floor(now() / 1000) } })
        }),
      press: ({ chat, from, messageId, value }) =>
        Effect.sync(() => {
          const id = `${chat.id}:${messageId}:${from.id}:${++presses}`
          const message = world.message(chat.id, messageId, now())
          send({ callback_query: { id, from, chat_instance: "1", message, data: value } })
          return id
        }),
      update: (fields) => Effect.sync(() => send(fields)),
      distort: (change) => Effect.sync(() => void distortions.push(change)),
      fault: (method, fault, given) =>
        Effect.sync(() => plan.add({ fault, method, chatId: null, times: 1, accepted: false, ...given })),
      calls,
      polls,
      posted: (chat) => Effect.sync(() => world.posted(chat.id)),
      pending: Effect.sync(() => world.pending()),
      down: Effect.suspend(() => {
        leave()
        return listener.down
      }),
      up: listener.up,
      connections: listener.connections
    }
  })
