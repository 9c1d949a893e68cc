/** `npm start`: builds what is stale and becomes the gateway, in this process, so that signals reach it. */
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { fresh } from "./fresh.mjs"

await fresh("bin", "page")
const command = fileURLToPath(new URL("../dist/bin/hermes.js", import.meta.url))
process.argv = [process.argv[0], command, "gateway", "run", "--keep", ...process.argv.slice(2)]
createRequire(import.meta.url)(command).start()
