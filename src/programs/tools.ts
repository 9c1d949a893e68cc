/** The tools of the agent; each layer adds its own to the registry. */
import { Layer } from "effect"
import * as delegateTask from "../layers/tools/delegateTask.js"
import * as sendMessage from "../layers/tools/sendMessage.js"

export const tools = Layer.mergeAll(
  sendMessage.layer,
  delegateTask.layer
)
