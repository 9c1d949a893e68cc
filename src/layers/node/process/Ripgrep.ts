/** ripgrep, where it is installed, says which files of a tree contain a text: most of them need not be read then. */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import type { Environment } from "../../../fibers/AmbientEnvironment.js"

/** Bytes of names; a text that is in more files is searched for without help. */
const mostBytes = 16_000_000

/** Every file as it is: no settings, no ignore files, no decoding, and no guess about what is binary. */
const plain = ["--no-config", "--no-ignore", "--hidden", "--text", "--encoding=none", "--color=never", "--no-messages"]

export interface Asked {
  /** Absolute, every link followed. */
  readonly root: string
  /** Printable ASCII. */
  readonly text: string
  readonly ignoreCase: boolean
  /** Names of directories that are not entered. */
  readonly without: ReadonlyArray<string>
  readonly environment: Environment
}

/**
 * The files below `root`, relative to it, that contain `text`; null where ripgrep is not there or could not look at
 * all of them. Links are not followed. The process ends with the fiber.
 */
export const containing = (asked: Asked): Effect.Effect<ReadonlySet<string> | null> =>
  Effect.async((resume) => {
    const args = [
      ...plain,
      "--files-with-matches",
      "--null",
      "--fixed-strings",
      ...(asked.ignoreCase ? ["--ignore-case"] : ["--case-sensitive"]),
      ...asked.without.map((name) => `--glob=!${name}/`),
      `--regexp=${asked.text}`,
      "--",
      asked.root
    ]
    // a relative entry of PATH must not lead into the tree
    const child = spawn("rg", args, { cwd: "/", env: asked.environment, stdio: ["ignore", "pipe", "ignore"] })
    const chunks: Array<Buffer> = []
    let bytes = 0
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= mostBytes) chunks.push(chunk)
      else child.kill("SIGKILL")
    })
    child.once("error", () => resume(Effect.succeed(null)))
    child.once("close", (code) => {
      if (code !== 0 && code !== 1) return resume(Effect.succeed(null))
      const before = asked.root.length + (asked.root.endsWith("/") ? 0 : 1)
      const names = Buffer.concat(chunks).toString("utf8").split("\0")
      resume(Effect.succeed(new Set(names.filter((name) => name !== "").map((name) => name.slice(before)))))
    })
    return Effect.sync(() => void child.kill("SIGKILL"))
  })
