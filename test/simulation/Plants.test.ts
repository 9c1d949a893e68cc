/** What a plant takes away stands where it says, once: else it would be no plant, and `--plants` would find that out only. */
import { expect, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { plants } from "./Plants.js"

for (const [name, { file, puts, takes }] of Object.entries(plants))
  it(`${name} is up to date`, () => {
    const text = readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), "utf8")
    expect(text.split(takes).length - 1).toBe(1)
    expect(puts).not.toBe(takes)
  })
