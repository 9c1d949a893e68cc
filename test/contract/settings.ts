import { Layer } from "effect"
import { Settings } from "../../src/services/operation/Settings.js"
import { settings } from "../../src/testing/Settings.js"

/** Settings for what asks for them only in passing: Telegram's home channel is `configured`. */
export const layer = Layer.succeed(
  Settings,
  settings("/nowhere", { telegram: { homeChannel: { chatId: "configured", threadId: null } } })
)
