/** `npm start`: builds what is stale and becomes the gateway, in this process, so that signals reach it. */
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

// A folder that `npm ci` has not finished has none of what builds and runs it.
if (!existsSync(new URL("../node_modules/.package-lock.json", import.meta.url))) {
  console.error("The packages are not installed yet: run `npm ci` here first, then `npm start`.")
  process.exit(1)
}
const { fresh } = await import("./fresh.mjs")
await fresh("bin", "page")
const command = fileURLToPath(new URL("../dist/bin/hermes.js", import.meta.url))
process.argv = [process.argv[0], command, "gateway", "run", "--keep", ...process.argv.slice(2)]
createRequire(import.meta.url)(command).start()
