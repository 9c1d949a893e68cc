import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as PlainFile from "../../../src/layers/node/PlainFile.js"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(path.join(tmpdir(), "hermes-plain-"))),
  (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
)

describe("PlainFile.text", () => {
  it.scopedLive("what is no regular file is refused at once, by its kind; a regular one is read", () =>
    Effect.gen(function* () {
      const made = yield* folder
      const at = (name: string) => path.join(made, name)
      execFileSync("mkfifo", [at("pipe")])
      symlinkSync("/dev/zero", at("device"))
      mkdirSync(at("directory"))
      writeFileSync(at("text"), "\uFEFFwords of a person: ä")
      writeFileSync(at("large"), Buffer.alloc(16_777_217))
      const problem = (name: string) => Effect.map(Effect.flip(PlainFile.text(at(name))), (error) => error.message)
      assert.match(yield* problem("pipe"), /a named pipe/)
      assert.match(yield* problem("device"), /a device/)
      assert.match(yield* problem("directory"), /a directory/)
      assert.match(yield* problem("large"), /larger than 16 MiB/)
      assert.strictEqual(yield* PlainFile.text(at("text")), "words of a person: ä")
    })
  )
})
