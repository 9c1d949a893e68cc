/**
 * Measures one family in a process of its own: what was measured before leaves a heap of a gigabyte behind, and with that
 * each request takes longer to ask and each command longer to start. `family.ts NAME [--quick]`, forked by `run.ts`.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import type { Context, Family, Section } from "./harness.js"

const [name = "", ...options] = process.argv.slice(2)

const measure = async (): Promise<Section> => {
  const module: { readonly default: Family } = await import(`./rows/${name}.ts`)
  const family = module.default
  const folder = mkdtempSync(path.join(tmpdir(), `hermes-bench-${name}-`))
  const context: Context = {
    quick: options.includes("--quick"),
    folder,
    log: (text) => console.error(`  ${text}`)
  }
  console.error(`${name}: ${family.title}`)
  try {
    return { name, title: family.title, rows: await family.run(context), problem: null }
  } catch (error) {
    return { name, title: family.title, rows: [], problem: error instanceof Error ? error.message : String(error) }
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const section = await measure()
process.send?.(section, () => process.exit(0))
