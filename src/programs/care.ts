/** Care for the database, in the built program `worker` beside this one. */
import { fileURLToPath } from "node:url"
import * as CareProcess from "../layers/node/CareProcess.js"

const worker = fileURLToPath(
  new URL(import.meta.url.includes("/src/programs/") ? "../../dist/bin/worker.js" : "./worker.js", import.meta.url)
)

export const care = CareProcess.layer(worker)
