import { readFileSync } from "node:fs"
import { expect, test } from "vitest"
import * as Fibers from "../../src/fibers/index.js"
import * as Turn from "../../src/fibers/Turn.js"
import { version } from "../../src/services/operation/Version.js"

const manifest: {
  readonly version: string
  readonly devDependencies: Readonly<Record<string, string>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
} = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))

test("the fibers entry shows every door of a turn but the entrance", () => {
  const hidden = ["Turn", "enter"]
  expect(Object.keys(Fibers.Turn).toSorted()).toEqual(
    Object.keys(Turn)
      .filter((name) => !hidden.includes(name))
      .toSorted()
  )
  expect(Object.keys(Turn)).toEqual(expect.arrayContaining(hidden))
})

test("the version that programs say is the package's", () => {
  expect(version).toBe(manifest.version)
})

test("every package is pinned to one version, and a peer's range starts there", () => {
  for (const pins of [manifest.dependencies, manifest.devDependencies]) {
    expect(Object.entries(pins).filter(([, range]) => !/^\d+\.\d+\.\d+$/.test(range))).toEqual([])
  }
  for (const [name, range] of Object.entries(manifest.peerDependencies)) {
    expect([name, range]).toEqual([name, `^${manifest.devDependencies[name]}`])
    expect(name === "effect" || name.startsWith("@effect/")).toBe(true)
  }
})
