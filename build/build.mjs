/**
 * Builds dist: `bin/` (the bundled command), `page/` (the web page's assets) and the library's modules with their types.
 *
 * Usage: node build/build.mjs [--keep] [--unchecked] [bin] [page] [library]     all of them when none is named
 *
 * `--keep` leaves what was built before, for a process that still runs from it. `--unchecked` writes the library and its
 * types without looking for errors in them, which `npm run check` does: it takes a third of the time.
 */
import { execFile } from "node:child_process"
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { createRequire } from "node:module"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { build } from "rolldown"
import { ascii, wrapped } from "./chunk.mjs"
import { external } from "./external.mjs"
import { stamp } from "./fresh.mjs"
import { steady } from "./shapes.mjs"
import { warm } from "./warm.mjs"

const root = fileURLToPath(new URL("..", import.meta.url))
process.chdir(root)
const { version } = JSON.parse(readFileSync("package.json", "utf8"))
const run = promisify(execFile)

/** The programs that are commands of their own: the file in dist/bin and its source. */
const commands = { hermes: "src/programs/cli.ts", worker: "src/programs/worker.ts" }

/** Changes the text of each chunk at the end. */
const rewriting = (name, rewrite) => ({
  name,
  generateBundle: (_options, bundle) => {
    for (const chunk of Object.values(bundle)) if (chunk.type === "chunk") chunk.code = rewrite(chunk.code)
  }
})

/**
 * `@effect/platform-node` loads undici wherever its HTTP client is imported, which takes as long as a short command does
 * all in all; only requests of a gateway to others go through it. So it is loaded when the first of its names is used.
 */
const lazyUndici = {
  name: "lazy-undici",
  resolveId: (id, importer) =>
    /platform-node\/.*\/httpClientUndici\.js$/.test(importer ?? "") && id.endsWith("/Undici.js")
      ? `${importer}?lazy-undici.cjs`
      : null,
  load: (id) => {
    const [importer, query] = id.split("?")
    if (query !== "lazy-undici.cjs") return null
    const used = [...readFileSync(importer, "utf8").matchAll(/\bUndici\.([A-Za-z]+)/g)].map(([, name]) => name)
    const getters = [...new Set(used)].map((name) => `get ${name}() { return require("undici").${name} }`)
    return { code: `module.exports = { ${getters.join(", ")} }`, moduleType: "js" }
  }
}

/** The driver looks for its native part in a dozen places, by modules of their own; it is always in this one. */
const driver = {
  name: "driver",
  resolveId: (id, importer) =>
    id === "bindings" && /\/better-sqlite3\//.test(importer ?? "") ? `${importer}?addon.cjs` : null,
  load: (id) =>
    id.endsWith("?addon.cjs")
      ? { code: `module.exports = () => require("better-sqlite3/build/Release/better_sqlite3.node")`, moduleType: "js" }
      : null
}

/** A chunk of undici's own is asked for where its names are, not where the chunk begins. */
const lateUndici = (code) => {
  const [whole, name, file] = /const (require_undici[\w$]*)=require\(("[^"]+")\);/.exec(code) ?? []
  return whole === undefined ? code : code.replace(whole, "").replaceAll(`${name}.`, `require(${file}).`)
}

/** The licences of what a bundle contains, as they ask for. */
const notices = (chunks) => {
  const packages = new Map()
  for (const id of chunks.flatMap((chunk) => Object.keys(chunk.modules))) {
    const folder = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replaceAll("\\", "/"))?.[1]
    if (folder !== undefined) packages.set(folder, JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8")))
  }
  return [...packages]
    .toSorted(([, a], [, b]) => (a.name < b.name ? -1 : 1))
    .map(([folder, { name, version, license }]) => {
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry))
      const text = file === undefined ? "" : `\n${readFileSync(path.join(folder, file), "utf8").trim()}\n`
      return `${name} ${version} (${license})\n${text}`
    })
    .join(`\n${"-".repeat(80)}\n\n`)
}

const write = (file, text, mode) => {
  writeFileSync(`${file}.new`, text)
  if (mode !== undefined) chmodSync(`${file}.new`, mode)
  renameSync(`${file}.new`, file)
}

/** Removes the chunks of earlier builds that no process can be starting from any more. */
const forget = (current) => {
  for (const name of readdirSync("dist/bin")) {
    const chunk = /^(.+\.cjs)(\..+\.cache)?$/.exec(name)?.[1]
    const file = path.join("dist/bin", name)
    if (chunk === undefined || current.has(chunk) || Date.now() - statSync(file).mtimeMs < 600_000) continue
    rmSync(file)
  }
}

/** Modules of Node that most commands do not use, with the names in them. */
const seldom = JSON.stringify(
  Object.fromEntries(
    ["crypto", "fs/promises", "https", "os", "perf_hooks", "readline"].map((name) => [
      `node:${name}`,
      Object.keys(createRequire(import.meta.url)(`node:${name}`))
    ])
  )
)

