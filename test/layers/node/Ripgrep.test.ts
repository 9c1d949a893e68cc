import { describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc } from "effect"
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import process from "node:process"
import { expect } from "vitest"
import * as Ripgrep from "../../../src/layers/node/process/Ripgrep.js"
import { scaled } from "../../scale.js"

const environment = { PATH: process.env["PATH"] ?? "" }
const installed = spawnSync("rg", ["--version"], { env: environment }).error === undefined

const words = ["needle", "NEEDLE", "nee", "\u0000", "\r\n", "\n", "\u00e4", "*.txt\n", "hay "]
const content = fc
  .array(fc.oneof(fc.constantFrom(...words), fc.uint8Array({ maxLength: 4 })), { maxLength: 8 })
  .map((parts) => Buffer.concat(parts.map((part) => Buffer.from(part as string))))
const name = fc.constantFrom(
  "a.txt",
  ".hidden",
  ".gitignore",
  ".ignore",
  "b c.txt",
  "-e",
  "\u00fcber",
  "big.bin",
  ".git"
)
const directory = fc.constantFrom("", "src", "src/deep", ".config", "node_modules", "x.txt")

describe("Ripgrep", () => {
  it.effect("names the files that contain a text, whatever they are and whatever the tree says to ignore", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(fc.tuple(directory, name, content), {
            maxLength: 10,
            selector: ([at, file]) => `${at}/${file}`
          }),
          fc.boolean(),
          async (files, ignoreCase) => {
            const root = realpathSync(mkdtempSync(path.join(tmpdir(), "ripgrep-")))
            const expected: Array<string> = []
            for (const [at, file, bytes] of files) {
              mkdirSync(path.join(root, at), { recursive: true })
              writeFileSync(path.join(root, at, file), bytes)
              const text = bytes.toString("latin1")
              const has = (ignoreCase ? text.toLowerCase() : text).includes("needle")
              if (has && at !== "node_modules") expected.push(path.posix.join(at, file))
            }
            symlinkSync(root, path.join(root, "again"))
            const found = await Effect.runPromise(
              Ripgrep.containing({ root, text: "needle", ignoreCase, without: ["node_modules", ".git"], environment })
            )
            rmSync(root, { recursive: true, force: true })
            expect(found === null ? null : [...found].toSorted()).toEqual(installed ? expected.toSorted() : null)
          }
        ),
        { numRuns: scaled(500, 12) }
      )
    )
  )

  it.effect("says nothing where it is not installed, or cannot look at the place", () =>
    Effect.gen(function* () {
      const asked = {
        root: tmpdir(),
        text: "needle",
        ignoreCase: false,
        without: [],
        environment: { PATH: "/nonexistent" }
      }
      expect(yield* Ripgrep.containing(asked)).toBeNull()
      expect(yield* Ripgrep.containing({ ...asked, root: "/nonexistent", environment })).toBeNull()
    })
  )
})
