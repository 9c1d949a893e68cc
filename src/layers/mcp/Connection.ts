/** One server over all its conversations: reached, lost, reached again with growing pauses, and at the latest when it is called. */
import type * as HttpClient from "@effect/platform/HttpClient"
import { Deferred, Effect, FiberId, Queue } from "effect"
import type { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import { McpFailed, type ServerSettings, type ServerTool } from "../../services/mcp/McpServers.js"
import type { CallResult } from "../../services/mcp/Message.js"
import * as Conversation from "./Conversation.js"
import type { Place } from "./CommandWire.js"

/** Seconds of the pauses; after the last of them only a call reaches it again. */
const pauses = [1, 2, 5, 15, 60]

type State =
  | { readonly _tag: "Opening" }
  | { readonly _tag: "Open"; readonly conversation: Conversation.Conversation }
  | { readonly _tag: "Closed"; readonly why: string }

export interface Connection {
  /** As they were listed first: a server that comes back differently changes no prompt. */
  readonly tools: () => ReadonlyArray<ServerTool>
  /** How it is, once it is known. */
  readonly settled: Effect.Effect<string>
  readonly call: (tool: string, args: { readonly [name: string]: unknown }) => Effect.Effect<CallResult, McpFailed>
  /** Ends the conversation, forgets the list and begins anew. */
  readonly renew: Effect.Effect<void>
  /** Looks after it, for as long as it runs. */
  readonly run: Effect.Effect<never, never, AmbientEnvironment | HttpClient.HttpClient>
}

export const make = (server: ServerSettings, placeOf: Effect.Effect<Place>): Effect.Effect<Connection> =>
  Effect.gen(function* () {
    const wanted = yield* Queue.sliding<void>(1)
    const renewed = yield* Queue.sliding<void>(1)
    let state: State = { _tag: "Opening" }
    let changed = Deferred.unsafeMake<void>(FiberId.none)
    let tools: ReadonlyArray<ServerTool> | null = null
    let failures = 0
    let attempts = 0
    let logged: string | null = null

    const become = (next: State) =>
      Effect.suspend(() => {
        const told = changed
        state = next
        changed = Deferred.unsafeMake<void>(FiberId.none)
        return Deferred.succeed(told, undefined)
      })

    const converse = Effect.gen(function* () {
      const conversation = yield* Conversation.open(server, yield* placeOf)
      tools ??= yield* conversation.list
      failures = 0
      logged = null
      yield* become({ _tag: "Open", conversation })
      const why = yield* Effect.raceFirst(conversation.over, Effect.as(Queue.take(renewed), null))
      if (why === null) tools = null
      yield* become(why === null ? { _tag: "Opening" } : { _tag: "Closed", why })
      return why
    }).pipe(Effect.scoped)

    const round = Effect.gen(function* () {
      attempts += 1
      yield* become({ _tag: "Opening" })
      const why = yield* Effect.catchAll(converse, (error) => Effect.succeed(error.detail))
      if (why === null) return
      yield* become({ _tag: "Closed", why })
      // Once for what each of the next attempts meets again.
      yield* (why === logged ? Effect.logDebug : Effect.logWarning)(`the MCP server "${server.name}" ${why}`)
      logged = why
      const pause = pauses[failures]
      failures += 1
      const asked = Effect.raceFirst(
        Queue.take(wanted),
        Effect.map(Queue.take(renewed), () => {
          tools = null
          failures = 0
        })
      )
      yield* pause === undefined ? asked : Effect.raceFirst(asked, Effect.sleep(`${pause} seconds`))
    })

    const settled: Effect.Effect<State> = Effect.suspend(() =>
      state._tag === "Opening" ? Effect.zipRight(Deferred.await(changed), settled) : Effect.succeed(state)
    )

    const attemptAfter = (seen: number): Effect.Effect<void> =>
      Effect.suspend(() =>
        attempts > seen ? Effect.void : Effect.zipRight(Deferred.await(changed), attemptAfter(seen))
      )

    const reached = Effect.gen(function* () {
      const seen = attempts
      // A conversation is over before it is taken down: who calls in between is for the next one.
      if (state._tag === "Closed" || (state._tag === "Open" && (yield* state.conversation.isOver))) {
        yield* Queue.offer(wanted, undefined)
        yield* attemptAfter(seen)
      }
      const now = yield* settled
      return now._tag === "Open"
        ? now.conversation
        : yield* new McpFailed({ server: server.name, detail: now._tag === "Closed" ? now.why : "is being reached" })
    }).pipe(
      Effect.timeoutFail({
        duration: server.connectMillis + 1_000,
        onTimeout: () => new McpFailed({ server: server.name, detail: "is not reached yet; try again later" })
      })
    )

    return {
      tools: () => tools ?? [],
      settled: Effect.map(settled, (now) => (now._tag === "Closed" ? now.why : `offers ${(tools ?? []).length} tools`)),
      call: (tool, args) => Effect.flatMap(reached, (conversation) => conversation.call(tool, args)),
      renew: Effect.suspend(() =>
        state._tag === "Opening"
          ? Effect.void
          : Effect.asVoid(Effect.zipRight(become({ _tag: "Opening" }), Queue.offer(renewed, undefined)))
      ),
      run: Effect.forever(round)
    }
  })
