import { Effect, Layer, Ref } from "effect"
import type { Adapter } from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"

type Registered = ReadonlyMap<string, Adapter>

const including = (registered: Registered, adapter: Adapter): Registered =>
  new Map([...registered, [adapter.platform, adapter]])

const without = (registered: Registered, adapter: Adapter): Registered =>
  new Map([...registered].filter(([, other]) => other !== adapter))

/** The registry of one process, in the order of registration. */
export const layer: Layer.Layer<AdapterRegistry> = Layer.effect(
  AdapterRegistry,
  Effect.map(Ref.make<Registered>(new Map()), (registered) => ({
    register: (adapter) =>
      Effect.acquireRelease(
        Effect.flatten(
          Ref.modify(registered, (known): [Effect.Effect<void>, Registered] =>
            known.has(adapter.platform)
              ? [Effect.dieMessage(`a second adapter registers for ${adapter.platform}`), known]
              : [Effect.void, including(known, adapter)]
          )
        ),
        () => Ref.update(registered, (known) => without(known, adapter))
      ),
    get: (platform) => Effect.map(Ref.get(registered), (known) => known.get(platform) ?? null),
    all: Effect.map(Ref.get(registered), (known) => [...known.values()])
  }))
)
