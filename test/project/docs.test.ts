/** The pages that come from the code say what the code says, and no page links to what is not there. */
import { describe, expect, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { pages } from "../../build/reference.js"
import { keys } from "../../src/services/operation/ConfigKey.js"

const folder = fileURLToPath(new URL("../../docs", import.meta.url))
const names = readdirSync(folder)
const read = (name: string): string => readFileSync(path.join(folder, name), "utf8")

describe("the documentation", () => {
  it("lists every command and setting as they are (`npm run reference` writes it)", async () => {
    for (const [name, text] of await pages()) expect(read(name), name).toBe(text)
  })

  it("has at most twenty pages, all of them named on the first", () => {
    expect(names.length).toBeLessThanOrEqual(20)
    for (const name of names.filter((name) => name !== "README.md")) expect(read("README.md")).toContain(`(${name})`)
  })

  it("links to what is there", () => {
    for (const name of names)
      for (const [, target = ""] of read(name).matchAll(/\]\(([^)#\s]+)[^)]*\)/g))
        if (!target.startsWith("http")) expect(existsSync(path.join(folder, target)), `${name}: ${target}`).toBe(true)
  })

  it("names no setting that does not exist", () => {
    const known = new Set(Object.values(keys).map(({ path: key }) => key))
    const sections = new Set([...known].map((key) => key.split(".")[0]))
    for (const name of names)
      for (const [, key = ""] of read(name).matchAll(/`([a-z_]+(?:\.[a-z_]+)+)(?::[^`]*)?`/g))
        if (sections.has(key.split(".")[0]) && !/\.(?:yaml|db|md|sh|json)$/.test(key))
          expect(known.has(key), `${name}: ${key}`).toBe(true)
  })
})
