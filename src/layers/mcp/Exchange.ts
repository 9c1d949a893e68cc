/** The questions that are open with one server, and who waits for which answer. */
import { Deferred, Effect, Either, FiberId, type Schema } from "effect"
import * as CutText from "../../services/operation/CutText.js"
import { McpFailed } from "../../services/mcp/McpServers.js"
import * as Misfit from "../../services/operation/Misfit.js"
import * as Message from "../../services/mcp/Message.js"

/** How messages go out; what comes in is given to {@link Exchange.receive}. */
export interface Wire {
  /** Ends when the message is handed over; where answers come in the same stream, when that has ended. */
  readonly send: (text: string) => Effect.Effect<void, McpFailed>
  /** Is all that answers a message heard once `send` has ended? */
  readonly answersWithin: boolean
}

const readLine = Misfit.decoder(Message.Line)
/** To tell a server that its answer is not waited for any more. */
const cancelMillis = 1_000
/** Lines that are no messages, such as a server's log on stdout, until it is not believed to be one. */
const mostGarbage = 1_000

export class Exchange {
  readonly over = Deferred.unsafeMake<string>(FiberId.none)
  readonly #open = new Map<number, Deferred.Deferred<unknown, McpFailed>>()
  readonly server: string
  #next = 1
  #garbage = 0
  /** Answers so far, whatever they say. */
  answers = 0

  constructor(server: string) {
    this.server = server
  }

  failed(detail: string): McpFailed {
    return new McpFailed({ server: this.server, detail })
  }

  /** Nothing will be answered any more. */
  end(why: string): void {
    Deferred.unsafeDone(this.over, Effect.succeed(why))
    for (const waiting of this.#open.values()) Deferred.unsafeDone(waiting, this.failed(why))
    this.#open.clear()
  }

  /** Takes a message in, and says what has to be answered to it. */
  receive(text: string): ReadonlyArray<string> {
    if (text.trim() === "") return []
    const heard = readLine(text)
    if (Either.isLeft(heard)) {
      if (++this.#garbage === mostGarbage) this.end("says nothing that is the Model Context Protocol")
      return []
    }
    const messages: ReadonlyArray<Message.Heard> = Array.isArray(heard.right) ? heard.right : [heard.right]
    return messages.flatMap((message) => this.#take(message))
  }

  #take(message: Message.Heard): ReadonlyArray<string> {
    const { error, id, method } = message
    if (id === undefined || id === null) return []
    if (method !== undefined)
      return [
        JSON.stringify({
          jsonrpc: "2.0",
          id,
          ...(method === "ping"
            ? { result: {} }
            : { error: { code: -32_601, message: "this client offers nothing but calls of tools" } })
        })
      ]
    const waiting = typeof id === "number" ? this.#open.get(id) : undefined
    if (waiting === undefined) return []
    this.answers += 1
    Deferred.unsafeDone(
      waiting,
      error === undefined || error === null
        ? Effect.succeed(message.result)
        : this.failed(`refused: ${CutText.beginning(error.message, 2_000)}`)
    )
    return []
  }

  /** Asks and waits, at most so long; who is interrupted tells the server so. */
  request<A, I>(
    wire: Wire,
    question: { readonly method: string; readonly params: object; readonly millis: number },
    result: Schema.Schema<A, I>
  ): Effect.Effect<A, McpFailed> {
    return Effect.suspend(() => {
      const id = this.#next++
      const answer = Deferred.unsafeMake<unknown, McpFailed>(FiberId.none)
      this.#open.set(id, answer)
      const ended = Deferred.await(this.over).pipe(Effect.flatMap((why) => this.failed(why)))
      const sent = wire.send(JSON.stringify({ jsonrpc: "2.0", id, method: question.method, params: question.params }))
      const unanswered = Effect.flatMap(Deferred.isDone(answer), (done) =>
        done || !wire.answersWithin ? Deferred.await(answer) : this.failed("closed its answer without one")
      )
      const cancel = Effect.suspend(() => {
        if (question.method === "initialize" || !this.#open.has(id)) return Effect.void
        const params = { requestId: id, reason: "not waited for any more" }
        return this.notify(wire, "notifications/cancelled", params).pipe(Effect.timeout(cancelMillis), Effect.ignore)
      })
      return Effect.raceFirst(Deferred.await(answer), Effect.raceFirst(ended, Effect.zipRight(sent, unanswered))).pipe(
        Effect.tap(() => Effect.sync(() => this.#open.delete(id))),
        Effect.timeoutFail({
          duration: question.millis,
          onTimeout: () => this.failed(`did not answer within ${question.millis / 1_000} s`)
        }),
        Effect.onExit((exit) => (exit._tag === "Success" ? Effect.void : cancel)),
        Effect.ensuring(Effect.sync(() => this.#open.delete(id))),
        Effect.flatMap((found) =>
          Effect.mapError(Misfit.decoder(result)(found), (error) =>
            this.failed(`answered what is not understood: ${Misfit.text(error)}`)
          )
        )
      )
    })
  }

  /** Says what nobody answers. */
  notify(wire: Wire, method: string, params: object = {}): Effect.Effect<void, McpFailed> {
    return Effect.suspend(() => wire.send(JSON.stringify({ jsonrpc: "2.0", method, params })))
  }
}
