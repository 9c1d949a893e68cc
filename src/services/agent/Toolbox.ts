import { Context, type Effect } from "effect"
import type { CurrentTurn } from "../../fibers/Turn.js"
import type { ToolCallPart } from "../session/Transcript.js"
import type { ToolDefinition } from "./ModelRoute.js"
import type { Tool } from "./Tool.js"

export interface ToolResult {
  readonly callId: string
  readonly tool: string
  readonly text: string
  readonly disposition: "ok" | "error" | "refused" | "cancelled" | "skipped" | "unknown"
}

/** How a run's calls become rows. A hook that fails ends the run: nothing acts without its record. */
export interface ToolHooks<out E> {
  /** The session key that the caller was given; another one bound to the fiber is warned about (gateway.md 1.13). */
  readonly expectedKey?: string
  /** `waiting`: an approval is open; `started`: it acts from now on. */
  readonly advance: (callId: string, state: "waiting" | "started") => Effect.Effect<void, E>
  readonly store: (result: ToolResult) => Effect.Effect<void, E>
}

/** Which tools a turn may use (gateway.md 8): the surface's set, less what the owner switched off, less what a delegate never gets. */
export interface Toolbox_ {
  /** The tools offered to the current turn, in a stable order. */
  readonly offered: Effect.Effect<ReadonlyArray<ToolDefinition>, never, CurrentTurn>
  /**
   * Runs the calls of one answer: exactly one result per call, handed out in call order. What may overlap does;
   * a failing tool is a result. Each result is given to `store` before anybody sees it.
   */
  readonly run: <E>(
    calls: ReadonlyArray<ToolCallPart>,
    hooks: ToolHooks<E>
  ) => Effect.Effect<ReadonlyArray<ToolResult>, E, CurrentTurn>
}

export class Toolbox extends Context.Tag("hermes/agent/Toolbox")<Toolbox, Toolbox_>() {}

/** The tools that a program has put together; each layer of tools adds its own. */
export class ToolRegistry extends Context.Tag("hermes/agent/ToolRegistry")<
  ToolRegistry,
  {
    readonly add: (tools: ReadonlyArray<Tool>) => Effect.Effect<void>
    /** Tools that are only known later, asked for whenever all are; one whose name is taken is left out. */
    readonly follow: (tools: Effect.Effect<ReadonlyArray<Tool>>) => Effect.Effect<void>
    readonly all: Effect.Effect<ReadonlyArray<Tool>>
  }
>() {}
