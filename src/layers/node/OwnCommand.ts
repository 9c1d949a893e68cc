/** Where the home of a command is, and how a command is typed that means it. */
import { homedir } from "node:os"
import path from "node:path"
import type { Environment } from "../../fibers/AmbientEnvironment.js"
import type { OwnCommand } from "../../services/operation/OwnCommand.js"

/** The home that is meant: the option, else `HERMES_HOME`, else `~/.hermes-effect`. */
export const homeOf = (option: string | null, environment: Environment, cwd: () => string): string => {
  const home = option || environment["HERMES_HOME"] || path.join(environment["HOME"] || homedir(), ".hermes-effect")
  return path.isAbsolute(home) ? path.resolve(home) : path.resolve(cwd(), home)
}

/** How to call the command in another terminal, where this process's variables are not, so that it means this home. */
export const of = (home: string, environment: Environment): OwnCommand => ({
  // Who started npm has the command under npx.
  program: environment["npm_lifecycle_event"] === undefined ? "hermes" : "npx hermes",
  options:
    home === homeOf(null, { HOME: environment["HOME"] ?? "" }, () => "/")
      ? ""
      : `--home ${/^[\w./~+-]+$/.test(home) ? home : `'${home.replaceAll("'", "'\\''")}'`}`
})
