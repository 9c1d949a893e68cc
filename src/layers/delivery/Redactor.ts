import { Effect, Layer, Redacted } from "effect"
import { make, Redactor } from "../../services/delivery/Redactor.js"
import { Settings } from "../../services/operation/Settings.js"

/** Every secret of the settings, wherever it stands in them, so that a new one cannot be forgotten here. */
const secretsIn = (value: unknown): ReadonlyArray<string> => {
  if (Redacted.isRedacted(value)) {
    const secret = Redacted.value(value)
    return typeof secret === "string" ? [secret] : []
  }
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(secretsIn) : []
}

/** Knows the secrets of the settings. */
export const layer: Layer.Layer<Redactor, never, Settings> = Layer.effect(
  Redactor,
  Effect.map(Settings, (settings) => make(secretsIn(settings)))
)
