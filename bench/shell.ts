/**
 * A command through the shell service beside a bare spawn of the same command in the same run: what the identity in
 * the environment, the bounded output and the tree that can be ended cost.
 *
 * Usage: npx tsx bench/shell.ts [rounds]
 */
import { Effect, Layer, Random, Redacted } from "effect"
import { spawn } from "node:child_process"
import { tmpdir } from "node:os"
import * as AmbientEnvironment from "../src/fibers/AmbientEnvironment.js"
import * as ShellLayer from "../src/layers/node/Shell.js"
import { Authorized } from "../src/services/approval/Approval.js"
import { make, Redactor } from "../src/services/delivery/Redactor.js"
import { Ids } from "../src/services/operation/Ids.js"
import { Shell } from "../src/services/shell/Shell.js"
import { settings } from "../test/layers/support/hands.js"
import { Settings } from "../src/services/operation/Settings.js"

const rounds = Number(process.argv[2] ?? 200)
const command = "echo hello"

const bare = Effect.async<void>((resume) => {
  const child = spawn("/bin/bash", ["-c", command], { stdio: ["ignore", "pipe", "pipe"], detached: true })
  child.stdout.on("data", () => undefined)
  child.stderr.on("data", () => undefined)
  child.once("close", () => resume(Effect.void))
})

const layer = Layer.provide(
  ShellLayer.layer,
  Layer.mergeAll(
    AmbientEnvironment.layer(process.env),
    Layer.succeed(Settings, settings(tmpdir())),
    Layer.succeed(Redactor, make([Redacted.value(Redacted.make("a-known-secret"))])),
    Layer.succeed(Ids, { next: (kind) => Effect.map(Random.nextInt, (n) => `${kind}_${n}`) })
  )
)

const timed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const from = performance.now()
    return Effect.map(self, () => performance.now() - from)
  })

const quantile = (times: ReadonlyArray<number>, q: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * q)] ?? 0

const program = Effect.gen(function* () {
  const shell = yield* Shell
  const ours = shell
    .run({ command, workingDirectory: tmpdir(), timeoutMillis: 10_000 })
    .pipe(
      Effect.provideService(Authorized, { question: { tool: "terminal", callId: "c", subject: command, reasons: [] } })
    )
  const times = { bare: [] as Array<number>, ours: [] as Array<number> }
  for (let round = 0; round < rounds + 20; round++) {
    const a = yield* timed(bare)
    const b = yield* timed(ours)
    if (round >= 20) {
      times.bare.push(a)
      times.ours.push(b)
    }
  }
  for (const q of [0.5, 0.9, 0.99])
    console.log(
      `p${q * 100}: bare ${quantile(times.bare, q).toFixed(2)} ms, shell ${quantile(times.ours, q).toFixed(2)} ms, ` +
        `over ${(quantile(times.ours, q) - quantile(times.bare, q)).toFixed(2)} ms`
    )
})

await Effect.runPromise(Effect.provide(program, layer))
