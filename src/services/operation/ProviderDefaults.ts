import type { Provider } from "./Settings.js"

/** The model of a provider where none is named. */
export const models: { readonly [name in Provider]: string } = {
  offline: "offline-assistant",
  anthropic: "claude-sonnet-4-5",
  openai: "gpt-5-mini",
  "openai-compatible": "default",
  scripted: "echo"
}

/** Where its key is looked for, in this order. */
export const keyNames: { readonly [name in Provider]: ReadonlyArray<string> } = {
  offline: [],
  anthropic: ["ANTHROPIC_API_KEY", "HERMES_MODEL_API_KEY"],
  openai: ["OPENAI_API_KEY", "HERMES_MODEL_API_KEY"],
  "openai-compatible": ["HERMES_MODEL_API_KEY"],
  scripted: []
}
