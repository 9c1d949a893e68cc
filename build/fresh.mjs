/**
 * Builds what is missing in dist or older than its sources, once, also when several processes ask at the same time.
 *
 * Usage: node build/fresh.mjs [bin] [page] [library]     bin and page when none is named
 */
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { fileURLToPath, pathToFileURL } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const sources = ["src", "build", "package.json", "tsconfig.json", "tsconfig.build.json"].map((name) =>
  path.join(root, name)
)
const lock = path.join(root, "dist/.lock")

/** The file whose time says when a part was last built. */
export const stamp = (part) => path.join(root, `dist/.built-${part}`)

const newest = (file) => {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return 0
  if (!stat.isDirectory()) return stat.mtimeMs
  return Math.max(stat.mtimeMs, ...readdirSync(file).map((name) => newest(path.join(file, name))))
}

/** Those of the parts that are missing or older than their sources. */
export const stale = (parts) => {
  const changed = Math.max(...sources.map(newest))
  return parts.filter((part) => (statSync(stamp(part), { throwIfNoEntry: false })?.mtimeMs ?? 0) <= changed)
}

const alive = (pid) => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === "EPERM"
  }
}

const acquire = () => {
  mkdirSync(path.dirname(lock), { recursive: true })
  try {
    writeFileSync(lock, String(process.pid), { flag: "wx" })
    return true
  } catch (error) {
    if (error.code !== "EEXIST") throw error
    const owner = existsSync(lock) ? Number(readFileSync(lock, "utf8")) : 0
    if (owner > 0 && !alive(owner)) rmSync(lock, { force: true })
    return false
  }
}

const run = (parts) =>
  new Promise((resolve, reject) => {
    const output = []
    const args = [path.join(root, "build/build.mjs"), "--keep", "--unchecked", ...parts]
    const child = spawn(process.execPath, args, { cwd: root })
    child.stdout.on("data", (data) => output.push(data))
    child.stderr.on("data", (data) => output.push(data))
    child.once("error", reject)
    child.once("close", (code) =>
      code === 0
        ? resolve()
        : reject(new Error(`the build of ${parts.join(" and ")} failed:\n${Buffer.concat(output)}`))
    )
  })

/** Waits at most two minutes for another process's build, then builds what is still stale. */
export const fresh = async (...parts) => {
  const deadline = Date.now() + 120_000
  while (stale(parts).length > 0) {
    if (acquire()) {
      try {
        await run(stale(parts))
      } finally {
        rmSync(lock, { force: true })
      }
      return
    }
    if (Date.now() > deadline) throw new Error(`another build has held ${lock} for two minutes`)
    await sleep(100)
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const parts = process.argv.slice(2)
  await fresh(...(parts.length === 0 ? ["bin", "page"] : parts))
}
