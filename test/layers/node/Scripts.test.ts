import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { spawn } from "node:child_process"
import { existsSync } from "node:fs"
import * as ProcessTable from "../../../src/layers/node/process/ProcessTable.js"
import * as ProcessTree from "../../../src/layers/node/process/ProcessTree.js"
import * as Scripts from "../../../src/layers/node/Scripts.js"
import { settingsLayer } from "../support/hands.js"

/** A script's process as its gateway leaves it: a group of its own that nobody waits for, with a child. */
const leftBy = (home: string) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn("sh", ["-c", "sleep 300 & sleep 300"], {
        env: { PATH: process.env["PATH"], [ProcessTree.tokenName]: `${Scripts.tokensOf(home)}call_1` },
        stdio: "ignore",
        detached: true
      })
    ),
    ({ pid }) => Effect.ignore(Effect.try(() => process.kill(-(pid ?? 0), "SIGKILL")))
  )

const lives = (group: number | undefined) =>
  Effect.map(ProcessTable.list, (entries) => entries.some((entry) => entry.group === group))

describe("Scripts.endLeft", () => {
  it.scopedLive.skipIf(!existsSync("/proc/self/environ"))(
    "ends what scripts of this home's earlier gateway left, and nobody else's",
    () =>
      Effect.gen(function* () {
        const homes = { ours: `/nowhere/${process.pid}/ours`, theirs: `/nowhere/${process.pid}/theirs` }
        const ours = [yield* leftBy(homes.ours), yield* leftBy(homes.ours)]
        const theirs = yield* leftBy(homes.theirs)
        yield* Effect.sleep("100 millis")
        for (const { pid } of ours) expect(yield* lives(pid)).toBe(true)
        yield* Effect.scoped(Layer.build(Scripts.endLeft.pipe(Layer.provide(settingsLayer(homes.ours)))))
        for (const { pid } of ours) expect(yield* lives(pid)).toBe(false)
        expect(yield* lives(theirs.pid)).toBe(true)
      })
  )
})
