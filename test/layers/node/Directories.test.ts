import { describe, expect, it } from "@effect/vitest"
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import * as Directories from "../../../src/layers/node/Directories.js"

describe("Directories", () => {
  it("makes what is missing on the way, leaves what is there, and says what stands in the way", () => {
    const root = mkdtempSync(path.join(tmpdir(), "hermes-directories-"))
    try {
      const deep = path.join(root, "a/b/c")
      Directories.make(deep, 0o700)
      Directories.make(deep, 0o700)
      expect(statSync(path.join(root, "a")).mode & 0o777).toBe(0o700)
      expect(statSync(deep).isDirectory()).toBe(true)
      writeFileSync(path.join(root, "file"), "")
      for (const inTheWay of ["file", "file/below", "file/far/below"])
        expect(() => Directories.make(path.join(root, inTheWay))).toThrow(
          `${path.join(root, "file")} is not a directory`
        )
    } finally {
      rmSync(root, { recursive: true })
    }
  })

  // Node's recursive mkdir goes round for ever there.
  it.runIf(existsSync("/proc/self"))("gives up where nothing can be made", () => {
    expect(() => Directories.make("/proc/of/mine")).toThrow("ENOENT")
  })
})
