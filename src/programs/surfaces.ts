/** The surfaces of a process that is not the gateway. */
import { Effect, Layer } from "effect"
import * as AbsentAdapter from "../layers/adapter/AbsentAdapter.js"
import * as BotChat from "../layers/botChat/Adapter.js"
import * as Telegram from "../layers/telegram/Capabilities.js"
import * as WebAdapter from "../layers/web/Adapter.js"
import * as Deliver from "../services/delivery/Deliver.js"
import { Settings } from "../services/operation/Settings.js"

/** The page needs no gateway to be written to; what is for another platform waits for one. */
export const surfaces = Layer.mergeAll(
  WebAdapter.layer,
  AbsentAdapter.layer(Deliver.botChat, BotChat.capabilities),
  Layer.unwrapEffect(
    Effect.map(Settings, ({ telegram }) =>
      telegram.enabled ? AbsentAdapter.layer("telegram", Telegram.capabilities) : Layer.empty
    )
  )
)
