import { execFile } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync, mkdirSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { bans } from "../../lint/bans.mjs"
import { directives } from "../../lint/directives.mjs"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

const repository = fileURLToPath(new URL("../..", import.meta.url))
const planted = fileURLToPath(new URL("planted", import.meta.url))

/** `file:line rule`, one a report. */
const lint = (folder: string): Promise<ReadonlyArray<string>> =>
  new Promise((resolve, reject) => {
    const oxlint = path.join(repository, "node_modules/.bin/oxlint")
    execFile(oxlint, ["--format", "json"], { cwd: folder, maxBuffer: 1 << 26 }, (_failed, stdout, stderr) => {
      try {
        const report: {
          diagnostics: ReadonlyArray<{
            code: string
            filename: string
            labels: ReadonlyArray<{ span: { line: number } }>
          }>
        } = JSON.parse(stdout)
        resolve(
          report.diagnostics
            .map(
              ({ code, filename, labels }) =>
                `${filename}:${labels[0]?.span.line} ${/\((.+)\)$/.exec(code)?.[1] ?? code}`
            )
            .toSorted()
        )
      } catch {
        reject(new Error(`oxlint said no JSON: ${stdout}${stderr}`))
      }
    })
  })

const filesOf = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name))

/** The repository's own rules over another tree. */
const install = (folder: string) => {
  const config = JSON.parse(readFileSync(path.join(repository, ".oxlintrc.json"), "utf8"))
  config.jsPlugins = config.jsPlugins.map((plugin: string) => path.join(repository, plugin))
  config.ignorePatterns = []
  writeFileSync(path.join(folder, ".oxlintrc.json"), JSON.stringify(config))
}

const expected = (folder: string): ReadonlyArray<string> =>
  filesOf(folder)
    .flatMap((name) =>
      readFileSync(path.join(folder, name), "utf8")
        .split("\n")
        .flatMap((line, index) =>
          (/\/\/ expect(?:-next)?: (.+)$/.exec(line)?.[1] ?? "")
            .split(", ")
            .filter((rule) => rule !== "")
            .map((rule) => `${name}:${index + (line.includes("expect-next") ? 2 : 1)} ${rule}`)
        )
    )
    .toSorted()

describe("the linter's own rules", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "planted-"))
  let reports: ReadonlyArray<string> = []
  beforeAll(async () => {
    cpSync(planted, folder, { recursive: true })
    install(folder)
    reports = await lint(folder)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  for (const name of filesOf(planted)) {
    test(`reports each planted line of ${name} and no other`, () => {
      const of = (all: ReadonlyArray<string>) => all.filter((report) => report.startsWith(`${name}:`))
      expect(of(reports)).toEqual(of(expected(planted)))
    })
  }

  test("the clean file has no expectation, and the planted ones have", () => {
    const named = (name: string) => expected(planted).filter((line) => line.includes(name)).length
    expect(named("clean.ts")).toBe(0)
    expect(expected(planted).length).toBeGreaterThan(200)
  })
})

describe("every ban in every style of import", () => {
  const modules = [...bans].filter(([module]) => /^(effect|@effect\/[a-z-]+)\//.test(module))

  test("names only things that exist", async () => {
    const missing: Array<string> = []
    for (const [module, exports] of modules) {
      const loaded = await import(module)
      for (const name of exports.keys()) if (name !== "*" && !(name in loaded)) missing.push(`${module}.${name}`)
    }
    expect(missing).toEqual([])
  })

  test("finds them all", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "styles-"))
    mkdirSync(path.join(folder, "src/services"), { recursive: true })
    install(folder)
    const lines: Array<string> = []
    const wanted: Array<string> = []
    const plant = (rule: string, line: string) => {
      lines.push(line)
      wanted.push(`src/services/styles.ts:${lines.length} ${rule}`)
    }
    let serial = 0
    for (const [module, exports] of modules) {
      const slash = module.lastIndexOf("/")
      const [root, noun] = [module.slice(0, slash), module.slice(slash + 1)]
      for (const [name, { rule }] of exports) {
        if (name === "*") continue
        const id = `v${serial++}`
        plant(rule, `import { ${name} as ${id} } from "${module}"`)
        plant(rule, `import { ${noun} as ${id}a } from "${root}"; export const ${id}b = ${id}a.${name}`)
        plant(rule, `import * as ${id}c from "${root}"; export const ${id}d = ${id}c.${noun}["${name}"]`)
        plant(rule, `import * as ${id}e from "${module}"; const { ${name}: ${id}f } = ${id}e`)
        plant(rule, `export { ${name} as ${id}g } from "${module}"`)
      }
    }
    writeFileSync(path.join(folder, "src/services/styles.ts"), lines.join("\n"))
    const reports = await lint(folder)
    rmSync(folder, { recursive: true, force: true })
    expect(reports).toEqual(wanted.toSorted())
  })
})

describe("comments that switch rules off", () => {
  const problems = (text: string) => {
    const folder = mkdtempSync(path.join(tmpdir(), "directives-"))
    writeFileSync(path.join(folder, "file.ts"), text)
    const found = directives([folder])
    rmSync(folder, { recursive: true, force: true })
    return found.map(({ line, problem }) => `${line}: ${problem}`)
  }

  test("need a rule and a reason", () => {
    expect(problems("// oxlint-disable-next-line fibers/no-console -- the CLI's own output")).toEqual([])
    expect(problems("/* oxlint-disable fibers/no-console, no-empty -- browser code */")).toEqual([])
    expect(problems("\n// oxlint-disable-next-line fibers/no-console")).toEqual([
      expect.stringMatching(/^2: .* says why/)
    ])
    expect(problems("// oxlint-disable-line fibers/no-console -- ")).toEqual([expect.stringContaining("says why")])
    expect(problems("const x = 1 // eslint-disable-line")).toEqual([expect.stringContaining("names the rules")])
    expect(problems("/* oxlint-disable */")).toEqual([expect.stringContaining("names the rules")])
    expect(problems("// eslint-disable-next-line -- because")).toEqual([expect.stringContaining("names the rules")])
  })

  test("never switch off where turns are made or which way imports run", () => {
    expect(problems("// oxlint-disable-next-line fibers/turn-entry -- it is quicker")).toHaveLength(1)
    expect(problems("// oxlint-disable-next-line no-empty, fibers/import-direction -- it is quicker")).toHaveLength(1)
  })

  test("never silence the compiler", () => {
    expect(problems("// @ts-nocheck")).toHaveLength(1)
    expect(problems("// @ts-ignore because")).toHaveLength(1)
    expect(problems("// @ts-expect-error a worker cannot need a turn")).toEqual([])
  })
})
