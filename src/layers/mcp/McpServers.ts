/** The MCP servers of the settings. Without any, nothing of the client is loaded. */
import type * as HttpClient from "@effect/platform/HttpClient"
import { Deferred, Effect, Layer } from "effect"
import { AmbientEnvironment } from "../../fibers/AmbientEnvironment.js"
import * as Turn from "../../fibers/Turn.js"
import { McpFailed, McpServers } from "../../services/mcp/McpServers.js"
import { Ids } from "../../services/operation/Ids.js"
import { Settings } from "../../services/operation/Settings.js"

/** How long the first conversations after a start wait for servers that start too. */
const firstLook = "15 seconds"
const reloadPatience = "20 seconds"

const none = McpServers.of({
  tools: Effect.succeed([]),
  call: (server) => new McpFailed({ server, detail: "is not in the settings" }),
  reload: Effect.succeed([])
})

const make = Effect.gen(function* () {
  const settings = yield* Settings
  if (settings.mcpServers.length === 0) return none
  const ids = yield* Ids
  const { make: connectionOf } = yield* Effect.promise(() => import("./Connection.js"))
  const place = Effect.map(ids.next("call"), (token) => ({
    home: settings.home,
    directory: settings.terminal.workingDirectory ?? settings.home,
    token
  }))
  const usable = settings.mcpServers.filter(({ missing }) => missing.length === 0)
  const unusable = settings.mcpServers
    .filter(({ missing }) => missing.length > 0)
    .map(
      ({ missing, name }) => `${name}: is not started, because ${missing.join(" and ")} is not set (put it into .env)`
    )
  yield* Effect.forEach(unusable, (line) => Effect.logWarning(`MCP server ${line}`), { discard: true })
  const connections = yield* Effect.forEach(usable, (server) =>
    Effect.map(connectionOf(server, place), (connection) => ({ name: server.name, connection }))
  )
  const looked = yield* Deferred.make<void>()
  const allSettled = Effect.forEach(connections, ({ connection }) => connection.settled, {
    concurrency: "unbounded",
    discard: true
  })
  for (const { connection } of connections) yield* Turn.forkWorker(connection.run)
  yield* Turn.forkWorker(
    Effect.zipRight(Effect.timeoutOption(allSettled, firstLook), Deferred.succeed(looked, undefined))
  )

  return McpServers.of({
    tools: Effect.map(Deferred.await(looked), () => connections.flatMap(({ connection }) => connection.tools())),
    call: (server, tool, args) => {
      const found = connections.find(({ name }) => name === server)
      return found === undefined ? none.call(server, tool, args) : found.connection.call(tool, args)
    },
    reload: Effect.gen(function* () {
      yield* Effect.forEach(connections, ({ connection }) => connection.renew, { discard: true })
      const lines = yield* Effect.forEach(
        connections,
        ({ connection, name }) =>
          Effect.map(
            Effect.timeoutTo(connection.settled, {
              duration: reloadPatience,
              onSuccess: (how) => how,
              onTimeout: () => "is still being reached"
            }),
            (how) => `${name}: ${how}`
          ),
        { concurrency: "unbounded" }
      )
      return [...lines, ...unusable]
    })
  })
})

/** Servers are reached in the background, by workers that carry nobody's turn. */
export const layer: Layer.Layer<McpServers, never, Settings | Ids | AmbientEnvironment | HttpClient.HttpClient> =
  Layer.scoped(McpServers, make)
