/** The packages of other people that are measured beside ours, installed on first use. */
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import type { Context } from "../harness.js"

export const folder = fileURLToPath(new URL("./peers", import.meta.url))

/** Whether they are there; `who` says of whom there will be no figure where they cannot be installed. */
export const installed = (context: Context, who: string): boolean => {
  if (existsSync(path.join(folder, "node_modules"))) return true
  try {
    execFileSync("npm", ["ci", "--prefix", folder], { stdio: "ignore", timeout: 120_000 })
    return true
  } catch {
    context.log(`${who} left out: \`npm ci --prefix bench/world/peers\` failed`)
    return false
  }
}