const bin = async () => {
  const input = Object.fromEntries(Object.entries(commands).filter(([, source]) => existsSync(source)))
  if (input.hermes === undefined) throw new Error(`${commands.hermes} is not there`)
  const { output } = await build({
    input,
    platform: "node",
    external: [...external.filter((name) => name !== "better-sqlite3"), /^better-sqlite3\/.*\.node$/],
    plugins: [
      lazyUndici,
      driver,
      rewriting("late-undici", lateUndici),
      rewriting("shapes", steady),
      rewriting("ascii", ascii),
      rewriting("wrapped", wrapped)
    ],
    preserveEntrySignatures: "allow-extension",
    logLevel: "warn",
    output: {
      dir: "dist/bin",
      format: "cjs",
      comments: false,
      // A script from V8's cache cannot import(): what is left of it becomes require().
      dynamicImportInCjs: false,
      // Apart, so that who only shares modules with it does not load it.
      codeSplitting: {
        includeDependenciesRecursively: false,
        groups: [
          { name: "undici", test: /\/undici\// },
          { name: "client", test: /\/platform-node\/.*(NodeHttpClient|Undici)\.js$|lazy-undici/ }
        ]
      },
      // Names stay: they are what spans, errors and stack traces say.
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
      entryFileNames: "[name]-[hash].cjs",
      chunkFileNames: "[name]-[hash].cjs"
    }
  })
  const chunks = output.filter((chunk) => chunk.type === "chunk")
  write("dist/bin/package.json", `${JSON.stringify({ type: "commonjs" })}\n`)
  write("dist/bin/THIRD-PARTY.txt", notices(chunks))
  const loader = readFileSync("build/loader.cjs", "utf8")
  for (const chunk of chunks.filter((chunk) => chunk.isEntry)) {
    const text = loader
      .replace("__ENTRY__", chunk.fileName)
      .replace("__VERSION__", version)
      .replace("__SELDOM__", seldom)
    write(`dist/bin/${chunk.name}.js`, text, 0o755)
  }
  forget(new Set(chunks.map((chunk) => chunk.fileName)))
  await warm(path.resolve("dist/bin/hermes.js"))
}

/** One script and one style sheet; style sheets are taken in the order in which the page's modules import them. */
const page = async () => {
  const folder = "src/layers/web/page"
  if (!existsSync(`${folder}/main.tsx`)) return
  const styles = []
  const { output } = await build({
    input: { app: `${folder}/main.tsx` },
    platform: "browser",
    logLevel: "warn",
    plugins: [
      {
        name: "styles",
        load: (id) => {
          if (!id.endsWith(".css")) return null
          styles.push(readFileSync(id, "utf8"))
          return { code: "", moduleType: "js", moduleSideEffects: true }
        }
      }
    ],
    output: {
      dir: "dist/page",
      format: "iife",
      minify: true,
      comments: { legal: false },
      entryFileNames: "app.js",
      codeSplitting: false
    }
  })
  write("dist/page/app.css", styles.join("\n"))
  write("dist/page/THIRD-PARTY.txt", notices(output.filter((chunk) => chunk.type === "chunk")))
  copyFileSync(`${folder}/index.html`, "dist/page/index.html")
}

const library = async () => {
  try {
    // Several checkers find out the same types several times.
    const unchecked = process.argv.includes("--unchecked") ? ["--noCheck", "--checkers", "1"] : []
    await run(process.execPath, ["node_modules/typescript/bin/tsc", "-p", "tsconfig.build.json", ...unchecked])
  } catch (error) {
    throw new Error(`tsc: ${error.stdout ?? ""}${error.stderr ?? error}`, { cause: error })
  }
}

const parts = { bin, page, library }
const asked = process.argv.slice(2).filter((name) => name in parts)
const chosen = asked.length === 0 ? Object.keys(parts) : asked
if (!process.argv.includes("--keep")) {
  for (const part of chosen) {
    if (part === "library") {
      for (const name of existsSync("dist") ? readdirSync("dist") : []) {
        if (name !== "bin" && name !== "page" && !name.startsWith(".")) rmSync(`dist/${name}`, { recursive: true })
      }
    } else rmSync(`dist/${part}`, { recursive: true, force: true })
  }
}
for (const part of chosen) {
  mkdirSync("dist", { recursive: true })
  // A source that changes while it is built is newer than the stamp.
  const began = new Date()
  const start = performance.now()
  try {
    await parts[part]()
  } catch (error) {
    console.error(`${part}: ${error.message}`)
    process.exit(1)
  }
  writeFileSync(stamp(part), began.toISOString())
  utimesSync(stamp(part), began, began)
  console.log(`${part}: ${(performance.now() - start).toFixed(0)} ms`)
}
