/** The loader of the built commands: compiled code is kept, used, and done without. */
import { execFile } from "node:child_process"
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"
import { promisify } from "node:util"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { wrapped } from "../../build/chunk.mjs"

const run = promisify(execFile)
const loader = readFileSync(new URL("../../build/loader.cjs", import.meta.url), "utf8")

describe("the loader of built commands", () => {
  let folder = ""
  const start = async (...args: ReadonlyArray<string>) => {
    const { stdout } = await run(process.execPath, [path.join(folder, "hermes.js"), ...args], { cwd: tmpdir() })
    return stdout
  }
  const caches = () =>
    readdirSync(folder)
      .filter((name) => name.endsWith(".cache"))
      .toSorted()
  const written = () => caches().map((name) => statSync(path.join(folder, name)).mtimeMs)

  const chunk = (name: string, code: string) => writeFileSync(path.join(folder, name), wrapped(code))
  const entry = `const shared = require("./shared-1.cjs"), os = require("node:os")
    exports.greet = (name) => "hello " + name
    Promise.resolve().then(() => require("./lazy-1.cjs")).then(async ({ answer }) => {
      const { sep } = await require("node:path")
      console.log([answer, shared === require("./shared-1.cjs"), typeof os.tmpdir(), sep, process.argv.slice(2)].join())
      if (process.argv[2] === "fail") process.exit(3)
    })`

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), "loader-"))
    writeFileSync(path.join(folder, "package.json"), JSON.stringify({ type: "commonjs" }))
    writeFileSync(
      path.join(folder, "hermes.js"),
      loader
        .replace("__ENTRY__", "hermes-1.cjs")
        .replace("__VERSION__", "1.2.3")
        .replace("__SELDOM__", JSON.stringify({ "node:os": ["tmpdir", "homedir"] }))
    )
    chunk("hermes-1.cjs", entry)
    // The chunks know each other, as split ones do.
    chunk("lazy-1.cjs", `const entry = require("./hermes-1.cjs"); exports.answer = entry.greet("\\u2500")`)
    chunk("shared-1.cjs", "exports.shared = 1")
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  const answer = (args: string) => `hello ─,true,string,${path.sep},${args}\n`

  test("runs the chunks, keeps their code, and uses it the next time", async () => {
    expect(await start("a", "b")).toBe(answer("a,b"))
    expect(caches().map((name) => name.replace(/\.cjs.*-/, " "))).toEqual([
      "hermes-1 command.cache",
      "lazy-1 command.cache",
      "shared-1 command.cache"
    ])
    const before = written()
    expect(await start("a", "b")).toBe(answer("a,b"))
    expect(written()).toEqual(before)
  })

  test("asking for form data makes none of Node's fetch, and making some gives Node's own", async () => {
    chunk(
      "hermes-1.cjs",
      `const loaded = () => process.moduleLoadList.includes("NativeModule internal/deps/undici/undici")
       const said = [{} instanceof FormData, loaded()]
       const form = new FormData()
       form.append("a", "b")
       said.push(form instanceof FormData, form.get("a"), loaded(), {} instanceof FormData)
       console.log(said.join())`
    )
    expect(await start()).toBe("false,false,true,b,true,false\n")
  })

  test("a short command loads what it seldom uses when it uses it, a gateway at once", async () => {
    chunk(
      "hermes-1.cjs",
      `const loaded = () => process.moduleLoadList.includes("NativeModule os")
       const os = require("node:os"), said = [Object.keys(os), loaded()]
       console.log([...said, typeof os.homedir(), loaded()].join())`
    )
    expect(await start("status")).toBe("tmpdir,homedir,false,string,true\n")
    expect(await start("gateway")).toMatch(/,true,string,true\n$/)
  })

  test("keeps the gateway's code apart", async () => {
    await start("status")
    await start("gateway", "run")
    expect(caches()).toHaveLength(6)
  })

  test("as a command it starts Node with its own options, and takes the same code", async () => {
    await start("a b", "c")
    const before = written()
    chmodSync(path.join(folder, "hermes.js"), 0o755)
    symlinkSync(path.join(folder, "hermes.js"), path.join(folder, "her mes"))
    chunk("hermes-1.cjs", `${entry}; console.log(process.execArgv.join())`)
    const command = await run(path.join(folder, "her mes"), ["a b", "c"], { cwd: tmpdir() })
    expect(command.stdout).toBe(`--max-semi-space-size=32\n${answer("a b,c")}`)
    const [own, ...others] = written()
    expect(others).toEqual(before.slice(1))
    expect(own).not.toBe(before[0])
  })

  test("a cache that V8 refuses is replaced", async () => {
    await start()
    for (const name of caches()) truncateSync(path.join(folder, name), 100)
    expect(await start()).toBe(answer(""))
    expect(caches().map((name) => statSync(path.join(folder, name)).size > 100)).toEqual([true, true, true])
  })

  test("code of another start-up flag is not used", async () => {
    await start()
    const before = written()
    const { stdout } = await run(process.execPath, ["--no-opt", "--stack-size=900", path.join(folder, "hermes.js")])
    expect(stdout).toBe(answer(""))
    expect(written()).not.toEqual(before)
  })

  test("a folder that cannot be written costs nothing but speed, and leaves nothing", async () => {
    await start()
    for (const name of caches()) {
      rmSync(path.join(folder, name))
      mkdirSync(path.join(folder, name, "in the way"), { recursive: true })
    }
    expect(await start()).toBe(answer(""))
    expect(readdirSync(folder).filter((name) => /\.cache\.\d+$/.test(name))).toEqual([])
  })

  test("a run that failed keeps nothing", async () => {
    await expect(start("fail")).rejects.toMatchObject({ code: 3, stdout: answer("fail") })
    expect(caches()).toEqual([])
  })

  test("the version needs no chunk", async () => {
    rmSync(path.join(folder, "hermes-1.cjs"))
    expect(await start("--version")).toBe("1.2.3\n")
  })
})
