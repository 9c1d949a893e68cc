/**
 * Comments that switch a rule off: each names its rules and says why, and some rules cannot be switched off at all.
 * This is no rule of the linter, because a comment could switch that off too.
 *
 * Usage: node lint/directives.mjs [folder…]
 */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import path from "node:path"
import { pathToFileURL } from "node:url"

/** Rules whose allowed places are a list in the plugin, and nothing else. */
const fixed = ["fibers/turn-entry", "fibers/import-direction"]

const directive = /(?:\/\/|\/\*)\s*(?:ox|es)lint-disable(?:-next-line|-line)?\b([^\n]*)/
const silenced = /(?:\/\/|\/\*)\s*@ts-(?:ignore|nocheck)\b/

const problemOf = (line) => {
  if (silenced.test(line)) return "@ts-ignore and @ts-nocheck are not for us: @ts-expect-error with a reason"
  const found = directive.exec(line)
  if (found === null) return undefined
  const [rules = "", ...reason] = found[1].replace(/\*\/.*$/, "").split(/\s--\s/)
  const names = rules.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim()]))
  if (names.length === 0) return "a disable comment names the rules it switches off"
  const never = names.find((name) => fixed.includes(name))
  if (never !== undefined) return `${never} cannot be switched off: see its list of places in lint/bans.mjs`
  if (reason.join(" ").trim() === "") return "a disable comment says why, after ` -- `"
  return undefined
}

/** `{ file, line, problem }` for each comment of the folders that is not as it should be. */
export const directives = (folders) =>
  folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => path.join(folder, name))
    )
    .filter((file) => /\.[cm]?[jt]sx?$/.test(file) && !file.includes(path.join("project", "planted")))
    .toSorted()
    .flatMap((file) =>
      readFileSync(file, "utf8")
        .split("\n")
        .flatMap((text, index) => {
          const problem = problemOf(text)
          return problem === undefined ? [] : [{ file, line: index + 1, problem }]
        })
    )

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const asked = process.argv.slice(2)
  const found = directives(asked.length === 0 ? ["src"] : asked)
  for (const { file, line, problem } of found) console.error(`${file}:${line} ${problem}`)
  process.exitCode = found.length === 0 ? 0 : 1
}
