/** The tools of MCP servers, as `mcp__server__tool` in the toolset `mcp-server` (gateway.md 8.3). */
import { Effect, Layer, Schema } from "effect"
import * as CutText from "../../services/operation/CutText.js"
import * as Turn from "../../fibers/Turn.js"
import * as Tool from "../../services/agent/Tool.js"
import { ToolRegistry } from "../../services/agent/Toolbox.js"
import type { Approvals } from "../../services/approval/Approval.js"
import { allow, ask } from "../../services/approval/CommandJudge.js"
import { Redactor } from "../../services/delivery/Redactor.js"
import { McpServers, type ServerTool } from "../../services/mcp/McpServers.js"
import * as Message from "../../services/mcp/Message.js"
import { shortened } from "../../services/operation/Shortened.js"
import { readable } from "../../services/shell/Output.js"
import * as Gate from "./Gate.js"

/** Characters of a result. */
const longestResult = 1_000_000

const Arguments = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const decode = Schema.decode(Arguments)
const text = (args: string): string => (args.trim() === "" ? "{}" : args)

/** What only reads, or what its owner trusts, runs unasked. */
const verdictOf = ({ name, readOnly, server }: ServerTool) =>
  readOnly || server.trusted.includes("*") || server.trusted.includes(name)
    ? allow
    : ask("mcp", `may change something through the MCP server ${server.name}, with its tool ${name}`)

interface Distinct {
  readonly offered: ReadonlyMap<string, ServerTool>
  /** Whose name is taken, and by which. */
  readonly clashes: ReadonlyArray<readonly [name: string, tool: ServerTool, first: ServerTool]>
}

/** The first of a name only: two tools that a model could not tell apart are one. */
const distinct = (tools: ReadonlyArray<ServerTool>): Distinct => {
  const offered = new Map<string, ServerTool>()
  const clashes: Array<Distinct["clashes"][number]> = []
  for (const tool of tools) {
    const name = Message.toolName(tool.server.name, tool.name)
    const first = offered.get(name)
    if (first === undefined) offered.set(name, tool)
    else clashes.push([name, tool, first])
  }
  return { offered, clashes }
}

/** Which tool, for the log. */
const whose = ({ name, server }: ServerTool): string =>
  `the tool ${JSON.stringify(shortened(name))} of the MCP server "${server.name}"`

export const layer: Layer.Layer<never, never, ToolRegistry | McpServers | Approvals | Redactor> = Layer.effectDiscard(
  Effect.gen(function* () {
    const registry = yield* ToolRegistry
    const servers = yield* McpServers
    const redactor = yield* Redactor
    const gate = yield* Gate.make

    const call = (tool: ServerTool, args: { readonly [name: string]: unknown }) =>
      Effect.gen(function* () {
        const result = yield* servers.call(tool.server.name, tool.name, args)
        const said = readable(redactor.text(Message.textOf(result)))
        const told = said.length <= longestResult ? said : `${CutText.beginning(said, longestResult)}\n[… cut off here]`
        return result.isError === true
          ? yield* new Tool.ToolFailure({ text: told || "the tool failed and did not say why" })
          : told || "[nothing was answered]"
      }).pipe(
        Effect.mapError((error) =>
          error._tag === "ToolFailure" ? error : new Tool.ToolFailure({ text: redactor.text(error.message) })
        )
      )

    const offered = (name: string, tool: ServerTool): Tool.Tool => ({
      name,
      toolset: `mcp-${tool.server.name}`,
      gated: true,
      deadline: "batch",
      result: Tool.text("what the server answered"),
      definition: { name, description: tool.description, parameters: tool.parameters },
      parallelism: () => (tool.readOnly ? { _tag: "Safe" } : { _tag: "Never" }),
      preview: (args) => `${tool.name} ${args}`,
      call: (args, context) =>
        Effect.gen(function* () {
          yield* Turn.current
          const decoded = yield* decode(text(args))
          const subject = `${tool.server.name}: ${tool.name} ${JSON.stringify(decoded, null, 2)}`
          return yield* gate.pass({ tool: name, subject, verdict: verdictOf(tool) }, context)(call(tool, decoded))
        })
    })

    /** Tools are asked for in each turn, and a clash is told once. */
    const told = new Set<string>()
    const tellOf = ([name, tool, first]: Distinct["clashes"][number]) =>
      Effect.suspend(() => {
        const which = whose(tool)
        if (told.has(which)) return Effect.void
        told.add(which)
        return Effect.logWarning(`${which} is left out: as ${name} a model could not tell it from ${whose(first)}`)
      })

    yield* registry.follow(
      Effect.flatMap(servers.tools, (tools) => {
        const found = distinct(tools)
        return Effect.as(
          Effect.forEach(found.clashes, tellOf, { discard: true }),
          [...found.offered].map(([name, tool]) => offered(name, tool))
        )
      })
    )
  })
)
