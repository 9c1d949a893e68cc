/** git, asked by the gateway itself. */
import { Data, Effect } from "effect"
import { spawn } from "node:child_process"
import type { Environment } from "../../../fibers/AmbientEnvironment.js"
import * as GitGuard from "./GitGuard.js"

/** Bytes of an answer that are kept: a list of changed files may be long, and only its length counts then. */
const mostBytes = 16_000_000
const mostComplaint = 4_000

export interface Answer {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** It is not there, or was ended because it took too long. */
export class GitUnavailable extends Data.TaggedError("GitUnavailable")<{
  readonly reason: "missing" | "slow"
  readonly detail: string
}> {}

/** Names by which an environment says which repository is meant: the question says that itself. */
const elsewhere =
  /^GIT_(?:DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|OBJECT_DIRECTORY|ALTERNATE_OBJECT_DIRECTORIES|NAMESPACE|PREFIX|CEILING_DIRECTORIES)$/

/** Nobody answers it, nothing of the repository's own runs by itself, and its words are those that programs read. */
const settled = {
  ...GitGuard.environment,
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  LC_ALL: "C"
}
const plain = [
  ...["-c", "core.hooksPath=/dev/null"],
  ...["-c", "core.fsmonitor=false"],
  // Where git has begun to write down a working tree's moves it goes on, whatever is set.
  ...["-c", "core.logAllRefUpdates=true"]
]

export interface Asked {
  readonly directory: string
  readonly args: ReadonlyArray<string>
  readonly environment: Environment
  readonly limitMillis: number
}

/** Runs one command of git's to its end; the process ends with the fiber. */
export const ask = ({ args, directory, environment, limitMillis }: Asked): Effect.Effect<Answer, GitUnavailable> =>
  Effect.async<Answer, GitUnavailable>((resume) => {
    const env = Object.fromEntries(Object.entries(environment).filter(([name]) => !elsewhere.test(name)))
    const child = spawn("git", [...plain, "-C", directory, ...args], {
      // a relative entry of PATH must not lead into the tree
      cwd: "/",
      env: { ...env, ...settled },
      stdio: ["ignore", "pipe", "pipe"]
    })
    const chunks: Array<Buffer> = []
    let bytes = 0
    let stderr = ""
    child.stdout.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= mostBytes) chunks.push(chunk)
    })
    child.stderr.on("data", (chunk: Buffer) => (stderr = (stderr + chunk.toString()).slice(-mostComplaint)))
    child.once("error", (error) => resume(new GitUnavailable({ reason: "missing", detail: error.message })))
    child.once("close", (code) =>
      resume(Effect.succeed({ code, stdout: Buffer.concat(chunks).toString("utf8"), stderr: stderr.trim() }))
    )
    return Effect.sync(() => void child.kill("SIGKILL"))
  }).pipe(
    Effect.timeoutFail({
      duration: limitMillis,
      onTimeout: () =>
        new GitUnavailable({ reason: "slow", detail: `git ${args[0]} took longer than ${limitMillis / 1_000} s` })
    })
  )
