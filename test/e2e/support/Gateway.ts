/** A running gateway: the built command, its address and its API. */
import { Data, Effect, type Scope } from "effect"
import * as Command from "./Command.js"
import type { HomeDirectory } from "./HomeDirectory.js"

export interface Gateway extends Command.Process {
  readonly url: string
  readonly home: HomeDirectory
  /** A request with the home's key; `body` is sent as it is when it is text or bytes, else as JSON. */
  readonly ask: (method: string, path: string, body?: unknown) => Effect.Effect<Answer, Unanswered>
}

export interface Answer {
  readonly status: number
  readonly text: string
  /** The body as JSON; null when it is none. */
  readonly json: unknown
}

/** The connection broke, or nothing came within the time. */
export class Unanswered extends Data.TaggedError("Unanswered")<{ readonly message: string }> {}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const raw = (body: unknown): body is string | Uint8Array<ArrayBuffer> =>
  typeof body === "string" || body instanceof Uint8Array

const requestMillis = 120_000

const ask =
  (url: string, key: string): Gateway["ask"] =>
  (method, path, body) =>
    Effect.tryPromise({
      try: async (signal) => {
        const answer = await fetch(`${url}${path}`, {
          method,
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          ...(body === undefined ? {} : { body: raw(body) ? body : JSON.stringify(body) }),
          signal: AbortSignal.any([signal, AbortSignal.timeout(requestMillis)])
        })
        const text = await answer.text()
        return { status: answer.status, text, json: parsed(text) }
      },
      catch: (error) =>
        new Unanswered({ message: `${method} ${path}: ${error instanceof Error ? error.message : String(error)}` })
    })

export interface Options {
  readonly environment?: { readonly [name: string]: string }
  /** 0 takes a free one. */
  readonly port?: number
}

/** Starts the gateway without waiting for it: for starts that must fail. */
export const launch = (
  home: HomeDirectory,
  options: Options = {}
): Effect.Effect<Command.Process, never, Scope.Scope> =>
  Command.start({
    home,
    args: ["gateway", "run", "--port", String(options.port ?? 0)],
    ...(options.environment === undefined ? {} : { environment: options.environment })
  })

/** Starts the gateway and waits until it says where it listens. */
export const start = (
  home: HomeDirectory,
  options: Options = {}
): Effect.Effect<Gateway, Command.OutOfTime, Scope.Scope> =>
  Effect.gen(function* () {
    const started = yield* launch(home, options)
    const [, url = ""] = yield* started.line("its address", /is ready: (http:\/\/\S+)/)
    return { ...started, url, home, ask: ask(url, home.key) }
  })

/** A start that must fail: its end, with what it said. */
export const fails = (home: HomeDirectory, options: Options = {}): Effect.Effect<Command.Ended, Command.OutOfTime> =>
  Effect.scoped(Effect.flatMap(launch(home, options), (started) => started.ended()))

/** Ends it with a signal and waits for its end. */
export const stop = (
  gateway: Gateway,
  signal: NodeJS.Signals = "SIGTERM"
): Effect.Effect<Command.Ended, Command.OutOfTime> => Effect.zipRight(gateway.signal(signal), gateway.ended())
