/** One conversation with a server: the greeting, its tools and calls of them. */
import type * as HttpClient from "@effect/platform/HttpClient"
import { Deferred, Effect, type Scope } from "effect"
import { Schema } from "effect"
import * as CutText from "../../services/operation/CutText.js"
import type { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import type { McpFailed, ServerSettings, ServerTool } from "../../services/mcp/McpServers.js"
import * as Message from "../../services/mcp/Message.js"
import * as Nesting from "../../services/operation/Nesting.js"
import { version } from "../../services/operation/Version.js"
import * as AddressWire from "./AddressWire.js"
import * as CommandWire from "./CommandWire.js"
import { Exchange } from "./Exchange.js"

const keepAlive = "180 seconds"
const pingMillis = 30_000
const mostPages = 20
const mostTools = 128
/** Characters. */
const longestDescription = 2_000
const longestParameters = 32_000

export interface Conversation {
  readonly list: Effect.Effect<ReadonlyArray<ServerTool>, McpFailed>
  readonly call: (
    tool: string,
    args: { readonly [name: string]: unknown }
  ) => Effect.Effect<Message.CallResult, McpFailed>
  /** Why it is over, once it is; looks after it until then. */
  readonly over: Effect.Effect<string>
  readonly isOver: Effect.Effect<boolean>
}

/** Reaches the server and greets it; ends with the scope. */
export const open = (
  server: ServerSettings,
  place: CommandWire.Place
): Effect.Effect<Conversation, McpFailed, AmbientEnvironment | HttpClient.HttpClient | Scope.Scope> =>
  Effect.gen(function* () {
    const exchange = new Exchange(server.name)
    const wire = yield* server.reach._tag === "Command"
      ? CommandWire.open(exchange, server.reach, place)
      : AddressWire.open(exchange, server.reach)
    const ask = <A, I>(method: string, params: object, result: Schema.Schema<A, I>, millis: number) =>
      exchange.request(wire, { method, params, millis }, result)
    const greeted = yield* ask(
      "initialize",
      { protocolVersion: Message.protocolVersion, capabilities: {}, clientInfo: { name: "hermes-effect", version } },
      Message.Greeted,
      server.connectMillis
    )
    yield* exchange.notify(wire, "notifications/initialized")

    const page = (cursor: string | null, left: number): Effect.Effect<ReadonlyArray<ServerTool>, McpFailed> =>
      Effect.flatMap(
        ask("tools/list", cursor === null ? {} : { cursor }, Message.Listed, server.connectMillis),
        ({ nextCursor, tools }) => {
          const here = tools
            .filter(({ inputSchema }) => Nesting.json(inputSchema).length <= longestParameters)
            .map(({ annotations, description, inputSchema, name }) => ({
              server,
              name,
              description: CutText.beginning(description, longestDescription),
              parameters: { properties: {}, ...inputSchema },
              readOnly: annotations?.readOnlyHint === true
            }))
          return typeof nextCursor !== "string" || left === 0 || here.length >= mostTools
            ? Effect.succeed(here)
            : Effect.map(page(nextCursor, left - 1), (more) => [...here, ...more])
        }
      )

    const ping: Effect.Effect<string> = Effect.zipRight(
      Effect.sleep(keepAlive),
      ask("ping", {}, Schema.Unknown, pingMillis)
    ).pipe(
      Effect.forever,
      Effect.catchAll((error) => Effect.succeed(error.detail))
    )

    return {
      list:
        greeted.capabilities.tools === undefined
          ? Effect.succeed([])
          : Effect.map(page(null, mostPages), (tools) => tools.slice(0, mostTools)),
      call: (tool: string, args: { readonly [name: string]: unknown }) =>
        ask("tools/call", { name: tool, arguments: args }, Message.CallResult, server.callMillis),
      isOver: Deferred.isDone(exchange.over),
      over: Effect.raceFirst(Deferred.await(exchange.over), ping)
    }
  }).pipe(
    Effect.timeoutFail({
      duration: server.connectMillis,
      onTimeout: () => new Exchange(server.name).failed(`was not reached within ${server.connectMillis / 1_000} s`)
    })
  )
