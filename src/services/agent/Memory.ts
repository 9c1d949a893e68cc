import { Context, type Effect, Schema } from "effect"
import type { MemoryTarget, Operation } from "./MemoryText.js"

/** Nothing was kept; says why, and what is there. */
export class MemoryRefused extends Schema.TaggedError<MemoryRefused>()("MemoryRefused", {
  problem: Schema.String,
  /** There is no room left. */
  full: Schema.Boolean
}) {
  override get message(): string {
    return this.problem
  }
}

/** The file cannot be read or written. */
export class MemoryUnusable extends Schema.TaggedError<MemoryUnusable>()("MemoryUnusable", {
  file: Schema.String,
  detail: Schema.String
}) {
  override get message(): string {
    return `${this.file}: ${this.detail}`
  }
}

export interface MemoryState {
  readonly entries: ReadonlyArray<string>
  readonly used: number
  readonly limit: number
  readonly notes: ReadonlyArray<string>
}

/**
 * What an agent remembers from one conversation to the next: two small files that a person may read and edit. A
 * conversation's prompt holds them as they were when it began; what is written shows in the next one.
 */
export class Memory extends Context.Tag("hermes/agent/Memory")<
  Memory,
  {
    /** All of the changes or none; on the disk when it succeeds. */
    readonly change: (
      target: MemoryTarget,
      operations: ReadonlyArray<Operation>
    ) => Effect.Effect<MemoryState, MemoryRefused | MemoryUnusable>
    /** For a system prompt; empty when nothing is remembered, or nothing can be read. */
    readonly snapshot: Effect.Effect<string>
  }
>() {}
