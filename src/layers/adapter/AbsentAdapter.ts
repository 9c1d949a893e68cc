/** A platform that only a gateway is connected to: what a command sends there becomes a row that waits for one. */
import { Effect, Layer } from "effect"
import { type Adapter, type AdapterCapabilities, SendRetryable } from "../../services/adapter/Adapter.js"
import { AdapterRegistry } from "../../services/adapter/AdapterRegistry.js"

const detail = "no gateway runs on this home; it is sent when one does"

/** Longer than a send waits here and now, so that the row is put aside at once. */
const retryAfterMillis = 11_000

const make = (platform: string, capabilities: AdapterCapabilities): Adapter => {
  const waits = Effect.fail(new SendRetryable({ platform, detail, retryAfterMillis }))
  return {
    platform,
    capabilities: { ...capabilities, messageEditing: false, typing: false },
    state: Effect.succeed({ _tag: "Reconnecting", error: detail }),
    send: () => waits,
    edit: () => waits,
    typing: () => Effect.void,
    chatInfo: (chatId) => Effect.succeed({ name: chatId, type: "dm" })
  }
}

/** Stands in the registry for as long as the layer lives. */
export const layer = (
  platform: string,
  capabilities: AdapterCapabilities
): Layer.Layer<never, never, AdapterRegistry> =>
  Layer.scopedDiscard(Effect.flatMap(AdapterRegistry, (registry) => registry.register(make(platform, capabilities))))
