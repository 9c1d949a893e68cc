/** What the hands cost over what the system asks for them: a command through the tool's whole way beside a bare spawn. */
import { NodeContext } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { spawn } from "node:child_process"
import { mkdirSync } from "node:fs"
import path from "node:path"
import * as Turn from "../../src/fibers/Turn.js"
import { Toolbox } from "../../src/services/agent/Toolbox.js"
import * as Testing from "../../src/testing/index.js"
import { turn } from "../../test/layers/support/hands.js"
import { asLaunched, type Family, median, quantile } from "../harness.js"

const command = "echo hello"

/** The shell that `terminal` uses, its output and nothing else. */
const bare = (cwd: string) =>
  Effect.async<void>((resume) => {
    const child = spawn("/bin/bash", ["-c", command], { cwd, stdio: ["ignore", "pipe", "pipe"], detached: true })
    child.stdout.on("data", () => undefined)
    child.stderr.on("data", () => undefined)
    child.once("close", () => resume(Effect.void))
  })

/** A call of a turn that goes on. What does not succeed is quick, and says nothing of what does. */
const call = (number: number, name: string, args: object) =>
  Effect.flatMap(Toolbox, (toolbox) =>
    toolbox.run([{ id: `call-${number}`, name, arguments: JSON.stringify(args) }], {
      advance: () => Effect.void,
      store: () => Effect.void
    })
  ).pipe(
    Effect.filterOrDieMessage((results) => results.every(({ disposition }) => disposition === "ok"), `${name} failed`)
  )

/** What this process itself computes meanwhile: it says the same on a machine that does other things as well. */
const computed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const from = process.cpuUsage()
    return Effect.map(self, () => {
      const { system, user } = process.cpuUsage(from)
      return (system + user) / 1_000
    })
  })

const timed = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const from = performance.now()
    return Effect.map(self, () => performance.now() - from)
  })

const family: Family = {
  title: "Tools: a command beside a bare spawn, a program beside a bare Node",
  run: ({ folder, quick }) => {
    const rounds = quick ? 40 : 300
    const programs = quick ? 5 : 20
    const home = path.join(folder, "home")
    mkdirSync(home)
    const gateway = Testing.gateway({
      model: () => "not asked",
      settings: {
        home,
        terminal: { timeoutSeconds: 20, envPassthrough: [], workingDirectory: folder },
        approvals: { allowlist: ["execute_code"] }
      },
      environment: { PATH: process.env["PATH"] ?? "" }
    })
    const bareNode = Effect.async<void>((resume) => {
      const child = spawn(process.execPath, ["-e", "console.log(1)"], { stdio: ["ignore", "pipe", "pipe"] })
      child.stdout.on("data", () => undefined)
      child.once("close", () => resume(Effect.void))
    })
    return Effect.runPromise(
      Effect.gen(function* () {
        const times = { bare: [] as Array<number>, terminal: [] as Array<number> }
        for (let round = 0; round < rounds + 10; round++) {
          const a = yield* timed(bare(folder))
          const b = yield* timed(call(round, "terminal", { command }))
          if (round < 10) continue
          times.bare.push(a)
          times.terminal.push(b)
        }
        const cpu = { bare: [] as Array<number>, terminal: [] as Array<number> }
        for (let round = 0; round < rounds; round++) {
          cpu.bare.push(yield* computed(bare(folder)))
          cpu.terminal.push(yield* computed(call(round, "terminal", { command })))
        }
        const code = { bare: [] as Array<number>, program: [] as Array<number> }
        for (let round = 0; round < programs; round++) {
          code.bare.push(yield* timed(bareNode))
          code.program.push(yield* timed(call(round, "execute_code", { code: "print(1)" })))
        }
        const over = median(times.terminal) - median(times.bare)
        const quick = quantile(times.terminal, 0.1) - quantile(times.bare, 0.1)
        return [
          {
            what: `terminal, over a bare spawn: ${command}`,
            unit: "ms",
            ours: over,
            beside: [{ name: "the bare spawn itself", value: median(times.bare) }],
            memory: null,
            target: { words: "< 4 ms over the spawn", met: over < 4 },
            note: `toolbox, judge, gate, environment, ordered output and the tree that can be ended; medians; of the quickest tenth ${quick.toFixed(1)} ms`
          },
          {
            what: "terminal: what our process computes for one command",
            unit: "ms",
            ours: median(cpu.terminal),
            beside: [{ name: "for a bare spawn", value: median(cpu.bare) }],
            memory: null,
            target: { words: "shown", met: null }
          },
          {
            what: "execute_code: a program that prints",
            unit: "ms",
            ours: median(code.program),
            beside: [{ name: "node -e", value: median(code.bare) }],
            memory: null,
            target: { words: "shown", met: null }
          }
        ]
      }).pipe(
        Turn.enter(turn("bench")),
        Effect.provide(Layer.provideMerge(gateway, NodeContext.layer)),
        asLaunched,
        Effect.scoped
      )
    )
  }
}

export default family
