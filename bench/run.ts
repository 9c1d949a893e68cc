/**
 * Measures every row and writes BENCHMARKS.md: `npm run bench`. Single families only print: `npm run bench -- telegram`.
 * `--quick` measures shorter, for a look while working; it only prints, too.
 */
import { fork } from "node:child_process"
import { readdirSync, writeFileSync } from "node:fs"
import { cpus, release, totalmem } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { fresh } from "../build/fresh.mjs"
import { line, type Section, table } from "./harness.js"

const here = path.dirname(fileURLToPath(import.meta.url))
const known = readdirSync(path.join(here, "rows"))
  .filter((file) => file.endsWith(".ts"))
  .map((file) => file.slice(0, -3))
  .sort()

const asked = process.argv.slice(2)
const quick = asked.includes("--quick")
const names = asked.filter((name) => !name.startsWith("-"))
const strange = names.filter((name) => !known.includes(name))
if (strange.length > 0) {
  console.error(`no such rows: ${strange.join(", ")}; there are: ${known.join(", ")}`)
  process.exit(2)
}

/** Of a process that ended without a word. */
const lost = (name: string, code: number | null): Section => ({
  name,
  title: name,
  rows: [],
  problem: `its process ended with ${code ?? "a signal"}`
})

const measure = (name: string): Promise<Section> =>
  new Promise((resolve) => {
    const child = fork(path.join(here, "family.ts"), [name, ...(quick ? ["--quick"] : [])], {
      serialization: "advanced"
    })
    child.once("message", (section) => resolve(section as Section))
    child.once("exit", (code) => resolve(lost(name, code)))
  })

/** Names of rows whose bars were missed, or all were reached. */
const summary = (sections: ReadonlyArray<Section>): string => {
  const missed = sections.flatMap(({ rows }) => rows.filter((row) => row.target.met === false))
  const broken = sections.filter(({ problem }) => problem !== null)
  return [
    missed.length === 0
      ? "Every target was reached in this run."
      : `Not reached in this run: ${missed.map((row) => row.what).join("; ")}.`,
    ...broken.map(({ name, problem }) => `Not measured: ${name} (${problem}).`)
  ].join(" ")
}

const document = (sections: ReadonlyArray<Section>, minutes: number): string => `# Benchmarks

Written by \`npm run bench\` on ${new Date().toISOString().slice(0, 10)}, in ${minutes.toFixed(1)} minutes: ${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown CPU"}, ${Math.round(totalmem() / 2 ** 30)} GB, ${process.platform} ${release()}, Node ${process.versions.node}.
Each figure of ours stands beside a raw limit or a peer measured in the same run on the same machine; everything is on loopback, and everything durable is
synchronous (FULL) on both sides. Absolute figures move with the machine and with what else it does; the ratios move less.

${summary(sections)}

A row is made by a module in \`bench/rows\`: its default export is a \`Family\` (\`bench/harness.ts\`) with a title and a \`run\` that measures and
returns rows. \`npm run bench -- NAME…\` runs single modules by file name and only prints; \`--quick\` measures shorter. \`bench/gateway.ts\` starts the
built gateway on a home of its own, \`bench/world\` is what surrounds it (a Bot API server with people who write, a model, the bots beside). Each
family has a process of its own; what a row runs in it is compiled as for the built gateway (\`bench/asBuilt.mjs\`) and has its young generation.

${sections.map(({ problem, rows, title }) => `## ${title}\n\n${problem === null ? table(rows) : `Not measured: ${problem}`}`).join("\n\n")}
`

const began = performance.now()
await fresh("bin", "page")
const sections: Array<Section> = []
for (const name of names.length === 0 ? known : names) {
  const section = await measure(name)
  sections.push(section)
  if (section.problem !== null) console.log(`${name}: not measured: ${section.problem}`)
  for (const row of section.rows) console.log(line(row))
}
const minutes = (performance.now() - began) / 60_000
console.log(`${summary(sections)} ${minutes.toFixed(1)} minutes.`)
if (names.length === 0 && !quick) writeFileSync(path.join(here, "..", "BENCHMARKS.md"), document(sections, minutes))
process.exit(sections.some(({ problem }) => problem !== null) ? 1 : 0)
