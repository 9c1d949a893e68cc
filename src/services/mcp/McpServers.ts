/** Servers outside that offer tools over the Model Context Protocol (gateway.md 8.3). */
import { Context, type Effect, type Redacted, Schema } from "effect"
import type { CallResult } from "./Message.js"

export interface ServerSettings {
  readonly name: string
  readonly reach:
    | {
        readonly _tag: "Command"
        readonly command: string
        readonly args: ReadonlyArray<string>
        /** All that its process is told besides where programs and the person's home lie. */
        readonly env: { readonly [name: string]: string | Redacted.Redacted }
        readonly directory: string | null
      }
    | {
        readonly _tag: "Address"
        readonly url: string
        readonly headers: { readonly [name: string]: string | Redacted.Redacted }
      }
  readonly connectMillis: number
  readonly callMillis: number
  /** Tools that run unasked, by the server's own names; `*` for all. */
  readonly trusted: ReadonlyArray<string>
  /** Variables that its settings name and that are not set: it is not started. */
  readonly missing: ReadonlyArray<string>
}

/** A tool as its server described it when it was first reached. */
export interface ServerTool {
  readonly server: ServerSettings
  /** As the server calls it. */
  readonly name: string
  readonly description: string
  readonly parameters: object
  /** The server says that it changes nothing. */
  readonly readOnly: boolean
}

/** The server was not reached, ended, took too long or said what nobody understands. */
export class McpFailed extends Schema.TaggedError<McpFailed>()("McpFailed", {
  server: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `the MCP server "${this.server}" ${this.detail}`
  }
}

export class McpServers extends Context.Tag("hermes/mcp/McpServers")<
  McpServers,
  {
    /** The tools of all servers that have been reached. The first look waits a while for those still starting; a server that has gone keeps its tools. */
    readonly tools: Effect.Effect<ReadonlyArray<ServerTool>>
    /** Calls a tool, reaching its server again first if it has gone. Never made twice. */
    readonly call: (
      server: string,
      tool: string,
      args: { readonly [name: string]: unknown }
    ) => Effect.Effect<CallResult, McpFailed>
    /** Reaches every server anew and takes its list of tools anew; says how each is, a line each. */
    readonly reload: Effect.Effect<ReadonlyArray<string>>
  }
>() {}
