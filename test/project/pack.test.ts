/**
 * The package as somebody else gets it: packed, unpacked in a folder of its own, type-checked, imported and run there.
 * Its dependencies are links to the ones of this repository, so that nothing is asked of a registry.
 */
import { execFile } from "node:child_process"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { fresh } from "../../build/fresh.mjs"
import { startGateway } from "../../build/gateway.mjs"

const run = promisify(execFile)
const repository = fileURLToPath(new URL("../..", import.meta.url))
const manifest: {
  readonly version: string
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly peerDependencies: Readonly<Record<string, string>>
  readonly optionalDependencies: Readonly<Record<string, string>>
} = JSON.parse(readFileSync(path.join(repository, "package.json"), "utf8"))
const entries = Object.keys(manifest.exports).filter((name) => !name.endsWith(".json"))

const link = (modules: string, name: string) => {
  const place = path.join(modules, name)
  mkdirSync(path.dirname(place), { recursive: true })
  symlinkSync(path.join(repository, "node_modules", name), place)
}

describe("the packed package", () => {
  const folder = mkdtempSync(path.join(tmpdir(), "hermes-pack-"))
  const installed = path.join(folder, "node_modules/hermes-effect")
  const command = path.join(installed, "dist/bin/hermes.js")
  const node = (...args: ReadonlyArray<string>) => run(process.execPath, args, { cwd: folder })

  beforeAll(async () => {
    await fresh("bin", "page", "library")
    const { stdout } = await run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", folder], {
      cwd: repository
    })
    mkdirSync(installed, { recursive: true })
    await run("tar", ["-xzf", path.join(folder, stdout.trim()), "--strip-components", "1", "-C", installed])
    const names = [...Object.keys(manifest.dependencies), ...Object.keys(manifest.peerDependencies), "@types/node"]
    for (const name of names) link(path.join(folder, "node_modules"), name)
    writeFileSync(path.join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }))
  }, 150_000)
  afterAll(() => rmSync(folder, { recursive: true, force: true }))

  test("holds what is for users, and nothing of this machine", () => {
    const files = readdirSync(installed, { recursive: true, encoding: "utf8" })
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json", "dist/bin/hermes.js"]))
    expect(files.filter((name) => /\.cache$|\.built|\.lock$|\.tsx?$/.test(name) && !name.endsWith(".d.ts"))).toEqual([])
    expect(files.filter((name) => /^(src|test|bench|lint|build)(\/|$)/.test(name))).toEqual([])
  })

  test("every entry has its types and its module, and a user's program compiles and runs on them", async () => {
    const specifier = (entry: string) => JSON.stringify(path.posix.join("hermes-effect", entry))
    const program = [
      ...entries.map((entry, index) => `import * as e${index} from ${specifier(entry)}`),
      `import { Turn } from "hermes-effect/fibers"`,
      `// @ts-expect-error a turn is entered through admission only`,
      `void Turn.enter`,
      `// @ts-expect-error and made there`,
      `void Turn.Turn`,
      `const entries: Readonly<Record<string, object>> = { ${entries.map((_, index) => `e${index}`).join(", ")} }`,
      `console.log(JSON.stringify(Object.values(entries).map((entry) => Object.keys(entry).length > 0)))`
    ]
    writeFileSync(path.join(folder, "main.ts"), program.join("\n"))
    writeFileSync(
      path.join(folder, "tsconfig.json"),
      JSON.stringify({
        compilerOptions: {
          target: "ES2022",
          lib: ["ES2023", "DOM"],
          module: "NodeNext",
          strict: true,
          exactOptionalPropertyTypes: true,
          skipLibCheck: true,
          types: ["node"],
          outDir: "out"
        },
        files: ["main.ts"]
      })
    )
    const tsc = path.join(repository, "node_modules/typescript/bin/tsc")
    const compiled = await node(tsc, "-p", ".").catch((error: { stdout: string }) => error)
    expect(compiled.stdout).toBe("")
    const { stdout } = await node("out/main.js")
    expect(JSON.parse(stdout)).toEqual(entries.map(() => true))
  })

  test("the types are whole: none of them names a module that a user does not have", async () => {
    const missing: Array<string> = []
    const known = new Set([
      ...Object.keys(manifest.dependencies),
      ...Object.keys(manifest.peerDependencies),
      ...Object.keys(manifest.optionalDependencies)
    ])
    const dist = path.join(installed, "dist")
    for (const name of readdirSync(dist, { recursive: true, encoding: "utf8" })) {
      if (!/\.(d\.ts|js)$/.test(name) || /^(bin|page)\//.test(name)) continue
      const text = readFileSync(path.join(dist, name), "utf8")
      for (const [, specifier = ""] of text.matchAll(/(?:^|\s|\()(?:from|import)\s*\(?["']([^"'\s]+)["']/gm)) {
        if (specifier.startsWith("node:")) continue
        const target = path.join(dist, path.dirname(name), specifier)
        const there = specifier.startsWith(".")
          ? existsSync(target)
          : known.has(/^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? "")
        if (!there) missing.push(`${name}: ${specifier}`)
      }
    }
    expect(missing).toEqual([])
  })

  test("what is no entry cannot be imported", async () => {
    const deep = `import("hermes-effect/dist/fibers/Turn.js").then(() => 0, (error) => console.log(error.code))`
    expect((await node("-e", deep)).stdout.trim()).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED")
  })

  test("the command says its version, helps, and runs the gateway from there", async () => {
    expect((await node(command, "--version")).stdout).toBe(`${manifest.version}\n`)
    expect((await node(command, "--help")).stdout).toContain("gateway")
    const gateway = await startGateway(command, path.join(folder, "home"), "ignore")
    expect(gateway.health).toMatchObject({ status: "ok", version: manifest.version })
    expect(await gateway.stop()).toBe(0)
  })
})
