/** The tools of the agent; each layer adds its own to the registry. */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { Layer } from "effect"
import * as clarify from "../layers/tools/clarify.js"
import * as cronjob from "../layers/tools/cronjob.js"
import * as delegateTask from "../layers/tools/delegateTask.js"
import * as executeCode from "../layers/tools/executeCode.js"
import * as mcp from "../layers/tools/mcp.js"
import * as memory from "../layers/tools/memory.js"
import * as patch from "../layers/tools/patch.js"
import * as process from "../layers/tools/process.js"
import * as readFile from "../layers/tools/readFile.js"
import * as searchFiles from "../layers/tools/searchFiles.js"
import * as sendMessage from "../layers/tools/sendMessage.js"
import * as sessionSearch from "../layers/tools/sessionSearch.js"
import * as skills from "../layers/tools/skills.js"
import * as terminal from "../layers/tools/terminal.js"
import * as todo from "../layers/tools/todo.js"
import * as webExtract from "../layers/tools/webExtract.js"
import * as webSearch from "../layers/tools/webSearch.js"
import * as writeFile from "../layers/tools/writeFile.js"

export const tools = Layer.mergeAll(
  terminal.layer,
  process.layer,
  executeCode.layer,
  readFile.layer,
  writeFile.layer,
  patch.layer,
  todo.layer,
  memory.layer,
  sessionSearch.layer,
  skills.layer,
  clarify.layer,
  searchFiles.layer,
  sendMessage.layer,
  delegateTask.layer,
  cronjob.layer,
  mcp.layer,
  webExtract.layer,
  webSearch.layer.pipe(Layer.provide(FetchHttpClient.layer))
)
