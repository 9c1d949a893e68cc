/** The first half of `npm start`: builds what is stale. */
import { existsSync } from "node:fs"

// A folder that `npm ci` has not finished has none of what builds and runs it.
if (!existsSync(new URL("../node_modules/.package-lock.json", import.meta.url))) {
  console.error("The packages are not installed yet: run `npm ci` here first, then `npm start`.")
  process.exit(1)
}
const { fresh, stale } = await import("./fresh.mjs")
const parts = ["bin", "page"]
if (stale(parts).length > 0) console.error("Building, which takes some ten seconds …")
await fresh(...parts)
