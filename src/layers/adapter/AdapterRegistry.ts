import { Effect, Layer } from "effect"
import type { Adapter } from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"

/** The registry of one process, in the order of registration. */
export const layer: Layer.Layer<AdapterRegistry> = Layer.sync(AdapterRegistry, () => {
  const registered = new Map<string, Adapter>()
  return {
    register: (adapter) =>
      Effect.acquireRelease(
        Effect.suspend(() => {
          if (registered.has(adapter.platform))
            return Effect.dieMessage(`a second adapter registers for ${adapter.platform}`)
          registered.set(adapter.platform, adapter)
          return Effect.void
        }),
        () => Effect.sync(() => void registered.delete(adapter.platform))
      ),
    get: (platform) => Effect.sync(() => registered.get(platform) ?? null),
    all: Effect.sync(() => [...registered.values()])
  }
})
