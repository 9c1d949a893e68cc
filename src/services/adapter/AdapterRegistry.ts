import { Context, type Effect, type Scope } from "effect"
import type { Adapter } from "./Adapter.js"

/** The connected surfaces, by platform. */
export class AdapterRegistry extends Context.Tag("hermes/adapter/AdapterRegistry")<
  AdapterRegistry,
  {
    /** Present until the scope closes; a second adapter of the same platform replaces nothing and is a defect. */
    readonly register: (adapter: Adapter) => Effect.Effect<void, never, Scope.Scope>
    readonly get: (platform: string) => Effect.Effect<Adapter | null>
    readonly all: Effect.Effect<ReadonlyArray<Adapter>>
  }
>() {}
