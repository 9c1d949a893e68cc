/** One conversation with a server: the greeting, its tools and calls of them. */
import type * as HttpClient from "@effect/platform/HttpClient"
import { Deferred, Effect, Either, Schema, type Scope } from "effect"
import * as CutText from "../../services/operation/CutText.js"
import type { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import type { McpFailed, ServerSettings, ServerTool } from "../../services/mcp/McpServers.js"
import * as Message from "../../services/mcp/Message.js"
import * as Misfit from "../../services/operation/Misfit.js"
import * as Nesting from "../../services/operation/Nesting.js"
import { shortened } from "../../services/operation/Shortened.js"
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

/** Of tools that are left out, how many are told one by one. */
const mostTold = 20

const hasName = Schema.is(Schema.Struct({ name: Schema.String }))
const quoted = (name: string): string => JSON.stringify(shortened(name))

/** A tool as it is offered, or which it is and why it is left out. */
const toolOf = (server: ServerSettings, described: unknown): ServerTool | string => {
  const decoded = Message.decodeTool(described)
  if (Either.isLeft(decoded))
    return `${hasName(described) ? quoted(described.name) : "without a name"}, left out: ${Misfit.text(decoded.left)}`
  const { annotations, description, inputSchema, name } = decoded.right
  if (Nesting.isTooDeep(inputSchema))
    return `${quoted(name)}, left out: its inputSchema is nested more than ${Nesting.deepest} deep`
  const length = Nesting.json(inputSchema).length
  if (length > longestParameters)
    return `${quoted(name)}, left out: its inputSchema has ${length} characters, more than ${longestParameters}`
  return {
    server,
    name,
    description: CutText.beginning(description ?? "", longestDescription),
    parameters: { properties: {}, ...inputSchema },
    readOnly: Message.isReadOnly(annotations)
  }
}

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

    const warn = (what: string) => Effect.logWarning(`the MCP server "${server.name}" ${what}`)

    const list = Effect.gen(function* () {
      const tools: Array<ServerTool> = []
      const odd: Array<string> = []
      const over: Array<string> = []
      let cursor: string | null = null
      for (let pages = 0; pages < mostPages; pages++) {
        const listed: typeof Message.Listed.Type = yield* ask(
          "tools/list",
          cursor === null ? {} : { cursor },
          Message.Listed,
          server.connectMillis
        )
        for (const described of listed.tools) {
          const tool = toolOf(server, described)
          if (typeof tool === "string") odd.push(tool)
          else if (tools.length < mostTools) tools.push(tool)
          else over.push(quoted(tool.name))
        }
        cursor = typeof listed.nextCursor === "string" ? listed.nextCursor : null
        if (cursor === null || tools.length >= mostTools) break
      }
      for (const why of odd.slice(0, mostTold)) yield* warn(`offers a tool ${why}`)
      if (odd.length > mostTold) yield* warn(`offers ${odd.length - mostTold} odd tools more, left out too`)
      if (over.length > 0) {
        const more = over.length > mostTold ? ` and ${over.length - mostTold} more` : ""
        yield* warn(`offers more than ${mostTools} tools; left out are ${over.slice(0, mostTold).join(", ")}${more}`)
      }
      if (cursor !== null)
        yield* warn(`lists its tools on more pages than are read (at most ${mostPages}, or ${mostTools} tools)`)
      return tools
    })

    /** Not every server knows the question: whoever answers at all is there. */
    const signOfLife = Effect.suspend(() => {
      const before = exchange.answers
      return Effect.catchAll(ask("ping", {}, Schema.Unknown, pingMillis), (error) =>
        exchange.answers > before ? Effect.void : error
      )
    })

    const ping: Effect.Effect<string> = Effect.zipRight(Effect.sleep(keepAlive), signOfLife).pipe(
      Effect.forever,
      Effect.catchAll((error) => Effect.succeed(error.detail))
    )

    return {
      list: greeted.capabilities.tools === undefined ? Effect.succeed([]) : list,
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
