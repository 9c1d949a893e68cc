/** Documents of runs: the newest are kept, whatever the wall clock did (cron-delivery.md 3.10). */
import { FileSystem } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import * as RunDocument from "../../../src/layers/schedule/RunDocument.js"
import type { Job } from "../../../src/services/schedule/Job.js"
import { redactor, settingsLayer } from "../support/hands.js"

const home = mkdtempSync(path.join(tmpdir(), "documents-"))
const retention = 2
const settings = settingsLayer(home, { cron: { outputRetention: retention } })

it.effect("keeps those that were written last, also where their times go back", () =>
  Effect.gen(function* () {
    const documents = yield* RunDocument.make
    const fs = yield* FileSystem.FileSystem
    const job = { id: "0123456789ab", name: "diary", schedule: "every 1h" } as Job
    const hour = 3_600_000
    const written: Array<string> = []
    // Each looks like an hour before the last, as after a move to the west.
    for (const [at, hours] of [5, 4, 3, 2].entries()) {
      const relative = yield* documents.save({
        job,
        runId: `run_${at}`,
        startedAt: hours * hour,
        failed: false,
        prompt: null,
        text: "x"
      })
      written.push(path.basename(relative))
      yield* fs.utimes(path.join(home, relative), at, at)
    }
    const folder = path.join(home, "cron", "output", job.id)
    expect((yield* fs.readDirectory(folder)).toSorted()).toEqual(written.slice(-retention).toSorted())
    yield* documents.discard(job)
    expect(yield* fs.exists(folder)).toBe(false)
  }).pipe(Effect.provide(Layer.mergeAll(settings, redactor, NodeContext.layer)))
)
