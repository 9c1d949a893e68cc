/** The built gateway as a process that a test may kill. */
import Database from "better-sqlite3"
import { Effect, Schema, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdirSync, writeFileSync } from "node:fs"
import path from "node:path"
import process from "node:process"
import { fileURLToPath } from "node:url"

const command = fileURLToPath(new URL("../../../dist/bin/hermes.js", import.meta.url))

/** The gateway did not come up, or did not go down, in time. */
export class GatewayProcessFailed extends Schema.TaggedError<GatewayProcessFailed>()("GatewayProcessFailed", {
  detail: Schema.String
}) {}

export interface GatewayProcess {
  /** From the spawn to the line that says it is ready, milliseconds. */
  readonly startMillis: number
  readonly kill: Effect.Effect<void>
  /** SIGTERM; answers the exit code. */
  readonly stop: Effect.Effect<number | null, GatewayProcessFailed>
  readonly output: () => string
}

export interface Home {
  readonly directory: string
  readonly environment: { readonly [name: string]: string }
}

/** A home with its configuration, before the first start. */
export const prepare = (directory: string, config: string): void => {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(directory, "config.yaml"), config, { mode: 0o600 })
}

const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(HERMES|API_SERVER|TELEGRAM|ANTHROPIC|OPENAI)_/.test(name))
  )

const exited = (child: ChildProcess) =>
  Effect.async<number | null>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.succeed(child.exitCode))
    child.once("exit", (code) => resume(Effect.succeed(code)))
  })

/** Starts the gateway and waits until it says that it is ready. It is killed with the scope. */
export const start = (home: Home): Effect.Effect<GatewayProcess, GatewayProcessFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const began = performance.now()
    let output = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [command, "gateway", "run", "--home", home.directory, "--port", "0"], {
          env: { ...plainEnvironment(), ...home.environment },
          stdio: ["ignore", "pipe", "pipe"]
        })
      ),
      (running) => Effect.sync(() => running.kill("SIGKILL"))
    )
    const ready = Effect.async<void, GatewayProcessFailed>((resume) => {
      const hear = (chunk: Buffer): void => {
        output = (output + chunk.toString()).slice(-20_000)
        if (output.includes("is ready")) resume(Effect.void)
      }
      child.stdout?.on("data", hear)
      child.stderr?.on("data", hear)
      child.once("exit", (code) => resume(new GatewayProcessFailed({ detail: `ended with ${code}: ${output}` })))
    })
    yield* ready.pipe(
      Effect.timeoutFail({
        duration: "60 seconds",
        onTimeout: () => new GatewayProcessFailed({ detail: `not ready in 60 s: ${output}` })
      })
    )
    return {
      startMillis: performance.now() - began,
      kill: Effect.zipRight(
        Effect.sync(() => child.kill("SIGKILL")),
        Effect.asVoid(exited(child))
      ),
      stop: Effect.zipRight(
        Effect.sync(() => child.kill("SIGTERM")),
        exited(child)
      ).pipe(
        Effect.timeoutFail({
          duration: "40 seconds",
          onTimeout: () => new GatewayProcessFailed({ detail: "no exit within 40 s" })
        })
      ),
      output: () => output
    }
  })

/** Rows of the database of a home whose gateway is dead. */
export const rows = (home: Home, sql: string): ReadonlyArray<Record<string, unknown>> => {
  const database = new Database(path.join(home.directory, "state.db"), { readonly: true })
  try {
    return database.prepare<[], Record<string, unknown>>(sql).all()
  } finally {
    database.close()
  }
}
