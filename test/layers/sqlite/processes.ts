import { Effect, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { rolldown } from "rolldown"

const here = path.dirname(fileURLToPath(import.meta.url))
const bundle = path.resolve(here, `../../../node_modules/.cache/hermes-effect/state-child-${process.pid}.mjs`)

/** One bundle for all children: it starts in a tenth of the time of the sources, and is how the program is shipped. */
const built = Effect.runSync(
  Effect.cached(
    Effect.promise(async () => {
      const program = await rolldown({
        input: path.join(here, "child.ts"),
        platform: "node",
        external: ["better-sqlite3"],
        logLevel: "silent"
      })
      await program.write({ file: bundle, format: "esm" })
      await program.close()
    })
  )
)

export interface Child {
  readonly process: ChildProcess
  /** What it said so far, in whole lines. */
  readonly lines: () => ReadonlyArray<unknown>
  readonly kill: Effect.Effect<void>
}

/** Another process on the same file, ready when this succeeds and dead when the scope closes. */
export const start = (
  file: string,
  mode: "write" | "single" | "single-delete" | "open" | "lock",
  options: { readonly uid?: number } = {}
): Effect.Effect<Child, Error, Scope.Scope> => Effect.zipRight(built, spawned(file, mode, options))

const spawned = (file: string, mode: string, options: { readonly uid?: number }) =>
  Effect.acquireRelease(
    Effect.async<Child, Error>((resume) => {
      const child = spawn(process.execPath, [bundle, file, mode], {
        stdio: ["ignore", "pipe", "pipe"],
        ...options
      })
      let said = ""
      let complained = ""
      child.stderr.on("data", (chunk: Buffer) => (complained += chunk.toString()))
      child.stdout.on("data", (chunk: Buffer) => {
        const first = said === ""
        said += chunk.toString()
        if (first) resume(Effect.succeed({ process: child, lines, kill }))
      })
      child.once("exit", () => resume(Effect.fail(new Error(`the child ended: ${said}${complained}`))))
      const lines = () =>
        said
          .split("\n")
          .slice(0, -1)
          .map((line): unknown => JSON.parse(line))
      const kill = Effect.async<void>((done) => {
        if (child.exitCode !== null || child.signalCode !== null) return done(Effect.void)
        child.once("close", () => done(Effect.void))
        child.kill("SIGKILL")
      })
    }),
    (child) => child.kill
  )
