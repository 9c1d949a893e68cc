import { Effect, Layer } from "effect"
import { MonitorFailed, Monitors } from "../../services/schedule/Monitor.js"

const refused = Effect.fail(new MonitorFailed({ detail: "this program has no monitors" }))

/** For programs that look at nothing: a job with a monitor is refused when it is made. */
export const layerNone: Layer.Layer<Monitors> = Layer.succeed(Monitors, { check: () => refused, look: () => refused })
